/** Verifying a wallet and reading its balances, against a chain on loopback (test-chain.ts). */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { findAssetByContract, isKnownAsset, SourceError } from '@assay/core'
import type { Balances, ConnectorState, AccountReader } from '../kit/connector.ts'
import { chains } from './chains.ts'
import { connector } from './connector.ts'
import { evmDefinition } from './definition.ts'
import { startChain, type TestChain } from './test-chain.ts'
import {
  address,
  own,
  coin,
  picture,
  game,
  weth,
  openWallet,
  row,
  word,
  balanceOf,
  hold,
  readToEnd,
  isFault,
  callsMax,
} from './test-wallet.ts'

describe('verifying a wallet', () => {
  it('an address is a wallet without excessive or missing rights, and every spelling is the same wallet', async (t) => {
    const { chain, reader } = await openWallet(t)
    const account = await reader.verify()
    assert.deepEqual([account.excess, account.missing, account.keyExpiresAtMs], [[], [], null])
    for (const spelled of [own, `ethereum:${address}@1`]) {
      const other = connector.open({ type: 'wallet', address: spelled }, chain.io)
      assert.equal((await other.verify()).fingerprint, account.fingerprint)
    }
    assert.deepEqual([...(connector.ownAddresses?.(account.state ?? {}) ?? [])], [own])
  })

  for (const [name, given] of [
    ['a wrong checksum', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'.replace('aA', 'Aa')],
    ['one character too few', address.slice(0, -1)],
    ['another kind of address', '1BoatSLRHtKNngkdXEeobR76b53LETtpyT'],
    ['nothing', ''],
  ] as const) {
    it(`${name} is refused`, async (t) => {
      const { reader } = await openWallet(t, { address: given })
      await assert.rejects(reader.verify(), isFault('invalid_credentials'))
    })
  }

  it('the checksum of EIP-55 is accepted', async (t) => {
    const { reader } = await openWallet(t, { address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' })
    await reader.verify()
  })

  it('a contract is refused, and a wallet that has delegated to code is not (EIP-7702)', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.codes.set(own, '0x6080604052')
    await assert.rejects(reader.verify(), (error) => {
      assert.ok(error instanceof SourceError)
      assert.deepEqual([error.fault, error.reason], ['invalid_credentials', 'contract_address'])
      return true
    })
    chain.codes.set(own, `0xef0100${'ab'.repeat(20)}`)
    await reader.verify()
  })

  it('chains that were used are the lists to read; a choice of networks leaves out the others', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const { state = {} } = await reader.verify()
    const listed = (await reader.listPartitions?.(state)) ?? []
    assert.deepEqual([...new Set(listed.map(({ partition }) => partition))], ['1'])
    assert.equal(listed.length, 6)
    const onBase = connector.open({ type: 'wallet', address, networks: ['base'] }, chain.io)
    assert.deepEqual(await onBase.listPartitions?.((await onBase.verify()).state ?? {}), [])
    const nowhere = connector.open({ type: 'wallet', address, networks: ['atlantis'] }, chain.io)
    await assert.rejects(nowhere.verify(), isFault('invalid_credentials'))
  })

  it('a wallet that was only ever sent a token is in use', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.lists.set('token1155tx', [row(13, game, { tokenID: '1', tokenValue: '9' })])
    const { state = {} } = await reader.verify()
    assert.notDeepEqual(await reader.listPartitions?.(state), [])
  })
})

describe('lists', () => {
  it('are open to strangers, except for the withdrawals of validators', () => {
    const closed = evmDefinition.streams.filter((stream) => stream.openToStrangers !== true)
    assert.deepEqual(
      closed.map(({ name }) => name),
      ['withdrawals'],
    )
  })
})

