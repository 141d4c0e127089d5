import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { ConfigError, parseConfig, type Config } from './config.ts'
import { settings } from './settings.ts'
import { testKeyTexts } from '../test-keys.ts'

const production = testKeyTexts('main')

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    parseConfig(environment)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems
  }
  return []
}

describe('docs/configuration.md', () => {
  const file = path.join(import.meta.dirname, '../../../../docs/configuration.md')
  const documented = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => /^- `[A-Z0-9_]+`/.test(line))

  function toLine(name: string, setting: (typeof settings)[keyof typeof settings]): string {
    const unit = 'unit' in setting ? ` ${setting.unit}` : ''
    const value = 'default' in setting ? `default \`${setting.default}\`${unit}` : 'no default'
    return `- \`${name}\` (${value}${'secret' in setting ? ', secret' : ''}): ${setting.description}`
  }

  it('has exactly one line for each setting, with its default, unit and description', () => {
    const expected = Object.entries(settings).map(([name, setting]) => toLine(name, setting))
    assert.deepEqual(documented.toSorted(), expected.toSorted())
  })
})

describe('a secret', () => {
  const write = (content: string): string => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'assay-config-'))
    after(() => rmSync(directory, { recursive: true }))
    const file = path.join(directory, 'secret')
    writeFileSync(file, content)
    return file
  }

  it('of any kind may come from a file that ends in a line break', () => {
    const secrets = Object.entries(settings).filter(([, one]) => 'secret' in one)
    assert.deepEqual(
      secrets.filter(([name]) => !(`${name}_FILE` in settings)).map(([name]) => name),
      [],
    )
    const url = 'postgres://assay:pass@db.example/assay'
    const found = parseConfig({
      ...production,
      DATABASE_URL_FILE: write(`${url}\n`),
      ASSAY_METRICS_TOKEN_FILE: write('t'),
    })
    assert.deepEqual([found.database.url, found.metricsToken], [url, 't'])
  })

  it('is refused when it is given twice or its file cannot be read, and is never quoted', () => {
    const file = write('hunter2')
    const problems = problemsOf({
      ...production,
      ...{ ASSAY_METRICS_TOKEN: 'one', ASSAY_METRICS_TOKEN_FILE: file },
      ...{ ASSAY_COINGECKO_KEY_FILE: file, DATABASE_URL_FILE: '/nowhere/at/all' },
    })
    assert.deepEqual(problems, [
      'DATABASE_URL_FILE must be a file that can be read, got "/nowhere/at/all" (ENOENT)',
      'ASSAY_COINGECKO_KEY_FILE must be demo: or pro: followed by the key',
      'ASSAY_METRICS_TOKEN and ASSAY_METRICS_TOKEN_FILE must not be given together',
    ])
  })
})

describe('ASSAY_SMTP_URL', () => {
  it('takes no options, because they could switch TLS off', () => {
    const mail = { ...production, ASSAY_MAIL_FROM: 'Assay <connect@example.com>' }
    const problems = problemsOf({ ...mail, ASSAY_SMTP_URL: 'smtp://mail.example?ignoreTLS=true' })
    assert.match(problems[0] ?? '', /^ASSAY_SMTP_URL must not have options/)
    assert.deepEqual(problemsOf({ ...mail, ASSAY_SMTP_URL: 'smtp://user:secret@mail.example:587' }), [])
  })
})

describe('ASSAY_CHAIN_URLS', () => {
  it('names a node or an index of each chain, and a mistake is not quoted', () => {
    const urls = { 'evm:1': { rpc: 'http://10.0.0.7:8545', index: 'https://index.example/v2/api?chainid=1&apikey=k' } }
    assert.deepEqual(parseConfig({ ...production, ASSAY_CHAIN_URLS: JSON.stringify(urls) }).chainUrls, urls)
    assert.deepEqual(parseConfig(production).chainUrls, {})
    for (const wrong of [
      'https://node.example',
      '[]',
      '{"evm:1":"https://node.example"}',
      '{"evm:1":{}}',
      '{"evm:1":{"node":"https://node.example"}}',
      '{"evm:1":{"rpc":"file:///etc/passwd"}}',
      '{"evm:1":{"rpc":"https://"}}',
      '{"EVM 1":{"rpc":"https://node.example"}}',
    ]) {
      const [problem = '', ...others] = problemsOf({ ...production, ASSAY_CHAIN_URLS: wrong })
      assert.match(problem, /^ASSAY_CHAIN_URLS must be JSON such as/, wrong)
      assert.ok(others.length === 0 && !problem.includes('node.example'), wrong)
    }
  })
})

