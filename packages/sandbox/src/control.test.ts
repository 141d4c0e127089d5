import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { listen, type WireAnswer } from './core/serving/listener.ts'
import { startSandbox, type Sandbox } from './index.ts'
import { control, openAccount, send, startTestSandbox, type KrakenBody } from './testing/kraken-client.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await startTestSandbox()
})
after(() => sandbox.close())

describe('the control API', () => {
  it('lists the providers, where they listen and their scenarios', async () => {
    const { providers, prices_url } = (await control(sandbox, 'GET', 'providers')) as {
      providers: { provider_id: string; url: string; scenarios: object[] }[]
      prices_url: string
    }
    assert.deepEqual(
      providers.map(({ provider_id, url }) => [provider_id, url]),
      [
        ['kraken', sandbox.urls.kraken],
        ['binance', sandbox.urls.binance],
        ['coinbase', sandbox.urls.coinbase],
        ['bitcoin', sandbox.urls.bitcoin],
        ['evm', sandbox.urls.evm],
        ['bybit', sandbox.urls.bybit],
        ['okx', sandbox.urls.okx],
        ['bitfinex', sandbox.urls.bitfinex],
        ['solana', sandbox.urls.solana],
      ],
    )
    assert.equal(prices_url, sandbox.urls.coingecko)
    assert.deepEqual(Object.keys(providers[0]?.scenarios[0] ?? {}), ['name', 'title', 'description', 'expects'])
  })

  it('mints the same key for the same account, and another for every other', async () => {
    const keys = [
      await openAccount(sandbox, 'default', 'nora'),
      await openAccount(sandbox, 'default', 'nora'),
      await openAccount(sandbox, 'default', 'olaf'),
      await openAccount(sandbox, 'empty', 'nora'),
    ].map((account) => account.apiKey)
    assert.equal(keys[0], keys[1])
    assert.equal(new Set(keys).size, 3)
  })

  it('is not needed for a key to work: a new process with the same seed knows it and holds the same data', async () => {
    const account = await openAccount(sandbox, 'default', 'survivor')
    const ask = async (of: Sandbox, nonce: string): Promise<KrakenBody> =>
      (await (await send(of, account, 'Ledgers', { nonce })).json()) as KrakenBody
    const [next, stranger] = [await startTestSandbox(), await startTestSandbox({ seed: 'another seed' })]
    try {
      assert.deepEqual(await ask(next, '900000001'), await ask(sandbox, '900000001'))
      assert.deepEqual((await ask(stranger, '900000001')).error, ['EAPI:Invalid key'])
      const state = (await control(next, 'GET', `accounts/${account.accountId}/state`)) as { scenario: string }
      assert.equal(state.scenario, 'default', 'nor does the account id need the process that gave it')
    } finally {
      await Promise.all([next.close(), stranger.close()])
    }
  })

  it('books further entries under one reference, at the given time, and the balance follows', async () => {
    const account = await openAccount(sandbox, 'empty', 'entries')
    const first = await control(sandbox, 'POST', `accounts/${account.accountId}/entries`, {
      entries: [{ type: 'deposit', asset: 'EUR', amount: '100.5', time: '2026-11-01T08:00:00.123Z' }],
    })
    const pair = (await control(sandbox, 'POST', `accounts/${account.accountId}/entries`, {
      entries: [
        { type: 'spend', asset: 'ZEUR', amount: '-50', fee: '0.5' },
        { type: 'receive', asset: 'XBT', amount: '0.0005' },
      ],
    })) as { ids: string[] }
    const { result } = await account.ask('Ledgers')
    const ledger = (result as { ledger: Record<string, { refid: string; time: number }> }).ledger
    assert.deepEqual(Object.keys(ledger).toSorted(), [...(first as { ids: string[] }).ids, ...pair.ids].toSorted())
    assert.equal(new Set(pair.ids.map((id) => ledger[id]?.refid)).size, 1)
    assert.equal(Object.values(ledger).at(-1)?.time, 1_793_520_000.123)
    assert.deepEqual((await account.ask('Balance')).result, { ZEUR: '50.0000', XXBT: '0.0005000000' })
  })

  it('refuses entries that would make balances differ from their sums, and changes nothing', async () => {
    const account = await openAccount(sandbox, 'empty', 'law')
    const entries = [{ type: 'withdrawal', asset: 'ZEUR', amount: '-1' }]
    await assert.rejects(
      control(sandbox, 'POST', `accounts/${account.accountId}/entries`, { entries }),
      /400.*would be -1\.0000/,
    )
    await assert.rejects(
      control(sandbox, 'POST', `accounts/${account.accountId}/entries`, {
        entries: [{ type: 'deposit', asset: 'no code', amount: '1' }],
      }),
      /400/,
    )
    assert.deepEqual((await account.ask('Balance')).result, {})
  })

  it('books unknown codes and types, with every digit', async () => {
    const minted = { provider_id: 'kraken', scenario: 'empty', account: 'inventor' }
    const { account_id: id } = (await control(sandbox, 'POST', 'accounts', minted)) as { account_id: string }
    for (const [asset, amount] of [
      ['ZNEW', '0.000000000000000001'],
      ['DOT.Q', '1000000000000000'],
    ] as const) {
      const entries = [{ type: 'teleport', asset, amount }]
      await control(sandbox, 'POST', `accounts/${id}/entries`, { entries })
    }
    const state = (await control(sandbox, 'GET', `accounts/${id}/state`)) as { balances: Record<string, string> }
    assert.deepEqual(state.balances, { ZNEW: '0.000000000000000001', 'DOT.Q': '1000000000000000' })
    assert.deepEqual(sandbox.controls.kraken.readAccount(id).balances, state.balances)
    const account = await openAccount(sandbox, 'empty', 'inventor')
    const { ledger } = (await account.ask('Ledgers')).result as { ledger: Record<string, Record<string, string>> }
    const [newest, oldest] = Object.values(ledger)
    assert.deepEqual([oldest?.['asset'], oldest?.['amount']], ['ZNEW', '0.000000000000000001'])
    assert.deepEqual([newest?.['type'], newest?.['amount']], ['teleport', '1000000000000000.000000000000000000'])
    const assets = (await (await fetch(`${sandbox.urls.kraken}/0/public/Assets`)).json()) as { result: object }
    assert.equal('ZNEW' in assets.result, false)
  })

  it('books under a given reference, only at Kraken', async () => {
    const account = await openAccount(sandbox, 'empty', 'references')
    const path = `accounts/${account.accountId}/entries`
    for (const refid of ['Unknown', 'TAAAAA-BBBBB-CCCCCC', 'Unknown']) {
      const entries = [{ type: 'earn', asset: 'ETH', amount: '1' }]
      await control(sandbox, 'POST', path, { entries, refid })
    }
    const { ledger } = (await account.ask('Ledgers')).result as { ledger: Record<string, { refid: string }> }
    assert.deepEqual(
      Object.values(ledger).map(({ refid }) => refid),
      ['Unknown', 'TAAAAA-BBBBB-CCCCCC', 'Unknown'],
    )
    for (const provider of ['coinbase', 'binance', 'bybit', 'okx', 'bitfinex']) {
      const minted = { provider_id: provider, scenario: 'empty', account: 'references' }
      const { account_id: id } = (await control(sandbox, 'POST', 'accounts', minted)) as { account_id: string }
      const entries = [{ type: 'deposit', asset: 'ETH', amount: '1' }]
      await assert.rejects(control(sandbox, 'POST', `accounts/${id}/entries`, { entries, refid: 'x' }), /400/)
    }
  })

  it('withdraws records as if they had never been booked, all of them or none', async () => {
    for (const provider of ['kraken', 'binance', 'bybit', 'okx', 'bitfinex']) {
      const minted = { provider_id: provider, scenario: 'empty', account: 'withdrawn' }
      const { account_id: id } = (await control(sandbox, 'POST', 'accounts', minted)) as { account_id: string }
      const ids: string[] = []
      for (const amount of ['1', '2', '4']) {
        const entries = [{ type: 'deposit', asset: 'SOL', amount }]
        const booked = (await control(sandbox, 'POST', `accounts/${id}/entries`, { entries })) as { ids: string[] }
        ids.push(...booked.ids)
      }
      const [first = '', second = '', third = ''] = ids
      const path = `accounts/${id}/withdrawn`
      const held = async (): Promise<string | undefined> => {
        const state = await control(sandbox, 'GET', `accounts/${id}/state`)
        return (state as { balances: Record<string, string> }).balances['SOL']
      }
      await assert.rejects(control(sandbox, 'POST', path, { ids: [first, 'nonsense'] }), /400/, provider)
      assert.equal(await held(), '7', provider)
      await control(sandbox, 'POST', path, { ids: [first, third] })
      assert.equal(await held(), '2', provider)
      await assert.rejects(control(sandbox, 'POST', path, { ids: [third] }), /400/, provider)
      await control(sandbox, 'POST', path, { ids: [second] })
      assert.equal(await held(), provider === 'kraken' ? '0' : undefined, provider)
    }
  })

  it('makes Kraken report a wrong count, too low or too high', async () => {
    const account = await openAccount(sandbox, 'default', 'counted wrong')
    const told = async (count: number): Promise<unknown[]> => {
      const fault = { kind: 'wrong_count', count, account_id: account.accountId, endpoint: 'Ledgers', times: 1 }
      await control(sandbox, 'POST', 'providers/kraken/faults', fault)
      const ask = async (): Promise<unknown> => ((await account.ask('Ledgers')).result as { count: number }).count
      return [await ask(), await ask()]
    }
    const { ledger } = (await control(sandbox, 'GET', `accounts/${account.accountId}/state`)) as { ledger: object[] }
    assert.deepEqual(await told(7), [7, ledger.length])
    assert.deepEqual(await told(100_000), [100_000, ledger.length])
  })

  it('counts calls by endpoint, account and outcome', async () => {
    const account = await openAccount(sandbox, 'empty', 'counted')
    await account.ask('Balance')
    await account.ask('Balance')
    await account.ask('Nonsense')
    const { requests } = (await control(sandbox, 'GET', `log?account_id=${account.accountId}`)) as {
      requests: object[]
    }
    const common = { provider_id: 'kraken', account_id: account.accountId, status: 200 }
    assert.deepEqual(requests, [
      { ...common, endpoint: '/0/private/Balance', error: null, count: 2 },
      { ...common, endpoint: '/0/private/Nonsense', error: 'EGeneral:Unknown method', count: 1 },
    ])
    const everything = JSON.stringify(await control(sandbox, 'GET', 'log'))
    assert.equal(everything.includes(account.apiKey) || everything.includes(account.secret), false)
  })

  it('moves the clock forward and never back', async () => {
    const own = await startTestSandbox({ now: () => Date.UTC(2026, 10, 15) })
    try {
      assert.deepEqual(await control(own, 'POST', 'clock', { offset_ms: 86_400_000 }), {
        offset_ms: 86_400_000,
        now: '2026-11-16T00:00:00.000Z',
      })
      await assert.rejects(control(own, 'POST', 'clock', { offset_ms: 1 }), /400.*only moves forward/)
    } finally {
      await own.close()
    }
  })

  it('answers 400 to a malformed request and 404 to an unknown object', async () => {
    await assert.rejects(
      control(sandbox, 'POST', 'accounts', { provider_id: 'kraken', account: 'x', scenario: 'nope' }),
      /404.*default, empty/,
    )
    await assert.rejects(control(sandbox, 'POST', 'accounts', { provider_id: 'nope', account: 'x' }), /404/)
    await assert.rejects(
      control(sandbox, 'POST', 'accounts', { provider_id: 'kraken' }),
      /400: {"error":"account: Invalid input/,
    )
    await assert.rejects(
      control(sandbox, 'POST', 'providers/kraken/faults', { kind: 'flood' }),
      /400.*"kind must be one of: http_429, .*down/,
    )
    await assert.rejects(control(sandbox, 'GET', 'accounts/kraken.default.zz/state'), /404/)
    await assert.rejects(control(sandbox, 'POST', 'providers/nope/faults', { kind: 'down' }), /404/)
    await assert.rejects(control(sandbox, 'GET', 'constructor'), /404/)
    const broken = await fetch(`${sandbox.controlUrl}/control/accounts`, { method: 'POST', body: '{' })
    assert.equal(broken.status, 400)
    assert.equal((await fetch(`${sandbox.controlUrl}/control/accounts/%zz/state`)).status, 400)
  })
})

describe('the listeners', () => {
  it('do not let a web page control anything', async () => {
    const headers = { origin: 'https://evil.example' }
    const body = JSON.stringify({ offset_ms: 86_400_000 })
    assert.equal((await fetch(`${sandbox.controlUrl}/control/clock`, { method: 'POST', headers, body })).status, 403)
  })

  it('refuse to listen beyond this machine', async () => {
    await assert.rejects(
      startSandbox({ seed: 's', pace: 'fast', log: () => undefined, host: '0.0.0.0' }),
      /loopback only/,
    )
  })

  it('answer only to a loopback name', async () => {
    const { port } = new URL(sandbox.controlUrl)
    const status = await new Promise((resolve, reject) => {
      const asked = request({ host: '127.0.0.1', port, path: '/control/providers', headers: { host: 'evil.example' } })
      asked.on('response', (response) => resolve(response.statusCode)).on('error', reject)
      asked.end()
    })
    assert.equal(status, 421)
  })

  it('answer every request, however malformed, without a bug', async () => {
    const bugs: unknown[] = []
    const own = await startTestSandbox({ log: (_, fields) => bugs.push(fields) })
    try {
      for (const url of [own.controlUrl, ...Object.values(own.urls)]) {
        for (const target of hostileTargets) {
          for (const method of ['GET', 'POST', 'DELETE', 'constructor']) {
            const answer = await sendRaw(url, `${method} ${target} HTTP/1.1\r\n${hostAndClose}\r\n`)
            assert.match(answer, /^HTTP\/1\.1 [1245]\d\d /, `${method} ${target}`)
            assert.doesNotMatch(answer, /^HTTP\/1\.1 500 /, `${method} ${target}`)
          }
        }
      }
      assert.deepEqual(bugs, [])
    } finally {
      await own.close()
    }
  })

  it('do not mistake a property that every object has for one of their own names', async () => {
    const bugs: unknown[] = []
    const own = await startTestSandbox({ log: (_, fields) => bugs.push(fields) })
    try {
      const account = await openAccount(own, 'default')
      for (const name of ['constructor', '__proto__', 'toString']) {
        for (const method of ['Ledgers', 'QueryLedgers', 'TradesHistory', 'DepositStatus', 'WithdrawStatus', name]) {
          for (const parameter of ['type', 'asset', 'start', 'end', 'ofs', 'id', 'cursor', 'method', 'limit', name]) {
            assert.equal((await account.call(method, { [parameter]: name })).status, 200, `${method} ${parameter}`)
          }
        }
        const entry = { type: name, subtype: name, asset: name, amount: name }
        const entries = [entry, { ...entry, asset: 'ZEUR' }, { ...entry, asset: 'ZEUR', amount: '1', fee: name }]
        for (const wrong of entries) {
          const booked = control(own, 'POST', `accounts/${account.accountId}/entries`, { entries: [wrong] })
          await assert.rejects(booked, /^Error: 400: /, JSON.stringify(wrong))
        }
      }
      assert.deepEqual(bugs, [])
    } finally {
      await own.close()
    }
  })
})

describe('a listener', () => {
  it('leaves it to the caller when to close an idle connection', async () => {
    const listener = await listen('127.0.0.1', 0, async () => ({ status: 200, body: '{}' }), assert.ifError)
    try {
      const { headers } = await fetch(listener.url)
      assert.deepEqual([headers.get('connection'), headers.get('keep-alive')], ['keep-alive', null])
    } finally {
      await listener.close()
    }
  })

  it('answers 500 to a request that meets a bug, reports it, and serves the next', async () => {
    const bugs: unknown[] = []
    let calls = 0
    const answer = async (): Promise<WireAnswer> => {
      calls += 1
      if (calls === 1) throw new TypeError('a bug')
      // A header that cannot be written: the bug shows only when the answer is sent.
      if (calls === 2) return { status: 200, headers: { location: 'a\nb' }, body: '' }
      return { status: 200, body: '{}' }
    }
    const listener = await listen('127.0.0.1', 0, answer, (error) => bugs.push(error))
    try {
      const statuses = []
      for (let call = 0; call < 3; call += 1) statuses.push((await fetch(listener.url)).status)
      assert.deepEqual(statuses, [500, 500, 200])
      assert.equal(bugs.length, 2)
    } finally {
      await listener.close()
    }
  })
})

const hostAndClose = 'Host: 127.0.0.1\r\nConnection: close\r\n'
const hostileTargets = [
  '/',
  '//',
  '//[',
  'http://[',
  '*',
  '/%',
  '/%ff',
  '/%00',
  '/control/accounts/%ff/state',
  '/control/accounts/%c3%28/entries',
  '/control/providers/__proto__/faults',
  '/control/providers/constructor/faults',
  '/control/constructor',
  '/control/log?account_id=__proto__',
  '/0/public/constructor',
  '/0/public/Assets?asset=constructor',
  '/0/public/Ticker?pair=__proto__',
  '/0/private/__proto__',
  '/v1/constructor',
  '/api/v3/exchangeInfo?symbol=constructor',
  '/api/v3/exchangeInfo?symbols=%5B%22__proto__%22%5D',
  '/api/v3/constructor',
  '/sapi/v1/__proto__',
  '/oauth/authorize?client_id=constructor&scope=__proto__&redirect_uri=http://[',
  '/oauth/token?grant_type=constructor',
  '/api/v3/coins/%ff/market_chart/range?vs_currency=usd&from=0&to=1',
  '/api/v3/coins/constructor/market_chart/range?vs_currency=constructor&from=0&to=1',
  '/api/v3/coins/bitcoin/market_chart/range?vs_currency=usd&from=0&to=99999999999',
  '/api/v3/simple/price?ids=__proto__,bitcoin&vs_currencies=constructor,usd',
]

async function sendRaw(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end(bytes)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}
