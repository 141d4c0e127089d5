/**
 * The settings of the service, and the only reader of the environment. Parsed once; all mistakes are reported together,
 * each with the setting, what it is and what it should be. docs/configuration.md is held against this table by a test.
 */
import { isIP } from 'node:net'
import path from 'node:path'
import { describeSources, listKeyProblems, readKeys, type ProcessKind } from './key-settings.ts'
import {
  chainUrls,
  ConfigError,
  day,
  keyRing,
  name,
  oneOf,
  postgresUrl,
  providerClients,
  smtpUrl,
  text,
  url,
  wholeNumber,
  type KeySettings,
} from './setting-values.ts'

export type { Role } from './key-settings.ts'
export { ConfigError } from './setting-values.ts'

interface Setting<T> {
  description: string
  unit?: string
  /** Shown in the documentation; undefined when the setting is off unless given. */
  default?: string
  /** Takes the place of `default` in sandbox mode. */
  sandboxDefault?: string
  secret?: true
  /** Throws a sentence that completes "NAME …". */
  parse: (text: string) => T
}

const minuteMs = 60_000

function setting<T>(value: Setting<T>): Setting<T> {
  return value
}

export const settings = {
  ASSAY_MODE: setting({
    description: 'production, or sandbox: simulated providers and test clients, on loopback addresses only.',
    default: 'production',
    parse: oneOf('production', 'sandbox'),
  }),
  ASSAY_HOST: setting({
    description: 'The address to listen on.',
    default: '127.0.0.1',
    parse: (value: string): string => {
      if (isIP(value) === 0 && value !== 'localhost') throw new RangeError('must be an IP address or localhost')
      return value
    },
  }),
  ASSAY_PORT: setting({
    description: 'The port of the API; 0 takes a free one.',
    default: '4000',
    parse: wholeNumber(0, 65_535),
  }),
  ASSAY_BASE_URL: setting({
    description: 'The address of the API as applications see it. Default: http, the listening address and port.',
    parse: url,
  }),
  ASSAY_AUTH_URL: setting({
    description: 'The address of the authorization server, also its issuer name. Default: ASSAY_BASE_URL.',
    parse: url,
  }),
  ASSAY_WIDGET_URL: setting({
    description: 'The address of the connect widget. Default: ASSAY_BASE_URL with /connect.',
    parse: url,
  }),
  DATABASE_URL: setting({
    description: 'A PostgreSQL server, version 15 or later. Without it the embedded one runs in ASSAY_DATA_DIRECTORY.',
    secret: true,
    parse: postgresUrl,
  }),
  DATABASE_LISTEN_URL: setting({
    description: 'A direct address of the same database for workers, when DATABASE_URL goes through a pooler.',
    secret: true,
    parse: postgresUrl,
  }),
  DATABASE_POOLER: setting({
    description:
      'transaction when DATABASE_URL goes through a pooler in transaction mode: statements are then not named.',
    default: 'none',
    parse: oneOf('none', 'transaction'),
  }),
  DATABASE_POOL_SIZE: setting({
    description:
      'The most connections this process opens for its queries; a worker opens ASSAY_WORKER_CONCURRENCY + 2 more.',
    unit: 'connections',
    default: '10',
    parse: wholeNumber(2, 1_000),
  }),
  DATABASE_STATEMENT_TIMEOUT: setting({
    description: 'How long one statement may run before it is cancelled.',
    unit: 'milliseconds',
    default: '30000',
    parse: wholeNumber(100, 3_600_000),
  }),
  ASSAY_DATA_DIRECTORY: setting({
    description: 'Where the embedded database and, in sandbox mode, the keys live.',
    default: './data',
    parse: (value: string): string => path.resolve(value),
  }),
  ASSAY_SERVER_KEYS: setting({
    description:
      'The keys behind cursors, tokens and sign-in codes, newest first, comma-separated: name:base64 of 32 bytes. `assay keys generate` makes them. The same in every process; required outside sandbox mode.',
    secret: true,
    parse: keyRing,
  }),
  ...describeSources('ASSAY_SERVER_KEYS'),
  ASSAY_SEALING_PUBLIC_KEYS: setting({
    description:
      'The keys that credentials are sealed to, newest first: name:base64. Required for the role api outside sandbox mode; workers derive them from the private ones.',
    parse: keyRing,
  }),
  ...describeSources('ASSAY_SEALING_PUBLIC_KEYS'),
  ASSAY_SEALING_PRIVATE_KEYS: setting({
    description:
      'The keys that open credentials, newest first: name:base64. Required for the roles worker and all outside sandbox mode, and refused for the role api. Losing them loses credentials, never history.',
    secret: true,
    parse: keyRing,
  }),
  ...describeSources('ASSAY_SEALING_PRIVATE_KEYS'),
  ASSAY_COINGECKO_KEY: setting({
    description:
      'A key for the price source: demo:KEY or pro:KEY. Without one CoinGecko answers only the last 365 days, and older values stay unknown.',
    secret: true,
    parse: (value: string): { plan: 'demo' | 'pro'; key: string } => {
      const [, plan, key] = /^(demo|pro):(\S+)$/.exec(value) ?? []
      // Never quoted: it is a secret.
      if (key === undefined) throw new RangeError('must be demo: or pro: followed by the key')
      return { plan: plan === 'pro' ? 'pro' : 'demo', key }
    },
  }),
  ASSAY_PROVIDER_CLIENTS: setting({
    description:
      'How you are registered at providers that people sign in at, comma-separated: provider:client_id:client_secret. A provider that is not named is offered without its sign-in. Ignored in sandbox mode.',
    secret: true,
    parse: providerClients,
  }),
  ASSAY_CHAIN_URLS: setting({
    description:
      'Nodes and indexes of chains, as JSON: {"evm:1":{"rpc":"https://…","index":"https://…"}}. What is not named has a public default that needs no key; an index may have its key in the query. Ignored in sandbox mode.',
    secret: true,
    parse: chainUrls,
  }),
  ASSAY_LOG_LEVEL: setting({
    description: 'How much is logged.',
    default: 'info',
    parse: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'silent'),
  }),
  ASSAY_METRICS_TOKEN: setting({
    description: 'The Bearer token that /metrics asks for. Without it /metrics answers only in sandbox mode.',
    secret: true,
    parse: text,
  }),
  ASSAY_WORKER_CONCURRENCY: setting({
    description: 'How many jobs one worker process runs at a time.',
    unit: 'jobs',
    default: '4',
    parse: wholeNumber(1, 64),
  }),
  ASSAY_WORKER_SILENT_AFTER: setting({
    description: 'How long a worker may give no sign of life before its jobs are given to others.',
    unit: 'milliseconds',
    default: '30000',
    parse: wholeNumber(500, 600_000),
  }),
  ASSAY_PROVIDER_TIMEOUT: setting({
    description: 'How long a provider may take to answer one call before it counts as away.',
    unit: 'milliseconds',
    default: '20000',
    parse: wholeNumber(100, 20_000),
  }),
  ASSAY_EGRESS: setting({
    description:
      'A name for the address that providers see this worker come from. Workers behind different addresses have different names, and budgets of their own where a provider counts addresses.',
    default: 'main',
    parse: name,
  }),
  ASSAY_TRUSTED_PROXIES: setting({
    description: 'Addresses or networks, comma-separated, whose X-Forwarded-For is believed.',
    parse: (value: string): readonly string[] => value.split(',').map((part) => part.trim()),
  }),
  ASSAY_V1_SUNSET: setting({
    description:
      'The day on which /platform/v1 is to end, such as 2027-06-30. Its answers then carry Deprecation and Sunset; nothing is switched off by itself.',
    parse: day,
  }),
  ASSAY_EXCESS_PERMISSION: setting({
    description:
      'What happens to a key that can trade or withdraw: refuse, or allow if your users need one key for both.',
    default: 'refuse',
    parse: oneOf('refuse', 'allow'),
  }),
  ASSAY_UNCHECKED_KEYS: setting({
    description:
      'What happens to keys of providers that do not say what a key may do: confirm (accepted when the person confirms that the key can only read), or refuse.',
    default: 'confirm',
    parse: oneOf('confirm', 'refuse'),
  }),
  ASSAY_SMTP_URL: setting({
    description:
      'The mail server for sign-in codes, such as smtps://user:password@mail.example:465. Without it, signing in by e-mail is off outside sandbox mode.',
    secret: true,
    parse: smtpUrl,
  }),
  ASSAY_MAIL_FROM: setting({
    description: 'The sender of sign-in codes, such as Assay <connect@example.com>. Required with ASSAY_SMTP_URL.',
    parse: text,
  }),
  ASSAY_LIMIT_TOKEN: setting({
    description: 'Requests of one access token or connect session. Limits are counted by each API process.',
    unit: 'requests a minute',
    default: '600',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_ADDRESS: setting({
    description: 'Requests of one address without a valid token.',
    unit: 'requests a minute',
    default: '300',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_CLIENT: setting({
    description: 'Requests of one authenticated client at /oauth/.',
    unit: 'requests a minute',
    default: '3000',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_OAUTH_FAILURES: setting({
    description: 'Requests of one address at /oauth/ that failed or had no valid client, code or token.',
    unit: 'requests a minute',
    default: '60',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_SIGN_IN_CODES: setting({
    description: 'Sign-in codes for one e-mail address, asked for from one network (/24, /48).',
    unit: 'codes an hour',
    default: '5',
    sandboxDefault: '1000000',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_SIGN_IN_CODES_NETWORK: setting({
    description: 'Sign-in codes asked for from one network, for whichever address.',
    unit: 'codes an hour',
    default: '30',
    sandboxDefault: '1000000',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_SIGN_IN_CODES_TENANT: setting({
    description: 'Sign-in codes of one tenant.',
    unit: 'codes an hour',
    default: '1000',
    sandboxDefault: '1000000',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_SIGN_IN_TRIES: setting({
    description: 'Wrong sign-in codes for one e-mail address, entered from one network.',
    unit: 'tries a day',
    default: '20',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_SIGN_IN_TRIES_ADDRESS: setting({
    description: 'Wrong sign-in codes for one e-mail address, from all networks together.',
    unit: 'tries a day',
    default: '100',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_PENDING_KEYS: setting({
    description: 'Keys of one user that may be under verification at a time. They are verified one after another.',
    unit: 'keys',
    default: '3',
    parse: wholeNumber(1, 1_000),
  }),
  ASSAY_LIMIT_REFUSED_KEYS: setting({
    description: 'Keys of one user that providers may refuse before the user has to wait.',
    unit: 'keys an hour',
    default: '20',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_SLOW_SECRETS_AFTER: setting({
    description: 'Wrong secrets for one client from one address after which answers come slowly.',
    unit: 'failures a minute',
    default: '10',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_SYNC_ACTIVE_FOR: setting({
    description:
      'How long a user counts as active after an application has read the data, or an account was connected.',
    unit: 'minutes',
    default: '60',
    parse: wholeNumber(1, 10_080),
  }),
  ASSAY_SYNC_ACTIVE_INTERVAL: setting({
    description: 'How often the connections of an active user are read, on average.',
    unit: 'minutes',
    default: '15',
    parse: wholeNumber(1, 10_080),
  }),
  ASSAY_SYNC_RECENT_FOR: setting({
    description: 'The same for users who were active recently: after that they are idle.',
    unit: 'minutes',
    default: '1440',
    parse: wholeNumber(1, 525_600),
  }),
  ASSAY_SYNC_RECENT_INTERVAL: setting({
    description:
      'How often the connections of a user who was active recently are read, and those of every user of a tenant with a webhook.',
    unit: 'minutes',
    default: '60',
    parse: wholeNumber(1, 10_080),
  }),
  ASSAY_SYNC_IDLE_INTERVAL: setting({
    description: 'How often the connections of idle users are read.',
    unit: 'minutes',
    default: '360',
    parse: wholeNumber(1, 10_080),
  }),
  ASSAY_RIGHTS_INTERVAL: setting({
    description: 'How often the rights of a key are read again, to find one that was given more than reading.',
    unit: 'minutes',
    default: '1440',
    parse: wholeNumber(0, 43_200),
  }),
  ASSAY_REMOVALS_KEPT: setting({
    description:
      'How long transactions that are gone are told to those who follow changes. A client that stays away longer has to start again.',
    unit: 'days',
    default: '90',
    parse: wholeNumber(1, 3_650),
  }),
  ASSAY_VERSIONS_KEPT: setting({
    description:
      'How long former versions of transactions are kept. `known_at` reaches back so far and refuses earlier moments.',
    unit: 'days',
    default: '400',
    parse: wholeNumber(1, 3_650),
  }),
  ASSAY_ABANDONED_AFTER: setting({
    description: 'How long connections are kept after the last grant of their user has ended; then they are destroyed.',
    unit: 'days',
    default: '30',
    parse: wholeNumber(0, 3_650),
  }),
  ASSAY_KEY_CHECK_TIMEOUT: setting({
    description: 'How long a request that adds a key waits until a worker has checked the key.',
    unit: 'milliseconds',
    default: '30000',
    parse: wholeNumber(1_000, 600_000),
  }),
  ASSAY_STOP_GRACE: setting({
    description: 'How long a stop waits for requests and jobs under way.',
    unit: 'milliseconds',
    default: '10000',
    parse: wholeNumber(0, 600_000),
  }),
  ASSAY_SANDBOX_URL: setting({
    description: 'Sandbox mode only: the control address of the simulated providers. `assay start` sets it.',
    parse: url,
  }),
  ASSAY_SANDBOX_PACE: setting({
    description: 'Sandbox mode only: fast divides the time of every provider limit by 100, real does not.',
    default: 'fast',
    parse: oneOf('fast', 'real'),
  }),
  ASSAY_DEMO_PORT: setting({
    description: 'Sandbox mode only: the port of the demo application.',
    default: '4100',
    parse: wholeNumber(0, 65_535),
  }),
} satisfies Record<string, Setting<unknown>>

export interface Config {
  mode: 'production' | 'sandbox'
  listen: { host: string; port: number }
  /** Undefined parts follow the listening address, which is known only once the port is bound. */
  urls: { base: string | undefined; auth: string | undefined; widget: string | undefined }
  database: {
    url: string | undefined
    listenUrl: string | undefined
    pooler: 'none' | 'transaction'
    poolSizeMax: number
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
  worker: { concurrency: number; silentAfterMs: number; providerTimeoutMs: number; egress: string }
  trustedProxies: readonly string[]
  /** Midnight UTC at the beginning of that day. */
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
  keyLimits: { pending: number; refusedPerHour: number }
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
  /** `startsEmpty` is asked for by the command line, for one start: `assay start --fresh`. */
  sandbox: { url: string | undefined; pace: 'fast' | 'real'; demoPort: number; startsEmpty?: boolean }
}

export type Environment = Readonly<Record<string, string | undefined>>

/** What the process was started with, for the callers that may hand on an environment (the CLI and tests). */
export function readEnvironment(): Environment {
  return { ...process.env }
}

/** `as` says what the process does: it decides which keys it needs, and which it must not have. */
export function parseConfig(environment: Environment, as: ProcessKind = 'all'): Config {
  const problems: string[] = []

  function read<T>(name: keyof typeof settings, one: Setting<T>): T | undefined {
    const given = environment[name]
    const usual = environment['ASSAY_MODE'] === 'sandbox' ? (one.sandboxDefault ?? one.default) : one.default
    const value = given === undefined || given === '' ? usual : given
    if (value === undefined) return undefined
    try {
      return one.parse(value)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      problems.push(`${name} ${error.message}`)
      return undefined
    }
  }

  // A setting with a default is there, or its mistake is reported below and the value is never used.
  const given = <T>(name: keyof typeof settings, one: Setting<T>): T => read(name, one) as T

  problems.push(...unknownSettings(environment))
  const config: Config = {
    mode: given('ASSAY_MODE', settings.ASSAY_MODE),
    listen: { host: given('ASSAY_HOST', settings.ASSAY_HOST), port: given('ASSAY_PORT', settings.ASSAY_PORT) },
    urls: {
      base: read('ASSAY_BASE_URL', settings.ASSAY_BASE_URL),
      auth: read('ASSAY_AUTH_URL', settings.ASSAY_AUTH_URL),
      widget: read('ASSAY_WIDGET_URL', settings.ASSAY_WIDGET_URL),
    },
    database: {
      url: read('DATABASE_URL', settings.DATABASE_URL),
      listenUrl: read('DATABASE_LISTEN_URL', settings.DATABASE_LISTEN_URL),
      pooler: given('DATABASE_POOLER', settings.DATABASE_POOLER),
      poolSizeMax: given('DATABASE_POOL_SIZE', settings.DATABASE_POOL_SIZE),
      statementTimeoutMs: given('DATABASE_STATEMENT_TIMEOUT', settings.DATABASE_STATEMENT_TIMEOUT),
      dataDirectory: given('ASSAY_DATA_DIRECTORY', settings.ASSAY_DATA_DIRECTORY),
    },
    keys: readKeys(environment, as, problems),
    priceKey: read('ASSAY_COINGECKO_KEY', settings.ASSAY_COINGECKO_KEY),
    providerClients: read('ASSAY_PROVIDER_CLIENTS', settings.ASSAY_PROVIDER_CLIENTS) ?? {},
    chainUrls: read('ASSAY_CHAIN_URLS', settings.ASSAY_CHAIN_URLS) ?? {},
    logLevel: given('ASSAY_LOG_LEVEL', settings.ASSAY_LOG_LEVEL),
    metricsToken: read('ASSAY_METRICS_TOKEN', settings.ASSAY_METRICS_TOKEN),
    worker: {
      concurrency: given('ASSAY_WORKER_CONCURRENCY', settings.ASSAY_WORKER_CONCURRENCY),
      silentAfterMs: given('ASSAY_WORKER_SILENT_AFTER', settings.ASSAY_WORKER_SILENT_AFTER),
      providerTimeoutMs: given('ASSAY_PROVIDER_TIMEOUT', settings.ASSAY_PROVIDER_TIMEOUT),
      egress: given('ASSAY_EGRESS', settings.ASSAY_EGRESS),
    },
    trustedProxies: read('ASSAY_TRUSTED_PROXIES', settings.ASSAY_TRUSTED_PROXIES) ?? [],
    v1SunsetMs: read('ASSAY_V1_SUNSET', settings.ASSAY_V1_SUNSET),
    excessPermission: given('ASSAY_EXCESS_PERMISSION', settings.ASSAY_EXCESS_PERMISSION),
    uncheckedKeys: given('ASSAY_UNCHECKED_KEYS', settings.ASSAY_UNCHECKED_KEYS),
    mail: readMail(read, problems),
    limits: readLimits(given),
    ...{ signInLimits: readSignInLimits(given), keyLimits: readKeyLimits(given) },
    schedule: readSchedule(given),
    removalsKeptMs: given('ASSAY_REMOVALS_KEPT', settings.ASSAY_REMOVALS_KEPT) * 86_400_000,
    versionsKeptMs: given('ASSAY_VERSIONS_KEPT', settings.ASSAY_VERSIONS_KEPT) * 86_400_000,
    abandonedAfterMs: given('ASSAY_ABANDONED_AFTER', settings.ASSAY_ABANDONED_AFTER) * 1_440 * minuteMs,
    keyCheckTimeoutMs: given('ASSAY_KEY_CHECK_TIMEOUT', settings.ASSAY_KEY_CHECK_TIMEOUT),
    stopGraceMs: given('ASSAY_STOP_GRACE', settings.ASSAY_STOP_GRACE),
    sandbox: {
      url: read('ASSAY_SANDBOX_URL', settings.ASSAY_SANDBOX_URL),
      pace: given('ASSAY_SANDBOX_PACE', settings.ASSAY_SANDBOX_PACE),
      demoPort: given('ASSAY_DEMO_PORT', settings.ASSAY_DEMO_PORT),
    },
  }
  if (problems.length === 0 && as !== 'files') problems.push(...contradictions(config, as))
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

type ReadNumber = (name: keyof typeof settings, one: Setting<number>) => number

type Read = <T>(name: keyof typeof settings, one: Setting<T>) => T | undefined

function readMail(read: Read, problems: string[]): Config['mail'] {
  const smtpUrl = read('ASSAY_SMTP_URL', settings.ASSAY_SMTP_URL)
  const from = read('ASSAY_MAIL_FROM', settings.ASSAY_MAIL_FROM)
  if ((smtpUrl === undefined) !== (from === undefined)) {
    problems.push('ASSAY_SMTP_URL and ASSAY_MAIL_FROM must be given together')
  }
  return smtpUrl === undefined ? undefined : { smtpUrl, from: from ?? '' }
}

function readLimits(given: ReadNumber): Config['limits'] {
  return {
    perToken: given('ASSAY_LIMIT_TOKEN', settings.ASSAY_LIMIT_TOKEN),
    perAddress: given('ASSAY_LIMIT_ADDRESS', settings.ASSAY_LIMIT_ADDRESS),
    perClient: given('ASSAY_LIMIT_CLIENT', settings.ASSAY_LIMIT_CLIENT),
    oauthFailures: given('ASSAY_LIMIT_OAUTH_FAILURES', settings.ASSAY_LIMIT_OAUTH_FAILURES),
    slowAfter: given('ASSAY_SLOW_SECRETS_AFTER', settings.ASSAY_SLOW_SECRETS_AFTER),
  }
}

function readSignInLimits(given: ReadNumber): Config['signInLimits'] {
  return {
    codesPerAddressInNetwork: given('ASSAY_LIMIT_SIGN_IN_CODES', settings.ASSAY_LIMIT_SIGN_IN_CODES),
    codesPerNetwork: given('ASSAY_LIMIT_SIGN_IN_CODES_NETWORK', settings.ASSAY_LIMIT_SIGN_IN_CODES_NETWORK),
    codesPerTenant: given('ASSAY_LIMIT_SIGN_IN_CODES_TENANT', settings.ASSAY_LIMIT_SIGN_IN_CODES_TENANT),
    triesPerAddressInNetwork: given('ASSAY_LIMIT_SIGN_IN_TRIES', settings.ASSAY_LIMIT_SIGN_IN_TRIES),
    triesPerAddress: given('ASSAY_LIMIT_SIGN_IN_TRIES_ADDRESS', settings.ASSAY_LIMIT_SIGN_IN_TRIES_ADDRESS),
  }
}

function readKeyLimits(given: ReadNumber): Config['keyLimits'] {
  return {
    pending: given('ASSAY_LIMIT_PENDING_KEYS', settings.ASSAY_LIMIT_PENDING_KEYS),
    refusedPerHour: given('ASSAY_LIMIT_REFUSED_KEYS', settings.ASSAY_LIMIT_REFUSED_KEYS),
  }
}

function readSchedule(given: ReadNumber): Config['schedule'] {
  return {
    activeForMs: given('ASSAY_SYNC_ACTIVE_FOR', settings.ASSAY_SYNC_ACTIVE_FOR) * minuteMs,
    activeEveryMs: given('ASSAY_SYNC_ACTIVE_INTERVAL', settings.ASSAY_SYNC_ACTIVE_INTERVAL) * minuteMs,
    recentForMs: given('ASSAY_SYNC_RECENT_FOR', settings.ASSAY_SYNC_RECENT_FOR) * minuteMs,
    recentEveryMs: given('ASSAY_SYNC_RECENT_INTERVAL', settings.ASSAY_SYNC_RECENT_INTERVAL) * minuteMs,
    idleEveryMs: given('ASSAY_SYNC_IDLE_INTERVAL', settings.ASSAY_SYNC_IDLE_INTERVAL) * minuteMs,
    rightsEveryMs: given('ASSAY_RIGHTS_INTERVAL', settings.ASSAY_RIGHTS_INTERVAL) * minuteMs,
  }
}

function unknownSettings(environment: Environment): string[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('ASSAY_') && !(name in settings) && !internalNames.has(name))
    .map((name) => `${name} is not a setting${suggestion(name)}`)
}

/** Set by our own tools, not by an operator. */
const internalNames = new Set(['ASSAY_SECOND_INSTALL_PASS', 'ASSAY_TEST_POSTGRES', 'ASSAY_REEXECUTED'])

function contradictions(config: Config, as: ProcessKind): string[] {
  const problems = listKeyProblems(config, as)
  if (config.mode === 'sandbox') {
    if (!isLoopback(config.listen.host)) {
      problems.push(`ASSAY_HOST must be a loopback address in sandbox mode, got ${JSON.stringify(config.listen.host)}`)
    }
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

/** A slip of the keyboard is the usual reason for an unknown setting. */
function suggestion(name: string): string {
  const shared = (candidate: string): number => {
    const parts = new Set(candidate.split('_'))
    return name.split('_').filter((part) => parts.has(part)).length
  }
  const best = Object.keys(settings).toSorted((a, b) => shared(b) - shared(a))[0]
  return best !== undefined && shared(best) >= 2 ? `; did you mean ${best}?` : ''
}
