/**
 * The only reader of the environment. It is parsed once, by the table in settings.ts; all mistakes are reported
 * together, each with the setting, the value and what was expected.
 */
import { minuteMs, dayMs } from '@assay/core'
import { listKeyProblems, readFile, readKeys, type Environment, type ProcessKind } from './key-settings.ts'
import { ConfigError, type KeySettings, type Mode } from './setting-values.ts'
import { settings, type Setting, type SettingName, type SettingValue } from './settings.ts'

export type { Environment, Role } from './key-settings.ts'
export { ConfigError } from './setting-values.ts'

export interface Config {
  mode: Mode
  listen: { host: string; port: number; statusPort: number | undefined }
  /** Undefined parts follow the listening address, which is known only once the port is bound. */
  urls: { base: string | undefined; auth: string | undefined; widget: string | undefined }
  database: {
    url: string | undefined
    listenUrl: string | undefined
    pooler: 'none' | 'transaction'
    poolSizeMax: number
    acquireTimeoutMs: number
    statementTimeoutMs: number
    dataDirectory: string
  }
  keys: KeySettings
  priceKey: { plan: 'demo' | 'pro'; key: string } | undefined
  /** By provider. */
  providerClients: Readonly<Record<string, { clientId: string; clientSecret: string }>>
  /** By the name of the chain. */
  chainUrls: Readonly<Record<string, { rpc?: string; index?: string }>>
  logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'silent'
  metricsToken: string | undefined
  traces: { url: string; percent: number } | undefined
  worker: { concurrency: number; silentAfterMs: number; providerTimeoutMs: number; egress: string }
  trustedProxies: readonly string[]
  /** Midnight UTC at the beginning of the day that ASSAY_V1_SUNSET names. */
  v1SunsetMs: number | undefined
  excessPermission: 'refuse' | 'allow'
  uncheckedKeys: 'confirm' | 'refuse'
  mail: { smtpUrl: string; from: string } | undefined
  limits: { perToken: number; perAddress: number; perClient: number; oauthFailures: number; slowAfter: number }
  signInLimits: {
    codesPerAddressInNetwork: number
    codesPerNetwork: number
    codesPerTenant: number
    triesPerAddressInNetwork: number
    triesPerAddress: number
  }
  keyLimits: { pending: number; refusedPerHour: number; repeatedPerHour: number; connections: number }
  /** Of one user. */
  recordsMax: number
  /** When connections are read, and how often the rights of their keys are. */
  schedule: {
    activeForMs: number
    activeEveryMs: number
    recentForMs: number
    recentEveryMs: number
    idleEveryMs: number
    rightsEveryMs: number
  }
  abandonedAfterMs: number
  removalsKeptMs: number
  versionsKeptMs: number
  keyCheckTimeoutMs: number
  stopGraceMs: number
  /** The command line sets `startsEmpty` for one start: `assay start --fresh`. */
  sandbox: { url: string | undefined; pace: 'fast' | 'fastest' | 'real'; demoPort: number; startsEmpty?: boolean }
}

/** The environment of this process, for callers that pass one on: the CLI and tests. */
export function readEnvironment(): Environment {
  return { ...process.env }
}

type Find = <Name extends SettingName>(name: Name) => SettingValue<Name> | undefined
type Get = <Name extends SettingName>(name: Name) => SettingValue<Name>

