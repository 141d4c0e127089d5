import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { SourceError } from '@assay/core'
import { listHosts, listOrigins, restrictFetch } from './hosts.ts'
import type { Credentials, Io } from './kit/connector.ts'
import type { ProviderDefinition } from './kit/definition.ts'
import { definitions, loadConnector } from './registry.ts'

const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'sec1', format: 'pem' })
const secrets: Readonly<Record<string, string>> = { coinbase: String(pem) }
const addresses: Readonly<Record<string, string>> = {
  bitcoin: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa',
  solana: 'So11111111111111111111111111111111111111112',
}

function listCredentials({ metadata, signIn }: ProviderDefinition): Credentials[] {
  const { provider_id: id, connection_types: types } = metadata
  const secretKey = secrets[id] ?? 'QUJD'.repeat(16)
  const address = addresses[id] ?? `0x${'1'.repeat(40)}`
  return [
    ...(types.includes('api_key')
      ? [{ type: 'api_key' as const, apiKey: 'k'.repeat(64), secretKey, passphrase: '1' }]
      : []),
    ...(types.includes('wallet') ? [{ type: 'wallet' as const, address }] : []),
    ...(signIn === undefined ? [] : [{ type: 'oauth2' as const, getToken: async () => 'token' }]),
  ]
}

/** Everything a connector asks for until the empty answers stop it, with no host refused. */
async function listCalled(definition: ProviderDefinition): Promise<Set<string>> {
  const called = new Set<string>()
  let nonce = 0
  const io: Io = {
    async fetch(input) {
      called.add(new URL(input instanceof Request ? input.url : input).origin)
      return new Response('{}')
    },
    now: () => Date.UTC(2026, 0, 1),
    nextNonce: () => String((nonce += 1)),
    baseUrl: undefined,
  }
  const connector = await loadConnector(definition.metadata.provider_id)
  for (const credentials of listCredentials(definition)) {
    const reader = connector.open(credentials, io)
    const window = { start: Date.UTC(2025, 0, 1), end: Date.UTC(2025, 0, 2) }
    const pages = definition.streams.map(({ name, unit }) =>
      reader.fetchPage({
        ...{ stream: name, partition: definition.metadata.provider_id === 'evm' ? '1' : 'BTC/USDT' },
        ...{ window: { unit, ...window }, pageMark: null, lastingMark: null, state: {} },
      }),
    )
    const ended = await Promise.allSettled([reader.verify(), reader.fetchBalances({}), ...pages])
    assert.ok(ended.length > 2)
  }
  return called
}

describe('the list of hosts', () => {
  it('has every host that a connector calls', async () => {
    const named = new Set(listHosts().map(({ host }) => `https://${host}`))
    for (const definition of definitions) {
      const origins = listOrigins(definition, { baseUrl: undefined })
      const called = [...(await listCalled(definition))]
      assert.ok(called.length > 0, `${definition.metadata.provider_id} called nothing`)
      for (const origin of called) {
        assert.ok(origins.includes(origin), `${definition.metadata.provider_id} calls ${origin}`)
        assert.ok(named.has(origin), origin)
      }
    }
  })

  it('names what each host is called for, and nodes that the operator has chosen', () => {
    const hosts = new Map(listHosts({ 'evm:1': { rpc: 'http://10.0.0.7:8545' } }).map((one) => [one.host, one.for]))
    assert.deepEqual(hosts.get('api.kraken.com'), ['kraken'])
    assert.deepEqual(hosts.get('login.coinbase.com'), ['coinbase'])
    assert.deepEqual(hosts.get('api.coingecko.com'), ['prices'])
    assert.deepEqual(hosts.get('10.0.0.7:8545'), ['evm'])
    assert.equal(hosts.has('127.0.0.1'), false)
  })

  it('a simulator takes the place of every host of its provider', () => {
    for (const definition of definitions) {
      assert.deepEqual(listOrigins(definition, { baseUrl: 'http://127.0.0.1:4201/x' }), ['http://127.0.0.1:4201'])
    }
  })
})

describe('a restricted fetch', () => {
  const sent: string[] = []
  const fetch = restrictFetch(
    async (input) => {
      sent.push(input instanceof Request ? input.url : String(input))
      return new Response('')
    },
    ['https://api.example'],
  )

  it('calls the hosts it may call', async () => {
    for (const url of [
      'https://api.example/x',
      new URL('https://api.example/y'),
      new Request('https://api.example/z'),
    ]) {
      await fetch(url)
    }
    assert.deepEqual(sent.splice(0), ['https://api.example/x', 'https://api.example/y', 'https://api.example/z'])
  })

  for (const url of [
    'http://api.example/x',
    'https://api.example:8443/x',
    'https://api.example.evil/x',
    'https://api.example@evil/x',
    'https://evil/https://api.example',
    new Request('https://other.example/?key=hush'),
  ]) {
    it(`refuses ${url instanceof Request ? url.url : url} and quotes nothing but its host`, async () => {
      await assert.rejects(fetch(url), (error) => error instanceof SourceError && !error.message.includes('hush'))
      assert.deepEqual(sent, [])
    })
  }
})