describe('a configuration without mistakes', () => {
  it('needs nothing but keys in production, and nothing at all in sandbox mode', () => {
    assert.equal(parseConfig(production).mode, 'production')
    assert.equal(parseConfig({ ASSAY_MODE: 'sandbox' }).keys.server, undefined)
  })

  it('allows 20 repeated checks an hour, and 1,000 in sandbox mode, where tests connect one account again and again', () => {
    const findMax = (environment: Record<string, string>) => parseConfig(environment).keyLimits.repeatedPerHour
    assert.deepEqual([findMax(production), findMax({ ASSAY_MODE: 'sandbox' })], [20, 1_000])
  })

  it('gives the documented defaults', () => {
    const { listen, database, limits, worker, mail, trustedProxies, excessPermission } = parseConfig(production)
    assert.deepEqual(listen, { host: '127.0.0.1', port: 4000, statusPort: undefined })
    assert.deepEqual(database, {
      url: undefined,
      listenUrl: undefined,
      pooler: 'none',
      poolSizeMax: 10,
      acquireTimeoutMs: 5_000,
      statementTimeoutMs: 30_000,
      dataDirectory: path.resolve('data'),
    })
    assert.deepEqual(limits, { perToken: 600, perAddress: 300, perClient: 3_000, oauthFailures: 60, slowAfter: 10 })
    assert.deepEqual(worker, { concurrency: 4, silentAfterMs: 30_000, providerTimeoutMs: 20_000, egress: 'main' })
    assert.deepEqual([mail, trustedProxies, excessPermission], [undefined, [], 'refuse'])
  })

  it('treats an empty value as one that was not given', () => {
    assert.deepEqual(
      parseConfig({ ...production, ASSAY_PORT: '', DATABASE_URL: '', ASSAY_SMTP_URL: '' }),
      parseConfig(production),
    )
  })

  const accepted: [string, Record<string, string>, (config: Config) => unknown, unknown][] = [
    [
      'drops the slash at the end of a URL',
      { ASSAY_BASE_URL: 'https://api.example/' },
      ({ urls }) => urls.base,
      'https://api.example',
    ],
    ['listens on IPv6', { ASSAY_HOST: '::1' }, ({ listen }) => listen.host, '::1'],
    ['takes port 0', { ASSAY_PORT: '0' }, ({ listen }) => listen.port, 0],
    [
      'splits the list of proxies',
      { ASSAY_TRUSTED_PROXIES: '10.0.0.0/8, ::1' },
      ({ trustedProxies }) => trustedProxies,
      ['10.0.0.0/8', '::1'],
    ],
    [
      'takes both spellings of a PostgreSQL URL',
      { DATABASE_URL: 'postgresql://db/assay', DATABASE_LISTEN_URL: 'postgres://u:p@/assay?host=/run' },
      ({ database }) => [database.url, database.listenUrl],
      ['postgresql://db/assay', 'postgres://u:p@/assay?host=/run'],
    ],
    [
      'takes a PostgreSQL URL with a user and a database in the query',
      { DATABASE_URL: 'postgres://db:5432/?dbname=assay&user=assay@tenant&password=100%' },
      ({ database }) => database.url,
      'postgres://db:5432/?dbname=assay&user=assay@tenant&password=100%',
    ],
    [
      'takes several hosts of one database',
      { DATABASE_URL: 'postgres://u:p@a:5432,b:5432/assay?target_session_attrs=read-write' },
      ({ database }) => database.url,
      'postgres://u:p@a:5432,b:5432/assay?target_session_attrs=read-write',
    ],
    [
      'takes a mail server with its sender',
      { ASSAY_SMTP_URL: 'smtps://mail.example:465', ASSAY_MAIL_FROM: 'Assay <connect@example.com>' },
      ({ mail }) => mail,
      { smtpUrl: 'smtps://mail.example:465', from: 'Assay <connect@example.com>' },
    ],
  ]
  for (const [title, given, pick, expected] of accepted) {
    it(title, () => assert.deepEqual(pick(parseConfig({ ...production, ...given })), expected))
  }
})