/** `as` says what the process does: it decides which keys it needs, and which it must not have. */
export function parseConfig(environment: Environment, as: ProcessKind = 'all'): Config {
  const problems: string[] = []
  const { find, get } = createReader(environment, problems)
  problems.push(...unknownSettings(environment))
  const config: Config = {
    mode: get('ASSAY_MODE'),
    listen: { host: get('ASSAY_HOST'), port: get('ASSAY_PORT'), statusPort: find('ASSAY_STATUS_PORT') },
    urls: {
      base: find('ASSAY_BASE_URL'),
      auth: find('ASSAY_AUTH_URL'),
      widget: find('ASSAY_WIDGET_URL'),
    },
    database: {
      url: find('DATABASE_URL'),
      listenUrl: find('DATABASE_LISTEN_URL'),
      pooler: get('DATABASE_POOLER'),
      poolSizeMax: get('DATABASE_POOL_SIZE'),
      acquireTimeoutMs: get('DATABASE_ACQUIRE_TIMEOUT'),
      statementTimeoutMs: get('DATABASE_STATEMENT_TIMEOUT'),
      dataDirectory: get('ASSAY_DATA_DIRECTORY'),
    },
    keys: readKeys(environment, as, problems),
    priceKey: find('ASSAY_COINGECKO_KEY'),
    providerClients: find('ASSAY_PROVIDER_CLIENTS') ?? {},
    chainUrls: find('ASSAY_CHAIN_URLS') ?? {},
    logLevel: get('ASSAY_LOG_LEVEL'),
    metricsToken: find('ASSAY_METRICS_TOKEN'),
    traces: readTraces(find, get),
    worker: {
      concurrency: get('ASSAY_WORKER_CONCURRENCY'),
      silentAfterMs: get('ASSAY_WORKER_SILENT_AFTER'),
      providerTimeoutMs: get('ASSAY_PROVIDER_TIMEOUT'),
      egress: get('ASSAY_EGRESS'),
    },
    trustedProxies: find('ASSAY_TRUSTED_PROXIES') ?? [],
    v1SunsetMs: find('ASSAY_V1_SUNSET'),
    excessPermission: get('ASSAY_EXCESS_PERMISSION'),
    uncheckedKeys: get('ASSAY_UNCHECKED_KEYS'),
    mail: readMail(find, problems),
    limits: readLimits(get),
    signInLimits: readSignInLimits(get),
    recordsMax: get('ASSAY_LIMIT_RECORDS'),
    keyLimits: {
      pending: get('ASSAY_LIMIT_PENDING_KEYS'),
      refusedPerHour: get('ASSAY_LIMIT_REFUSED_KEYS'),
      repeatedPerHour: get('ASSAY_LIMIT_REPEATED_CHECKS'),
      connections: get('ASSAY_LIMIT_CONNECTIONS'),
    },
    schedule: readSchedule(get),
    removalsKeptMs: get('ASSAY_REMOVALS_KEPT') * dayMs,
    versionsKeptMs: get('ASSAY_VERSIONS_KEPT') * dayMs,
    abandonedAfterMs: get('ASSAY_ABANDONED_AFTER') * dayMs,
    keyCheckTimeoutMs: get('ASSAY_KEY_CHECK_TIMEOUT'),
    stopGraceMs: get('ASSAY_STOP_GRACE'),
    sandbox: {
      url: find('ASSAY_SANDBOX_URL'),
      pace: get('ASSAY_SANDBOX_PACE'),
      demoPort: get('ASSAY_DEMO_PORT'),
    },
  }
  if (problems.length === 0 && as !== 'files') problems.push(...contradictions(config, as))
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

function createReader(environment: Environment, problems: string[]): { find: Find; get: Get } {
  const find: Find = (name) => {
    const setting: Setting<unknown> = settings[name]
    const mode = environment['ASSAY_MODE']
    const special = mode === 'sandbox' ? setting.sandboxDefault : mode === 'live' ? setting.liveDefault : undefined
    const usual = special ?? setting.default
    const [source, ...others] = listGiven(environment, name)
    if (others.length > 0) problems.push(`${source} and ${others[0]} must not be given together`)
    try {
      const text = source === undefined ? usual : readGiven(environment, name, source)
      return text === undefined ? undefined : (setting.parse(text) as SettingValue<typeof name>)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      problems.push(`${source ?? name} ${error.message}`)
      return undefined
    }
  }

  // For settings with a default. If `find` returns undefined for one of them, it has recorded a problem, and the value
  // is never used: parseConfig throws at its end.
  const get: Get = (name) => find(name) as SettingValue<typeof name>

  return { find, get }
}

/** The names by which a setting was given: its own, or that of a file. An empty value counts as not given. */
function listGiven(environment: Environment, name: string): string[] {
  const names = `${name}_FILE` in settings ? [name, `${name}_FILE`] : [name]
  return names.filter((source) => (environment[source] ?? '') !== '')
}

function readGiven(environment: Environment, name: string, source: string): string {
  const value = environment[source] ?? ''
  // An editor ends a file with a line break, which belongs to no secret.
  return source === name ? value : readFile(value).trim()
}

function readTraces(find: Find, get: Get): Config['traces'] {
  const url = find('ASSAY_TRACES_URL')
  return url === undefined ? undefined : { url, percent: get('ASSAY_TRACES_PERCENT') }
}

function readMail(find: Find, problems: string[]): Config['mail'] {
  const smtpUrl = find('ASSAY_SMTP_URL')
  const from = find('ASSAY_MAIL_FROM')
  if ((smtpUrl === undefined) !== (from === undefined)) {
    problems.push('ASSAY_SMTP_URL and ASSAY_MAIL_FROM must be given together')
  }
  return smtpUrl === undefined ? undefined : { smtpUrl, from: from ?? '' }
}

function readLimits(get: Get): Config['limits'] {
  return {
    perToken: get('ASSAY_LIMIT_TOKEN'),
    perAddress: get('ASSAY_LIMIT_ADDRESS'),
    perClient: get('ASSAY_LIMIT_CLIENT'),
    oauthFailures: get('ASSAY_LIMIT_OAUTH_FAILURES'),
    slowAfter: get('ASSAY_SLOW_SECRETS_AFTER'),
  }
}

function readSignInLimits(get: Get): Config['signInLimits'] {
  return {
    codesPerAddressInNetwork: get('ASSAY_LIMIT_SIGN_IN_CODES'),
    codesPerNetwork: get('ASSAY_LIMIT_SIGN_IN_CODES_NETWORK'),
    codesPerTenant: get('ASSAY_LIMIT_SIGN_IN_CODES_TENANT'),
    triesPerAddressInNetwork: get('ASSAY_LIMIT_SIGN_IN_TRIES'),
    triesPerAddress: get('ASSAY_LIMIT_SIGN_IN_TRIES_ADDRESS'),
  }
}

function readSchedule(get: Get): Config['schedule'] {
  return {
    activeForMs: get('ASSAY_SYNC_ACTIVE_FOR') * minuteMs,
    activeEveryMs: get('ASSAY_SYNC_ACTIVE_INTERVAL') * minuteMs,
    recentForMs: get('ASSAY_SYNC_RECENT_FOR') * minuteMs,
    recentEveryMs: get('ASSAY_SYNC_RECENT_INTERVAL') * minuteMs,
    idleEveryMs: get('ASSAY_SYNC_IDLE_INTERVAL') * minuteMs,
    rightsEveryMs: get('ASSAY_RIGHTS_INTERVAL') * minuteMs,
  }
}

function unknownSettings(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('ASSAY_') && !(name in settings) && !internalNames.has(name))
    .map((name) => `${name} is not a setting${suggestion(name)}`)
}