describe('balances', () => {
  it('come from the chain, to the last digit, for everything that the wallet has met', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const { balances } = await reader.fetchBalances({})
    assert.deepEqual(
      balances.map(({ assetId, liquid }) => `${liquid} ${assetId}`).toSorted(),
      [
        '1.000000000000000001 crypto:ethereum',
        `1 evm:1:${picture}:7`,
        `2.5 evm:1:${coin}`,
        `4 evm:1:${game}:1`,
        ...balances.filter(({ symbol }) => symbol === 'WETH').map(({ assetId }) => `0.000000000000000003 ${assetId}`),
      ].toSorted(),
    )
    assert.equal(balances.length, 5)
  })

  it('that grow without a transfer are of tokens that the registry knows on a chain', () => {
    const { rebasing } = evmDefinition
    assert.deepEqual(
      rebasing.filter((assetId) => !isKnownAsset(assetId)),
      [],
    )
    const contracts = [
      ['evm:1', '0xae7ab96520de3a18e5e111b5eaab095312d7fe84'],
      ['evm:1', '0x2a8e1e676ec238d8a992307b495b45b3feaa5e86'],
      ['evm:1', '0x856c4efb76c1d1ae02e20ceb03a2a6a08b0b8dc3'],
      ['evm:1', '0xfad45e47083e4607302aa43c65fb3106f1cd7607'],
      ['evm:1', '0xa2b4c0af19cc16a6cfacce81f192b024d625817d'],
      ['evm:1', '0xce3f08e664693ca792cace4af1364d5e220827b2'],
      ['evm:1', '0xcd7492db29e2ab436e819b249452ee1bbdf52214'],
      ['evm:56', '0x42981d0bfbaf196529376ee702f2a9eb9092fcb5'],
      ['evm:56', '0x3ad9594151886ce8538c1ff615efa2385a8c3a88'],
      ['evm:56', '0xbededdf2ef49e87037c4fb2ca34d1ff3d3992a11'],
      ['evm:43114', '0x6e7f5c0b9f4432716bdd0a77a3601291b9d9e985'],
      ['evm:1', '0x0aacfbec6a24756c20d41914f2caba817c0d8521'],
      ['evm:137', '0x62f594339830b90ae4c084ae7d223ffafd9658a7'],
    ] as const
    const found = contracts.map(([chain, contract]) => findAssetByContract(chain, contract)?.assetId)
    assert.deepEqual(found, rebasing)
  })

  it('known tokens are remembered, and the index is queried only for new ones', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const { state = {}, balances } = await reader.fetchBalances({})
    chain.lists.clear()
    const again = await reader.fetchBalances(state)
    assert.deepEqual(again.balances, balances)
    assert.equal(again.state, undefined)
    const asked = chain.questions.filter((query) => query.get('action') === 'tokentx').at(-1)
    assert.equal(asked?.get('startblock'), String(20_000 - 2 * 64))
  })

  it('a token behind blocks that fill whole pages is found', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const many = Array.from({ length: 3_000 }, (_, index) => row(10 + Math.floor(index / 1_000), weth, { value: '1' }))
    chain.lists.set('tokentx', [...many, row(14, coin, { value: '5' })])
    const { balances } = await readToEnd(reader)
    assert.ok(balances.some(({ assetId }) => assetId === `evm:1:${coin}`))
  })

  it('a token behind many rows is found where an index gives fewer rows for a page than requested', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    chain.rowsMax = 100
    const many = Array.from({ length: 1_500 }, (_, index) => row(10 + index, weth, { value: '1' }))
    chain.lists.set('tokentx', [...many, row(1_600, coin, { value: '5' })])
    let state: ConnectorState = {}
    // The rest of a long list is left to the next round.
    for (let rounds = 0; rounds < 3; rounds += 1) ({ state = {} } = await readToEnd(reader, { state }))
    const { balances } = await readToEnd(reader, { state })
    assert.ok(balances.some(({ assetId }) => assetId === `evm:1:${coin}`))
  })

  it('are read to their end where a round takes more calls than ever come through in a row', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const expected = await reader.fetchBalances({})
    const { state: verified = {} } = await reader.verify()
    let calls = 0
    const flaky: typeof fetch = async (given, init) => {
      calls += 1
      return calls % 10 === 0 ? new Response('', { status: 503 }) : fetch(given, init)
    }
    const { balances, state } = await readToEnd(
      connector.open({ type: 'wallet', address }, { ...chain.io, fetch: flaky }),
      { state: verified, isPatient: true },
    )
    assert.ok(calls > 10, 'no call was lost')
    assert.deepEqual([balances, state], [expected.balances, expected.state])
  })

  it('of an interrupted round are not read again within an hour, and not used after it', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const { state = {} } = await reader.fetchBalances({})
    const lost: typeof fetch = async (given, init) =>
      typeof init?.body === 'string' && init.body.includes('eth_call')
        ? new Response('', { status: 503 })
        : fetch(given, init)
    const interrupted = connector.open({ type: 'wallet', address }, { ...chain.io, fetch: lost })
    const part = await interrupted.fetchBalances(state)
    assert.deepEqual([part.isPartial, part.balances], [true, []])
    const asked = chain.questions.length
    assert.equal((await readToEnd(reader, part)).balances.length, 5)
    assert.equal(chain.questions.length, asked)
    chain.nowMs += 3_600_000
    assert.equal((await readToEnd(reader, part)).balances.length, 5)
    assert.ok(chain.questions.length > asked)
  })

  it('of the only chain in use are not replaced while it does not answer; a chain that was never used may fail', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const { state = {} } = await reader.fetchBalances({})
    const away = (id: number): AccountReader => {
      const url = `${chain.io.baseUrl ?? ''}/rpc/${id}`
      const fails: typeof fetch = async (given, init) =>
        given === url ? new Response('', { status: 503 }) : fetch(given, init)
      return connector.open({ type: 'wallet', address }, { ...chain.io, fetch: fails })
    }
    const { balances, isPartial, failed } = await away(1).fetchBalances(state)
    assert.deepEqual([balances, isPartial], [[], true])
    assert.deepEqual(
      failed?.map(({ partition, error }) => [partition, error.fault]),
      [['1', 'venue_down']],
    )
    assert.equal((await away(8453).fetchBalances(state)).balances.length, 5)
  })

  it('of a chain that is away stay as they were last read, those of the others are new, and its history waits for them', async (t) => {
    const { chain } = await openWallet(t)
    const base = await startChain(t)
    base.chainId = 8453
    const switches = { isAway: false }
    // Base is a chain of its own, behind the addresses at which the connector expects it.
    const route: typeof fetch = async (given, init) => {
      const { pathname, search } = new URL(new Request(given).url)
      if (!pathname.includes('/8453')) return fetch(given, init)
      if (switches.isAway) return new Response('', { status: 503 })
      return fetch(`${base.io.baseUrl ?? ''}${pathname.replace('/8453', '/1')}${search}`, init)
    }
    const reader = connector.open({ type: 'wallet', address }, { ...chain.io, fetch: route })
    const ether = async (from: ConnectorState): Promise<{ amount: string | undefined; read: Balances }> => {
      let [state, read] = [from, await reader.fetchBalances(from)]
      while (read.isPartial === true && read.failed === undefined) {
        state = read.state ?? state
        read = await reader.fetchBalances(state)
      }
      const amount = read.balances.find(({ assetId }) => assetId === 'crypto:ethereum')?.liquid
      return { amount, read: { ...read, state: read.state ?? state } }
    }
    hold(chain)
    chain.balances.set(own, 1_000_000_000_000_000_000n)
    base.balances.set(own, 20_000_000_000_000_000_000n)
    const whole = await ether({})
    assert.deepEqual([whole.amount, whole.read.failed], ['21', undefined])

    switches.isAway = true
    chain.balances.set(own, 3_000_000_000_000_000_000n)
    base.balances.set(own, 50_000_000_000_000_000_000n)
    const partly = await ether(whole.read.state ?? {})
    assert.equal(partly.amount, '23')
    assert.deepEqual(
      partly.read.failed?.map(({ partition, error }) => [partition, error.fault]),
      [['8453', 'venue_down']],
    )
    const again = await ether(partly.read.state ?? {})
    assert.equal(again.amount, '23')

    switches.isAway = false
    const { state = {} } = again.read
    assert.equal((await reader.fetchHeight?.('erc20', '1', state))?.height, 20_000)
    await assert.rejects(async () => reader.fetchHeight?.('erc20', '8453', state), isFault('venue_down'))
    const back = await ether(state)
    assert.deepEqual([back.amount, back.read.failed], ['53', undefined])
    assert.equal((await reader.fetchHeight?.('erc20', '8453', back.read.state ?? {}))?.height, 20_000)
    // Nothing is written again while nothing changes.
    assert.equal((await reader.fetchBalances(back.read.state ?? {})).state, undefined)
  })

  it('are read behind chains that fail and use up what one call may ask', async (t) => {
    const { chain } = await openWallet(t)
    hold(chain)
    const hosts = new Map([
      ['ethereum', 1],
      ['base', 8453],
      ['optimism', 10],
    ])
    const chainUrls = Object.fromEntries(
      [...hosts].map(([name, id]) => [
        `evm:${id}`,
        { rpc: `http://${name}/rpc/1`, index: `http://${name}/index/1/api` },
      ]),
    )
    // The index of the first two says how far it is, and gives no list of tokens.
    const route: typeof fetch = async (given, init) => {
      const { host, pathname, search } = new URL(new Request(given).url)
      if (host !== 'optimism' && /action=token/.test(search)) return new Response('', { status: 503 })
      chain.chainId = hosts.get(host) ?? 0
      return fetch(`${chain.io.baseUrl ?? ''}${pathname}${search}`, init)
    }
    const networks = [...hosts.keys()]
    const io = { ...chain.io, baseUrl: undefined, chainUrls, fetch: route }
    const several = connector.open({ type: 'wallet', address, networks }, io)
    let [state, read] = [{}, await several.fetchBalances({})] as [ConnectorState, Balances]
    for (let calls = 1; read.isPartial === true && read.failed === undefined; calls += 1) {
      assert.ok(calls < callsMax, 'the round does not end')
      state = read.state ?? state
      read = await several.fetchBalances(state)
    }
    assert.deepEqual(
      read.failed?.map(({ partition }) => partition),
      ['1', '8453'],
    )
    assert.equal(read.balances.find(({ assetId }) => assetId === 'crypto:ethereum')?.liquid, '1.000000000000000001')
  })

  it('of a chain that has not answered since the wallet was connected are missing by name, until it answers', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const onlyEthereum: typeof fetch = async (given, init) =>
      new Request(given).url.includes('/8453') ? new Response('', { status: 502 }) : fetch(given, init)
    const away = connector.open({ type: 'wallet', address }, { ...chain.io, fetch: onlyEthereum })
    const { state: verified = {} } = await away.verify()
    const { balances, failed, state = {} } = await away.fetchBalances(verified)
    assert.equal(balances.length, 5)
    assert.deepEqual(
      failed?.map(({ partition, error }) => [partition, error.fault, error.unread]),
      [['8453', 'data_hole', ['Base']]],
    )
    const listChains = async (of: ConnectorState) =>
      new Set((await reader.listPartitions?.(of))?.map(({ partition }) => partition))
    assert.deepEqual(await listChains(state), new Set(['1', '8453']))
    assert.equal((await away.fetchHeight?.('erc20', '1', state))?.height, 20_000)
    // Also while the chain answers again: its history is read after its balances.
    for (const one of [away, reader]) {
      await assert.rejects(
        async () => one.fetchHeight?.('erc20', '8453', state),
        (error) => {
          assert.ok(error instanceof SourceError)
          assert.deepEqual([error.fault, error.unread], ['data_hole', ['Base']])
          return true
        },
      )
    }
    const { state: complete = {} } = await readToEnd(reader, { state })
    assert.deepEqual(await listChains(complete), new Set(['1']))
  })

  for (const [code, message, status] of [
    [-32_000, 'execution aborted (timeout = 5s)', 200],
    [-32_000, 'invalid jump destination', 200],
    [-32_000, 'stack underflow (0 <=> 1)', 200],
    [-32_015, 'VM execution error.', 200],
    [-32_020, 'backend response too large', 200],
    [-32_020, 'backend response too large', 500],
    [-32_000, 'words that are not known here', 413],
  ] as const) {
    for (const hasMulticall of [false, true]) {
      const how = `${hasMulticall ? 'in a group' : 'alone'}, with HTTP ${status} and "${message}"`
      it(`of a token whose contract ends the call ${how} are left out, and all others are read`, async (t) => {
        const { chain, reader } = await openWallet(t)
        hold(chain)
        chain.hasMulticall = hasMulticall
        chain.errors.set(`${coin} ${balanceOf}`, { code, message, status })
        const { balances } = await readToEnd(reader)
        assert.equal(balances.length, 4)
        assert.ok(!balances.some(({ assetId }) => assetId === `evm:1:${coin}`))
      })
    }
  }

  for (const [fault, status, code] of [
    ['rate_limited', 429, -32_016],
    ['rate_limited', 200, -32_005],
    ['venue_down', 503, -32_011],
  ] as const) {
    it(`of no token are left out because of HTTP ${status} with error ${code}: that is ${fault}`, async (t) => {
      const { chain, reader } = await openWallet(t)
      hold(chain)
      chain.errors.set(`${coin} ${balanceOf}`, { code, message: 'no', status })
      await assert.rejects(readToEnd(reader), isFault(fault))
    })
  }

  it('of unknown tokens are not left out because a node failed, even if it answers again within the round', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    chain.hasMulticall = true
    const contracts = Array.from({ length: 40 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '4')}`)
    chain.lists.set(
      'tokentx',
      contracts.map((contract, index) => row(10 + index, contract, { value: '5' })),
    )
    for (const contract of contracts) chain.calls.set(`${contract} ${balanceOf}`, word(5n))
    const { balances, state = {} } = await readToEnd(reader)
    for (const contract of [...contracts, weth]) {
      chain.errors.set(`${contract} ${balanceOf}`, { code: -32_000, message: 'header not found' })
    }
    let kept = state
    const faults: string[] = []
    while (faults.length === 0) {
      const answer = await reader.fetchBalances(kept)
      assert.equal(answer.isPartial, true)
      kept = answer.state ?? kept
      faults.push(...(answer.failed ?? []).map(({ error }) => error.fault))
    }
    assert.deepEqual(faults, ['unreadable_answer'])
    chain.errors.clear()
    assert.deepEqual((await readToEnd(reader, { state: kept })).balances, balances)
  })

  it('of the wrapped coin are known on every chain, so a node that refuses all calls is noticed', () => {
    assert.deepEqual(
      chains.filter((one) => findAssetByContract(`evm:${one.id}`, one.wrapped.address) === undefined),
      [],
    )
  })

  it('of many tokens whose contracts take too long are asked for a few times, and known tokens are read', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    chain.hasMulticall = true
    const slow = Array.from({ length: 100 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, '4')}`)
    chain.lists.set(
      'tokentx',
      [...slow, coin].map((contract, index) => row(10 + index, contract, { value: '5' })),
    )
    for (const contract of slow) {
      chain.errors.set(`${contract} ${balanceOf}`, { code: -32_000, message: 'execution aborted (timeout = 5s)' })
    }
    const { balances } = await readToEnd(reader)
    assert.ok(balances.some(({ symbol }) => symbol === 'WETH'))
    const calls = chain.methods.filter((method) => method === 'eth_call').length
    assert.ok(calls < 50, `${calls} calls`)
  })

  describe('of a wallet with hundreds of tokens', () => {
    const contracts = Array.from({ length: 900 }, (_, index) => `0x${(0x5000 + index).toString(16).padStart(40, '4')}`)
    const outOfGas = { code: -32_000, message: 'out of gas' }

    /** Reads to the end, and checks that each call makes no more requests than it is charged for. */
    async function readWithin(chain: TestChain, reader: AccountReader): Promise<{ held: Set<string>; calls: number }> {
      let state: ConnectorState = {}
      for (let calls = 1; calls <= callsMax; calls += 1) {
        chain.methods.length = 0
        const answer = await reader.fetchBalances(state)
        const price = connector.budget.balances['rpc'] ?? 0
        assert.ok(chain.methods.length <= price, `${chain.methods.length} requests in call ${calls}, for ${price}`)
        state = answer.state ?? state
        if (answer.isPartial !== true) return { held: new Set(answer.balances.map(({ assetId }) => assetId)), calls }
      }
      throw new Error(`the balances were not read within ${callsMax} calls`)
    }

    async function openLarge(t: TestContext): ReturnType<typeof openWallet> {
      const opened = await openWallet(t)
      hold(opened.chain)
      opened.chain.hasMulticall = true
      opened.chain.lists.set(
        'tokentx',
        contracts.map((contract, index) => row(10 + index, contract, { value: '5' })),
      )
      for (const contract of contracts) opened.chain.calls.set(`${contract} ${balanceOf}`, word(5n))
      return opened
    }

    it('are read by one call', async (t) => {
      const { chain, reader } = await openLarge(t)
      const { held, calls } = await readWithin(chain, reader)
      // Besides the tokens there are the coin, the wrapped coin and two pieces.
      assert.deepEqual([held.size, calls], [904, 1])
    })

    it('are all read if a few contracts use up the gas of their group, and no call exceeds its price', async (t) => {
      const { chain, reader } = await openLarge(t)
      const burning = [contracts[7], contracts[300], contracts[301]]
      for (const contract of burning) chain.errors.set(`${contract} ${balanceOf}`, outOfGas)
      const { held } = await readWithin(chain, reader)
      assert.equal(held.size, 904 - burning.length)
    })

    it('end after a limited search if all contracts use up the gas, and known tokens are read', async (t) => {
      const { chain, reader } = await openLarge(t)
      for (const contract of contracts) chain.errors.set(`${contract} ${balanceOf}`, outOfGas)
      const { held, calls } = await readWithin(chain, reader)
      const { assetId = '' } = findAssetByContract('evm:1', weth) ?? {}
      assert.ok(held.has(assetId) && held.has('crypto:ethereum'))
      assert.ok(calls < 10, `${calls} calls`)
    })
  })

  it('are not taken for zero when the node failed, and the node is not taken for down when a contract may have', async (t) => {
    const { chain, reader } = await openWallet(t)
    hold(chain)
    const { state = {} } = await reader.fetchBalances({})
    for (const error of [
      { code: -32_000, message: 'header not found' },
      { code: -32_000, message: 'execution aborted (timeout = 5s)' },
      { code: -32_020, message: 'backend response too large', status: 500 },
      // The code of a refused call at Nethermind, and of a late one at a proxy.
      { code: -32_015, message: 'gateway timeout', status: 504 },
    ]) {
      chain.errors.set(`${weth} ${balanceOf}`, error)
      await assert.rejects(readToEnd(reader, { state }), isFault('unreadable_answer'))
    }
    chain.errors.clear()
    chain.errors.set('eth_getBalance', { code: -32_000, message: 'header not found' })
    await assert.rejects(readToEnd(reader, { state }), isFault('venue_down'))
  })

  it('the operator’s own hosts are asked, and BNB Smart Chain only there', async () => {
    const asked: string[] = []
    const record: typeof fetch = async (given) => {
      asked.push(new Request(given).url)
      return new Response('', { status: 503 })
    }
    const chainUrls = {
      'evm:1': { rpc: 'https://node.example/eth' },
      'evm:56': { rpc: 'https://node.example/bnb', index: 'https://index.example/api?apikey=k' },
    }
    const io = { fetch: record, now: () => 0, nextNonce: () => '1', baseUrl: undefined }
    const open = (more: object) => connector.open({ type: 'wallet', address }, { ...io, ...more })
    await assert.rejects(open({ chainUrls }).fetchBalances({}), isFault('venue_down'))
    assert.ok(asked.includes('https://node.example/eth') && asked.includes('https://node.example/bnb'))
    asked.length = 0
    await assert.rejects(open({}).fetchBalances({}), isFault('venue_down'))
    assert.equal(asked.length, 6)
    assert.ok(!asked.some((url) => url.includes('bsc')))
  })
})
