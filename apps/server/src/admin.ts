/**
 * What the command line does with an installation: it changes the schema, tenants, keys and prices, replays the ledger,
 * rebuilds statistics, exports and verifies the audit log, and reports on their state.
 */
import type { Decimal } from '@assay/core'
import { recordAudit, type AuditAction } from './audit.ts'
import {
  chainEntries,
  exportAudit,
  listAuditTenants,
  verifyAudit,
  type AuditVerdict,
  type KnownHead,
} from './audit-log/index.ts'
import { ConfigError, parseConfig, type Config, type Environment } from './config/config.ts'
import { distribute, planDistribution, type ClusterPlan, type PlannedTable } from './cluster/index.ts'
import { withdrawClaimKeys } from './claims/index.ts'
import { forgetFingerprintKeys, resealCredentials, resealFingerprintKeys } from './connections/index.ts'
import { listHostUrls } from './config/database-url.ts'
import {
  checkMigrations,
  examineHosts,
  findBinaries,
  openDatabase,
  readVersion,
  type Database,
  type MigrationState,
  type OpenedDatabase,
  type Sql,
} from './db/index.ts'
import { createStatistics, type Statistics } from './enterprise/index.ts'
import type { Log } from './http/index.ts'
import type { ReplayedWhich, ReplayFinding, ReplayOptions, ReplayReport } from './ledger/index.ts'
import { createEngine, openWebhooks, type Engine } from './compose/engine.ts'
import { findKeyring, prepareDatabase } from './compose/installation.ts'
import type { Keyring } from './keys.ts'
import {
  examine,
  examineFailure,
  examineNative,
  describeHosts,
  examineProduction,
  examineProxies,
  examineSettings,
  readStatus,
  type Finding,
  type Status,
} from './operations/index.ts'
import { correctPrice } from './prices/index.ts'
import { createTenants, type Tenants } from './tenants/index.ts'
import type { Webhooks } from './webhooks/index.ts'

export type { ClusterPlan } from './cluster/index.ts'
export { findProvider, listHosts } from '@assay/connectors'
export type { ReplayFinding, ReplayReport } from './ledger/index.ts'
export { backUp, isDatabaseAway, makeDirectory, restore, whenAnswering } from './db/index.ts'
export type { Client, ClientChanges, Scope } from './tenants/index.ts'
export { checkRegistration, enterpriseScopes, findScopes, platformScopes } from './tenants/index.ts'
export type { LoggedMessage } from './webhooks/index.ts'

export interface KeyRotation {
  resealed: { credentials: number; webhooks: number; fingerprintKeys: number }
  /**
   * What no key of the ring opens: the credentials of these connections, the webhook secrets of these tenants, and the
   * fingerprint keys of these tenants (by their keys).
   */
  lost: { connectionIds: string[]; tenantIds: string[]; tenantKeys: string[] }
  newestKey: string
}

type ReadAction = Extract<AuditAction, 'tenants.read' | 'clients.read' | 'login_keys.read' | 'webhook.read'>

export interface Admin {
  tenants: Tenants
  webhooks: Webhooks
  statistics: Pick<Statistics, 'verify' | 'rebuild'>
  migrate(): Promise<void>
  checkMigrations(): Promise<MigrationState>
  status(): Promise<Status>
  /** Findings about an open database; `runDoctor` returns all findings. */
  examine(): Promise<Finding[]>
  cluster: {
    /** Where each table would lie on the Citus cluster behind DATABASE_URL; throws when something is in the way. */
    plan(): Promise<ClusterPlan>
    /** Moves what is not there yet. */
    distribute(plan: ClusterPlan, onMoved: (table: PlannedTable) => void): Promise<void>
  }
  /**
   * Seals with the newest key what an older one sealed. `forgetLost` deletes fingerprint keys that no key of the ring
   * opens: while they exist, no account of their tenants can be connected.
   */
  rotateKeys(options: { forgetLost: boolean }): Promise<KeyRotation>
  /** No longer publishes the public keys of claims whose server keys have left the ring. Returns how many. */
  withdrawClaimKeys(): Promise<number>
  /** Derives everything again from the stored records, or says what that would change. */
  replay(options: ReplayOptions): Promise<ReplayReport>
  /** What earlier replays would change, until it is applied or discarded. */
  listFindings(which: ReplayedWhich): AsyncIterable<ReplayFinding>
  discardFindings(which: ReplayedWhich): Promise<number>
  /** Sets the operator's price for a day (`YYYY-MM-DD`). The next upkeep prices that day's transactions again. */
  correctPrice(assetId: string, day: string, price: Decimal): Promise<void>
  audit: {
    /** Returns NDJSON. The export itself becomes an entry. The empty id stands for the installation. */
    export(tenantId: string): AsyncIterable<string>
    /** Verifies one tenant's chain, or that of every tenant that has entries. */
    verify(tenantId: string | undefined, known: KnownHead | undefined): Promise<AuditVerdict[]>
    /** Records that an operator looked at data of a tenant, or of the installation. */
    recordOperatorRead(tenantId: string | null, action: ReadAction, subject: string): Promise<void>
  }
  close(): Promise<void>
}