/** Our own tools set these; an operator does not. */
const internalNames = new Set(['ASSAY_SECOND_INSTALL_PASS', 'ASSAY_TEST_POSTGRES', 'ASSAY_REEXECUTED'])

function contradictions(config: Config, as: ProcessKind): string[] {
  const problems = listKeyProblems(config, as)
  const { mode } = config
  if (mode !== 'production' && !isLoopback(config.listen.host)) {
    problems.push(`ASSAY_HOST must be a loopback address in ${mode} mode, got ${JSON.stringify(config.listen.host)}`)
  }
  if (mode === 'sandbox') {
    if (config.sandbox.url !== undefined && !isLoopback(new URL(config.sandbox.url).hostname)) {
      problems.push('ASSAY_SANDBOX_URL must be on a loopback address')
    }
    return problems
  }
  for (const [name, value] of [
    ['ASSAY_BASE_URL', config.urls.base],
    ['ASSAY_AUTH_URL', config.urls.auth],
    ['ASSAY_WIDGET_URL', config.urls.widget],
  ] as const) {
    if (value !== undefined && !value.startsWith('https://') && !isLoopback(new URL(value).hostname)) {
      problems.push(`${name} must be https, or http on a loopback address, got ${JSON.stringify(value)}`)
    }
  }
  if (config.urls.base === undefined && !isLoopback(config.listen.host)) {
    problems.push('ASSAY_BASE_URL is required when ASSAY_HOST is not a loopback address')
  }
  if (config.sandbox.url !== undefined) problems.push('ASSAY_SANDBOX_URL is for ASSAY_MODE=sandbox only')
  return problems
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** Most unknown settings are misspelled ones. */
function suggestion(name: string): string {
  const shared = (candidate: string): number => {
    const parts = new Set(candidate.split('_'))
    return name.split('_').filter((part) => parts.has(part)).length
  }
  const best = Object.keys(settings).toSorted((a, b) => shared(b) - shared(a))[0]
  return best !== undefined && shared(best) >= 2 ? `; did you mean ${best}?` : ''
}