describe('a mistake in a setting', () => {
  const refused: [string, string, string][] = [
    ['ASSAY_MODE', 'staging', 'must be production or sandbox or live, got "staging"'],
    ['ASSAY_HOST', 'api.example', 'must be an IP address or localhost'],
    ['ASSAY_PORT', '65536', 'must be a whole number from 0 to 65535, got "65536"'],
    ['ASSAY_PORT', '4e3', 'must be a whole number from 0 to 65535, got "4e3"'],
    ['ASSAY_PORT', ' 4000', 'must be a whole number from 0 to 65535, got " 4000"'],
    ['ASSAY_BASE_URL', 'api.example', 'must be a URL, got "api.example"'],
    ['ASSAY_AUTH_URL', 'ftp://auth.example', 'must begin with https:// or http://'],
    ['ASSAY_WIDGET_URL', 'https://w.example/connect?x=1', 'must have neither a query nor a fragment'],
    [
      'DATABASE_URL',
      'postgres://a,/assay',
      'must name a host on each side of a comma, such as postgres://a:5432,b:5432/assay',
    ],
    ['DATABASE_POOLER', 'session', 'must be none or transaction, got "session"'],
    ['DATABASE_POOL_SIZE', '1', 'must be a whole number from 2 to 1000, got "1"'],
    ['ASSAY_LOG_LEVEL', 'verbose', 'must be fatal or error or warn or info or debug or silent, got "verbose"'],
    ['ASSAY_V1_SUNSET', '2027-02-30', 'must be a day such as 2027-06-30, got "2027-02-30"'],
    ['ASSAY_EXCESS_PERMISSION', 'warn', 'must be refuse or allow, got "warn"'],
    ['ASSAY_LIMIT_TOKEN', '0', 'must be a whole number from 1 to 1000000, got "0"'],
  ]
  for (const [name, value, message] of refused) {
    it(`${name}=${JSON.stringify(value)} is quoted as it is`, () => {
      assert.deepEqual(problemsOf({ ...production, [name]: value }), [`${name} ${message}`])
    })
  }

  it('is reported without the value when the value may hold a password', () => {
    const secrets = {
      DATABASE_URL: 'mysql://assay:hunter2@db/assay',
      DATABASE_LISTEN_URL: 'hunter2',
      ASSAY_SMTP_URL: 'https://assay:hunter2@mail.example',
    }
    const problems = problemsOf({ ...production, ...secrets, ASSAY_MAIL_FROM: 'a@example.com' })
    for (const name of Object.keys(secrets)) assert.ok(problems.some((problem) => problem.startsWith(`${name} must`)))
    assert.doesNotMatch(problems.join('\n'), /hunter2/)
  })

  for (const password of ['hunter2#', '2#hunter2', 'hunter2/', 'hunter2?', '2/hunter2', '2?hunter2', '@2/hunter2']) {
    it(`is reported when the password of the database has a character of an address: ${password}`, () => {
      const problems = problemsOf({ ...production, DATABASE_URL: `postgres://assay:${password}@db/assay` })
      assert.match(problems.join('\n'), /^DATABASE_URL must be an address .+ %23 for #/)
      assert.doesNotMatch(problems.join('\n'), /hunter2/)
    })
  }

  it('is reported when the address of the database is not UTF-8', () => {
    const problems = problemsOf({ ...production, DATABASE_URL: 'postgres://assay:hunter2%E9@db/assay' })
    assert.match(problems.join('\n'), /^DATABASE_URL must have the bytes of UTF-8/)
    assert.doesNotMatch(problems.join('\n'), /hunter2/)
  })

  it('is reported together with all the others', () => {
    const environment = { ...production, ASSAY_PORT: 'http', DATABASE_POOLER: 'session', ASSAY_LOG_LEVEL: 'all' }
    assert.deepEqual(
      problemsOf(environment).map((problem) => problem.split(' ', 1)[0]),
      ['ASSAY_PORT', 'DATABASE_POOLER', 'ASSAY_LOG_LEVEL'],
    )
    assert.throws(
      () => parseConfig(environment),
      /^ConfigError: The configuration has 3 mistakes:\n {2}ASSAY_PORT must .+\n {2}DATABASE_POOLER must .+\n {2}ASSAY_LOG_LEVEL must /,
    )
  })

  it('is reported in the singular when it is the only one', () => {
    assert.throws(
      () => parseConfig({ ...production, ASSAY_PORT: 'http' }),
      /^ConfigError: The configuration has a mistake:\n {2}ASSAY_PORT must /,
    )
  })
})

describe('an unknown setting', () => {
  it('is refused with a suggestion of the name that was probably meant', () => {
    assert.deepEqual(problemsOf({ ...production, ASSAY_WORKERS_CONCURRENCY: '2' }), [
      'ASSAY_WORKERS_CONCURRENCY is not a setting; did you mean ASSAY_WORKER_CONCURRENCY?',
    ])
  })

  it('is refused without a suggestion when no name is similar', () => {
    assert.deepEqual(problemsOf({ ...production, ASSAY_COLOUR: 'green' }), ['ASSAY_COLOUR is not a setting'])
  })

  it('is ignored without the prefix', () => {
    assert.deepEqual(problemsOf({ ...production, PATH: '/bin', DATABASE_NAME: 'x' }), [])
  })
})

describe('settings that contradict each other', () => {
  const contradictions: [string, Record<string, string>, string[]][] = [
    [
      'production without keys',
      {},
      [
        'ASSAY_SERVER_KEYS is required; make all keys: assay keys generate. Beside `npm start`, set ASSAY_MODE=sandbox instead',
        'ASSAY_SEALING_PRIVATE_KEYS is required for the role all; make all keys: assay keys generate',
      ],
    ],
    [
      'a public address without its name',
      { ...production, ASSAY_HOST: '0.0.0.0' },
      ['ASSAY_BASE_URL is required when ASSAY_HOST is not a loopback address'],
    ],
    [
      'plain http that is not on loopback',
      { ...production, ASSAY_BASE_URL: 'http://api.example', ASSAY_WIDGET_URL: 'http://connect.example' },
      [
        'ASSAY_BASE_URL must be https, or http on a loopback address, got "http://api.example"',
        'ASSAY_WIDGET_URL must be https, or http on a loopback address, got "http://connect.example"',
      ],
    ],
    [
      'simulated providers in production',
      { ...production, ASSAY_SANDBOX_URL: 'http://127.0.0.1:4200' },
      ['ASSAY_SANDBOX_URL is for ASSAY_MODE=sandbox only'],
    ],
    [
      'a sandbox that others could reach',
      { ASSAY_MODE: 'sandbox', ASSAY_HOST: '0.0.0.0' },
      ['ASSAY_HOST must be a loopback address in sandbox mode, got "0.0.0.0"'],
    ],
    [
      'simulated providers on another machine',
      { ASSAY_MODE: 'sandbox', ASSAY_SANDBOX_URL: 'http://127.0.0.1.example:4200' },
      ['ASSAY_SANDBOX_URL must be on a loopback address'],
    ],
    [
      'a mail server without a sender',
      { ...production, ASSAY_SMTP_URL: 'smtp://mail.example' },
      ['ASSAY_SMTP_URL and ASSAY_MAIL_FROM must be given together'],
    ],
    [
      'a sender without a mail server',
      { ...production, ASSAY_MAIL_FROM: 'connect@example.com' },
      ['ASSAY_SMTP_URL and ASSAY_MAIL_FROM must be given together'],
    ],
  ]
  for (const [title, environment, expected] of contradictions) {
    it(`${title}: refused`, () => assert.deepEqual(problemsOf(environment), expected))
  }

  it('http is accepted on loopback, and https anywhere', () => {
    const urls = { ASSAY_BASE_URL: 'http://localhost:4000', ASSAY_AUTH_URL: 'https://auth.example' }
    assert.deepEqual(problemsOf({ ...production, ...urls, ASSAY_HOST: '0.0.0.0' }), [])
  })
})

describe('trusted proxies', () => {
  it('are addresses and networks; a network of all addresses is refused, because every caller could then choose its own address', () => {
    for (const value of ['10.0.0.1', '10.0.0.0/8, ::1', 'fd00::/8', '172.30.4.0/24']) {
      assert.deepEqual(problemsOf({ ...production, ASSAY_TRUSTED_PROXIES: value }), [], value)
    }
    for (const value of ['0.0.0.0/0', '::/0', '10.0.0.1,', 'true', '*', 'proxy.example', '10.0.0.0/33', '10.0.0.0/x']) {
      const [problem = '', ...others] = problemsOf({ ...production, ASSAY_TRUSTED_PROXIES: value })
      assert.match(problem, /^ASSAY_TRUSTED_PROXIES must be addresses or networks/, value)
      assert.deepEqual(others, [])
    }
  })
})