/**
 * If a service runs on the embedded database, this joins its database. Otherwise it opens the database itself. `make` is
 * for commands that may be the first of an installation: it makes a database and keys where there are none.
 */
export async function openAdmin(
  config: Config,
  log: Log,
  { make = false }: { make?: boolean | undefined } = {},
): Promise<Admin> {
  const opened = await openDatabase({ ...config.database, join: true, make }, log)
  try {
    return await createAdmin(config, opened, findKeyring(config, { make }), log)
  } catch (error) {
    // An embedded server that goes on would keep the command from ending, and the service from starting.
    await opened.close()
    throw error
  }
}

async function createAdmin(config: Config, opened: OpenedDatabase, keyring: Keyring, log: Log): Promise<Admin> {
  const { db } = opened
  const { clock } = db
  // Commands that look at a database, or bring it up to date, may find one without a schema. `migrate` reads the clock.
  if ((await checkMigrations(db)).applied.length > 0) await clock.refresh()
  const webhooks = openWebhooks({ config, db, clock, keyring, log })
  // No command asks a provider, so it does not matter where they are.
  const providers = { catalog: [], providerClients: {}, providerUrls: {} }
  const openEngine = (): Engine => createEngine({ config, db, clock, keyring, log, providers })
  return {
    tenants: createTenants({ db }),
    webhooks,
    migrate: () => prepareDatabase(config, opened, log),
    checkMigrations: () => checkMigrations(db),
    status: () => readStatus(db),
    examine: () => examine({ db, keyring, now: Date.now, signInLimits: config.signInLimits }),
    cluster: {
      plan: () => planDistribution(db, config.database),
      distribute: (plan, onMoved) => distribute(db, plan.tables, onMoved),
    },
    async rotateKeys({ forgetLost }) {
      if (keyring.opens === undefined) throw new ConfigError(['ASSAY_SEALING_PRIVATE_KEYS is required to seal again'])
      // Recorded before the work, like the operations on the data of all tenants (below).
      const subject = keyring.seals[0].name
      await recordAudit(db, { tenantId: null, actor: 'operator', action: 'keys.rotated', subject })
      const credentials = await resealCredentials(db, keyring)
      const secrets = await webhooks.reseal()
      const fingerprints = await resealFingerprintKeys(db, keyring)
      if (forgetLost && fingerprints.lost.length > 0) {
        await recordAudit(db, { tenantId: null, actor: 'operator', action: 'keys.forgotten', subject })
        await forgetFingerprintKeys(db, fingerprints.lost)
      }
      return {
        resealed: {
          credentials: credentials.resealed,
          webhooks: secrets.resealed,
          fingerprintKeys: fingerprints.resealed,
        },
        lost: { connectionIds: credentials.lost, tenantIds: secrets.lost, tenantKeys: fingerprints.lost },
        newestKey: keyring.seals[0].name,
      }
    },
    async withdrawClaimKeys() {
      const { name: subject } = keyring.seals[0]
      return db.transaction(async (tx) => {
        await recordAudit(tx, { tenantId: null, actor: 'operator', action: 'keys.withdrawn', subject })
        return withdrawClaimKeys(tx, keyring.derive('claims'))
      })
    },
    audit: {
      export: (tenantId) => exportChained(db, tenantId),
      async verify(tenantId, known) {
        await chainEntries(db)
        const tenantIds = tenantId === undefined ? await listAuditTenants(db) : [tenantId]
        const verdicts: AuditVerdict[] = []
        for (const id of tenantIds) verdicts.push(await verifyAudit(db, id, known))
        return verdicts
      },
      recordOperatorRead: (tenantId, action, subject) =>
        recordAudit(db, { tenantId, actor: 'operator', action, subject }),
    },
    ...openOperations({ db, clock, openEngine }),
    close: () => opened.close(),
  }
}

