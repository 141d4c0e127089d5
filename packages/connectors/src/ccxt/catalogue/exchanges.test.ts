import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import ccxt from 'ccxt'
import { loadExchange } from '../../kit/ccxt.ts'
import { findAbout } from './abouts.ts'
import { ccxtDefinitions } from './definitions.ts'
import { exchanges } from './exchanges.ts'
import { generateExchanges, leftOut } from './generate.ts'
import { listReadLists } from './lists.ts'
import { registeredKeyPairs } from './probe.ts'

describe('the facts about exchanges', () => {
  it('match the installed ccxt; otherwise run generate.ts', async () => {
    assert.equal(readFileSync(new URL('exchanges.ts', import.meta.url), 'utf8'), await generateExchanges())
  })

  it('cover every exchange of ccxt, or say why not', () => {
    const known = [...exchanges.map(({ id }) => id), ...Object.keys(leftOut)].toSorted()
    assert.deepEqual(known, [...(ccxt as unknown as { exchanges: string[] }).exchanges].toSorted())
  })

  it('name exchanges that can be loaded one at a time', async () => {
    const classes = ccxt as unknown as Record<string, unknown>
    for (const id of ['kraken', ...exchanges.map((facts) => facts.id)]) {
      assert.equal(await loadExchange(id), classes[id], id)
    }
  })

  it('never ask for an account password, and ask for a private key only where it is half of an API key', () => {
    const asking = (name: RegExp): string[] =>
      exchanges.filter(({ credentials }) => credentials.some((asked) => name.test(asked))).map(({ id }) => id)
    assert.deepEqual(asking(/login/i), [])
    assert.deepEqual(asking(/private/i), [...registeredKeyPairs])
  })

  it('name endpoints that ccxt has', () => {
    for (const { id } of exchanges) {
      const { rights } = findAbout(id)
      if (rights === undefined) continue
      const exchangeClass = (ccxt as unknown as Record<string, new () => Record<string, unknown>>)[id]
      assert.ok(exchangeClass !== undefined)
      assert.equal(typeof new exchangeClass()[rights.endpoint], 'function', `${id} ${rights.endpoint}`)
    }
  })

  it('correct only lists that the exchange has', () => {
    for (const facts of exchanges) {
      const streams = facts.lists.map(({ stream }) => stream)
      for (const stream of Object.keys(findAbout(facts.id).lists ?? {})) {
        assert.ok((streams as string[]).includes(stream), `${facts.id} has no ${stream}`)
      }
    }
  })

  it('what an exchange leaves out of a list is in its coverage and in the catalogue', () => {
    const fiat = /Fiat deposits and withdrawals at .* are not read\./
    const gaps = [
      ['bitflyer', ['deposits', 'withdrawals'], /Deposits and withdrawals of yen at bitFlyer are not read\./],
      ['bitget', ['deposits', 'withdrawals'], fiat],
      ['bithumb', ['deposits', 'withdrawals'], /Deposits and withdrawals of won at Bithumb are not read\./],
      ['bybit', ['deposits'], /Deposits from other Bybit accounts are not read\./],
      ['bydfi', ['trades'], /Spot trades at BYDFi are not read\./],
      ['cryptocom', ['deposits', 'withdrawals'], fiat],
      ['hyperliquid', ['trades'], /Hyperliquid reports only the 10,000 most recent trades\./],
      ['kucoin', ['trades'], /KuCoin may not list trades that are more than a year old\./],
      ['lbank', ['trades'], /LBank lists at most 100 trades of a pair within two days\./],
    ] as const
    for (const [id, streams, told] of gaps) {
      const definition = ccxtDefinitions.find(({ metadata }) => metadata.provider_id === id)
      const limits = definition?.metadata.known_limits.filter((limit) => told.test(limit))
      assert.equal(limits?.length, 1, id)
      for (const stream of streams) {
        const { providerLimit, remedy } = definition?.streams.find(({ name }) => name === stream) ?? {}
        assert.match(providerLimit ?? '', told, `${id} ${stream}`)
        assert.notEqual(remedy, null, `${id} ${stream}`)
      }
    }
  })

  it('movements that ccxt gives no currency are not read', () => {
    const hyperliquid = ccxtDefinitions.find(({ metadata }) => metadata.provider_id === 'hyperliquid')
    assert.deepEqual(
      hyperliquid?.streams.map(({ name }) => name),
      ['trades'],
    )
    assert.deepEqual(
      ['Transfers, and profits', 'Some or all deposits and withdrawals'].map(
        (limit) => hyperliquid.metadata.known_limits.filter((known) => known.includes(limit)).length,
      ),
      [1, 1],
    )
  })

  it('assets in other wallets may not be shown, unless the exchange’s own limits are clear about them', () => {
    const told =
      'Assets that are staked, lent, or held in a margin or futures wallet are shown only if the exchange includes them in the balance.'
    const clear = ccxtDefinitions.filter(({ metadata }) => !metadata.known_limits.includes(told))
    assert.deepEqual(
      clear.map(({ metadata }) => metadata.provider_id),
      ['binancecoinm', 'binanceusdm', 'bitfinex', 'krakenfutures', 'kucoin', 'kucoinfutures', 'whitebit'],
    )
  })

  it('a list that ends silently, or has a retention limit, declares it', () => {
    for (const facts of exchanges) {
      const definition = ccxtDefinitions.find(({ metadata }) => metadata.provider_id === facts.id)
      for (const list of listReadLists(facts)) {
        const stream = definition?.streams.find(({ name }) => name === list.stream)
        const isLossless = list.isWhole && list.retentionDays === null && list.leavesOut === null
        assert.equal(stream?.providerLimit === null, isLossless, `${facts.id} ${list.stream}`)
      }
    }
  })
})
