/**
 * Every setting of the service: what it is for, its default and how its text is parsed. config.ts reads the environment
 * by this table, and a test holds docs/configuration.md against it.
 */
import { isIP } from 'node:net'
import path from 'node:path'
import { describeFile, describeSources } from './key-settings.ts'
import {
  chainUrls,
  day,
  keyRing,
  name,
  networks,
  oneOf,
  postgresUrl,
  providerClients,
  smtpUrl,
  text,
  url,
  wholeNumber,
} from './setting-values.ts'

export interface Setting<T> {
  description: string
  unit?: string
  /** Shown in the documentation; undefined when the setting is off unless given. */
  default?: string
  /** Takes the place of `default` in sandbox mode. */
  sandboxDefault?: string
  /** The same in live mode. */
  liveDefault?: string
  secret?: true
  /** Throws a sentence that completes "NAME …". */
  parse: (text: string) => T
}

function setting<T>(value: Setting<T>): Setting<T> {
  return value
}

export const settings = {
  ASSAY_MODE: setting({
    description:
      'production, or sandbox: simulated providers and test clients, on loopback addresses only. live: real providers for one person who tries the service, on loopback addresses only.',
    default: 'production',
    parse: oneOf('production', 'sandbox', 'live'),
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
  ASSAY_STATUS_PORT: setting({
    description:
      'The port on which a process of role worker answers /healthz, /readyz, /metrics and /metrics/fleet. Without it a worker listens nowhere; the other roles answer on ASSAY_PORT.',
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
    description:
      'A PostgreSQL server, version 15 or later, or several hosts, one of them the primary. Without it, the embedded server runs in ASSAY_DATA_DIRECTORY.',
    secret: true,
    parse: postgresUrl,
  }),
  ...describeFile('DATABASE_URL'),
  DATABASE_LISTEN_URL: setting({
    description:
      'A direct address of the same database for workers, when DATABASE_URL goes through a pooler. It may name several hosts too.',
    secret: true,
    parse: postgresUrl,
  }),
  ...describeFile('DATABASE_LISTEN_URL'),
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
  DATABASE_ACQUIRE_TIMEOUT: setting({
    description: 'How long a request waits for a connection of the pool before it is answered 503.',
    unit: 'milliseconds',
    default: '5000',
    parse: wholeNumber(100, 3_600_000),
  }),
  DATABASE_STATEMENT_TIMEOUT: setting({
    description: 'How long one statement may run before it is cancelled.',
    unit: 'milliseconds',
    default: '30000',
    parse: wholeNumber(100, 3_600_000),
  }),
  ASSAY_DATA_DIRECTORY: setting({
    description:
      'Where the embedded database lives, and the keys in sandbox and live mode. In live mode the default is `./live-data`.',
    default: './data',
    liveDefault: './live-data',
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
      // The value is never quoted, because it is a secret.
      if (key === undefined) throw new RangeError('must be demo: or pro: followed by the key')
      return { plan: plan === 'pro' ? 'pro' : 'demo', key }
    },
  }),
  ...describeFile('ASSAY_COINGECKO_KEY'),
  ASSAY_PROVIDER_CLIENTS: setting({
    description:
      'How you are registered at providers that people sign in at, comma-separated: provider:client_id:client_secret. A provider that is not named is offered without its sign-in. Ignored in sandbox mode.',
    secret: true,
    parse: providerClients,
  }),
  ...describeFile('ASSAY_PROVIDER_CLIENTS'),
  ASSAY_CHAIN_URLS: setting({
    description:
      'Nodes and indexes of chains, as JSON: {"evm:1":{"rpc":"https://…","index":"https://…"}}. What is not named has a public default that needs no key; an index may have its key in the query. Ignored in sandbox mode.',
    secret: true,
    parse: chainUrls,
  }),
  ...describeFile('ASSAY_CHAIN_URLS'),
  ASSAY_LOG_LEVEL: setting({
    description: 'How much is logged. The heads of the audit log are logged at `info`.',
    default: 'info',
    parse: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'silent'),
  }),
  ASSAY_METRICS_TOKEN: setting({
    description: 'The Bearer token that /metrics asks for. Without it /metrics answers only in sandbox mode.',
    secret: true,
    parse: text,
  }),
  ...describeFile('ASSAY_METRICS_TOKEN'),
  ASSAY_TRACES_URL: setting({
    description:
      'Where traces are sent, by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces of an OpenTelemetry collector. Without it nothing is traced.',
    parse: url,
  }),
  ASSAY_TRACES_PERCENT: setting({
    description: 'Of a hundred requests, and of jobs that no request has caused, so many are traced.',
    unit: 'percent',
    default: '100',
    parse: wholeNumber(0, 100),
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
    parse: networks,
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
      'The mail server for sign-in codes, such as smtps://user:password@mail.example:465. Without it, signing in by email is off outside sandbox mode.',
    secret: true,
    parse: smtpUrl,
  }),
  ...describeFile('ASSAY_SMTP_URL'),
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
    description: 'Sign-in codes for one email address, asked for from one network (/24, /48).',
    unit: 'codes an hour',
    default: '5',
    sandboxDefault: '1000000',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_SIGN_IN_CODES_NETWORK: setting({
    description: 'Sign-in codes asked for from one network, for all addresses together.',
    unit: 'codes an hour',
    default: '30',
    sandboxDefault: '1000000',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_SIGN_IN_CODES_TENANT: setting({
    description:
      'Sign-in codes of one tenant. Each network gets its first three codes of an hour out of all of them, and further ones out of half of them. Addresses that signed in from the network within 30 days are not counted.',
    unit: 'codes an hour',
    default: '1000',
    sandboxDefault: '1000000',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_SIGN_IN_TRIES: setting({
    description: 'Wrong sign-in codes for one email address, entered from one network.',
    unit: 'tries a day',
    default: '20',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_SIGN_IN_TRIES_ADDRESS: setting({
    description:
      'Wrong sign-in codes for one email address, from all networks together. Networks from which the address signed in within 30 days have only their own limit.',
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
    description: 'Keys of one user that providers may refuse, or fail to check, before the user has to wait.',
    unit: 'keys an hour',
    default: '20',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_REPEATED_CHECKS: setting({
    description:
      'Checks at providers that left one user with no further account, before the user has to wait: the account was connected already, was repaired, or was removed again. In sandbox mode the default is 1000.',
    unit: 'checks an hour',
    default: '20',
    // Tests connect one account and remove it again and again, and simulators have no calls to protect.
    sandboxDefault: '1000',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_CONNECTIONS: setting({
    description: 'Accounts and wallets that one user may have connected.',
    unit: 'connections',
    default: '500',
    parse: wholeNumber(1, 1_000_000),
  }),
  ASSAY_LIMIT_RECORDS: setting({
    description:
      "Records of providers that are kept of one user's accounts and wallets, about 3 KB each with what is derived from them; one of more than 16 KB, or a batch of collectibles, counts as several. Beyond them, only accounts and lists with less than their share are read on, up to twice as many; balances still are. A user of whom a fifth as many removed transactions are remembered adds no accounts.",
    unit: 'records',
    default: '5000000',
    parse: wholeNumber(1, 1_000_000_000_000),
  }),
  ASSAY_SLOW_SECRETS_AFTER: setting({
    description:
      'From this many wrong secrets for one client from one address on, the answers to wrong ones come slowly.',
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
      'How long the feed of changes reports removed transactions. A client that stays away longer has to start again.',
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
    description:
      'Sandbox mode only: fast divides the time of every provider limit by 100, fastest by 10,000, real does not.',
    default: 'fast',
    parse: oneOf('fast', 'fastest', 'real'),
  }),
  ASSAY_DEMO_PORT: setting({
    description: 'Sandbox and live mode only: the port of the demo application.',
    default: '4100',
    parse: wholeNumber(0, 65_535),
  }),
} satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof settings

/** What the text of a setting becomes. */
export type SettingValue<Name extends SettingName> = ReturnType<(typeof settings)[Name]['parse']>