/** What is chained. Entries behind a broken link cannot be, and an export without them must not look complete. */
async function* exportChained(db: Database, tenantId: string): AsyncGenerator<string> {
  const broken = await chainEntries(db)
  await recordAudit(db, { tenantId, actor: 'operator', action: 'audit.read', subject: tenantId })
  yield* exportAudit(db, tenantId)
  if (!broken.includes(tenantId)) return
  const whose = tenantId === '' ? 'the installation' : tenantId
  throw new Error(`Newer entries of ${whose} are missing here, because its chain is broken: run assay audit verify`)
}

interface OperationsDeps {
  db: Database
  clock: Database['clock']
  openEngine: () => Engine
}

/**
 * What an operator does to the data of all tenants. Each operation is in the audit log of the installation, except
 * those that only compare: `statistics.verify`, and a replay that is not applied.
 */
function openOperations({
  db,
  clock,
  openEngine,
}: OperationsDeps): Pick<Admin, 'statistics' | 'replay' | 'listFindings' | 'discardFindings' | 'correctPrice'> {
  const statistics = createStatistics({ db })
  const record = (sql: Sql, action: AuditAction, subject: string): Promise<void> =>
    recordAudit(sql, { tenantId: null, actor: 'operator', action, subject })
  // Most are recorded before the work: it takes many transactions, and what was begun and not ended belongs in the log.
  return {
    statistics: {
      verify: () => statistics.verify(),
      async rebuild() {
        await record(db, 'statistics.rebuilt', 'installation')
        return statistics.rebuild()
      },
    },
    async replay(options) {
      if (options.apply) await record(db, 'ledger.replayed', toSubject(options))
      return openEngine().ledger.replay(options)
    },
    async *listFindings(which) {
      await record(db, 'ledger.read', toSubject(which))
      yield* openEngine().ledger.listFindings(which)
    },
    async discardFindings(which) {
      await record(db, 'ledger.discarded', toSubject(which))
      return openEngine().ledger.discardFindings(which)
    },
    correctPrice(assetId, day, price) {
      const onCorrected = (tx: Sql): Promise<void> => record(tx, 'price.corrected', `${assetId} ${day}`)
      return correctPrice({ db, now: () => clock.now(), onCorrected }, assetId, day, price)
    },
  }
}

function toSubject({ connectionId, providerId }: ReplayedWhich): string {
  return connectionId ?? providerId ?? 'installation'
}

/**
 * Reports every problem as a finding, even one that prevents the installation from being opened. `production` adds what
 * a public service should have.
 */
export async function runDoctor(
  environment: Environment,
  log: Log,
  { production = false }: { production?: boolean } = {},
): Promise<Finding[]> {
  let config: Config
  try {
    config = parseConfig(environment, 'command')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return [examineSettings(error.problems), await examineMachine(environment['DATABASE_URL'])]
  }
  const proxies = examineProxies(config.urls.base, config.trustedProxies)
  const asked = production ? examineProduction(config) : []
  const hosts = await examineDatabaseHosts(config.database)
  const before = [await examineMachine(config.database.url), proxies, ...asked, ...hosts]
  try {
    const admin = await openAdmin(config, log)
    try {
      return [examineSettings([]), ...before, ...(await admin.examine())]
    } finally {
      await admin.close()
    }
  } catch (error) {
    // Such as a file of keys that is missing or damaged.
    if (error instanceof ConfigError) return [examineSettings(error.problems), ...before]
    return [examineSettings([]), ...before, examineFailure(error)]
  }
}

async function examineDatabaseHosts({ url, listenUrl }: Config['database']): Promise<Finding[]> {
  const lists = [...new Set([url, listenUrl])].map((given) => (given === undefined ? undefined : listHostUrls(given)))
  const several = lists.filter((urls) => urls !== undefined)
  return Promise.all(several.map(async (urls) => describeHosts(await examineHosts(urls))))
}

function examineMachine(databaseUrl: string | undefined): Promise<Finding> {
  const readPostgresVersion = async (): Promise<number> => readVersion(await findBinaries())
  return examineNative({
    nodeVersion: process.versions.node,
    readPostgresVersion: databaseUrl === undefined ? readPostgresVersion : undefined,
  })
}
