import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { HDKey } from '@scure/bip32'
import { p2pkh, p2sh, p2tr, p2wpkh, Transaction } from '@scure/btc-signer'
import type { Sandbox } from '../index.ts'
import { openWallet, startBitcoin, type EsploraTransaction, type TestWallet } from '../testing/bitcoin-client.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await startBitcoin()
})
after(() => sandbox.close())

const scenarios = [
  'default',
  'savings',
  'empty',
  'single_address',
  'legacy',
  'nested_segwit',
  'taproot',
  'gap',
  'unconfirmed',
  'miner',
]

/** Writes a hash in reversed hexadecimal, as is usual. */
function doubleHash(bytes: Buffer): string {
  const once = createHash('sha256').update(bytes).digest()
  return createHash('sha256').update(once).digest().reverse().toString('hex')
}

/** The balance of each address and the effect of each transaction, from Esplora's answers alone. */
async function reckon(
  wallet: TestWallet,
  addresses: readonly string[],
): Promise<{ coins: number; effects: Map<string, number> }> {
  const own = new Set(addresses)
  const transactions = new Map<string, EsploraTransaction>()
  let coins = 0
  for (const address of addresses) {
    for (const { value } of await wallet.json<{ value: number }[]>(`/address/${address}/utxo`)) coins += value
    for (const list of ['txs/mempool', 'txs/chain']) {
      for (let last = ''; ;) {
        const page = await wallet.json<EsploraTransaction[]>(`/address/${address}/${list}${last}`)
        for (const transaction of page) transactions.set(transaction.txid, transaction)
        if (list === 'txs/mempool' || page.length === 0) break
        last = `/${page.at(-1)?.txid ?? ''}`
      }
    }
  }
  const effects = new Map<string, number>()
  for (const { txid, vin, vout } of transactions.values()) {
    const isOwn = (output: { scriptpubkey_address?: string } | null): boolean =>
      own.has(output?.scriptpubkey_address ?? '')
    const received = vout.filter(isOwn).reduce((sum, { value }) => sum + value, 0)
    const spent = vin
      .filter(({ prevout }) => isOwn(prevout))
      .reduce((sum, { prevout }) => sum + (prevout?.value ?? 0), 0)
    effects.set(txid, received - spent)
  }
  return { coins, effects }
}

describe('every scenario', () => {
  it('keeps the invariant that unspent outputs are the sum of the effects of the transactions', async () => {
    for (const scenario of scenarios) {
      const wallet = await openWallet(sandbox, scenario)
      const { addresses, balance_sat: balance, transactions } = await wallet.state()
      const { coins, effects } = await reckon(
        wallet,
        addresses.map(({ address }) => address),
      )
      assert.equal(String(coins), balance.total, scenario)
      assert.equal(
        [...effects.values()].reduce((sum, effect) => sum + effect, 0),
        coins,
        scenario,
      )
      const told = transactions.map(({ txid, net_sat: net }): [string, string] => [txid, net])
      assert.deepEqual(new Map(told), new Map([...effects].map(([txid, effect]) => [txid, String(effect)])), scenario)
      const sums = addresses.reduce((sum, { balance_sat: one }) => sum + Number(one), 0)
      assert.equal(String(sums), balance.total, scenario)
      assert.equal(BigInt(balance.confirmed) + BigInt(balance.unconfirmed), BigInt(balance.total), scenario)
    }
  })

  it('never lets a wallet hold less than nothing, and lists the fee separately', async () => {
    for (const scenario of scenarios) {
      const { transactions } = await (await openWallet(sandbox, scenario)).state()
      let held = 0n
      for (const { net_sat: net, fee_sat: fee, fee_paid_sat: paid, kind, sent_to: sent } of transactions) {
        held += BigInt(net)
        assert.ok(held >= 0n, scenario)
        if (kind === 'receive' || kind === 'reward') assert.ok(BigInt(net) > 0n && paid === '0')
        if (kind === 'self') assert.equal(BigInt(net), -BigInt(fee))
        const gone = sent.reduce((sum, { value_sat: value }) => sum + BigInt(value), 0n)
        if (kind === 'send') assert.equal(BigInt(net), -gone - BigInt(paid))
      }
    }
  })

  it('has txids that are the hash of the bytes, and sizes that are theirs', async () => {
    for (const scenario of ['legacy', 'nested_segwit', 'taproot', 'miner', 'default']) {
      const wallet = await openWallet(sandbox, scenario)
      for (const { txid } of (await wallet.state()).transactions) {
        const raw = Buffer.from(await wallet.text(`/tx/${txid}/hex`), 'hex')
        const { size, weight } = await wallet.json<EsploraTransaction>(`/tx/${txid}`)
        const parsed = Transaction.fromRaw(raw, { allowUnknownOutputs: true, disableScriptCheck: true })
        const bare = Buffer.from(parsed.toBytes(true, false))
        assert.equal(doubleHash(bare), txid, scenario)
        assert.deepEqual([size, weight], [raw.length, bare.length * 3 + raw.length], scenario)
      }
    }
  })

  it('is signed: another library agrees with every ECDSA signature of a SegWit wallet', async () => {
    const wallet = await openWallet(sandbox, 'default')
    let checked = 0
    for (const { txid } of (await wallet.state()).transactions) {
      const { vin } = await wallet.json<EsploraTransaction>(`/tx/${txid}`)
      const raw = Buffer.from(await wallet.text(`/tx/${txid}/hex`), 'hex')
      const parsed = Transaction.fromRaw(raw, { allowUnknownOutputs: true })
      for (const [index, { prevout, witness = [] }] of vin.entries()) {
        const [signature = '', key = ''] = witness
        const keyHash = prevout?.scriptpubkey.slice(4) ?? ''
        const scriptCode = Uint8Array.from(Buffer.from(`76a914${keyHash}88ac`, 'hex'))
        const digest = parsed.preimageWitnessV0(index, scriptCode, 1, BigInt(prevout?.value ?? 0))
        const publicKey = Uint8Array.from(Buffer.from(key, 'hex'))
        const holder = new HDKey({ publicKey, chainCode: new Uint8Array(32) })
        assert.ok(holder.verify(digest, compactOf(Buffer.from(signature, 'hex'))), txid)
        checked += 1
      }
    }
    assert.ok(checked > 80)
  })
})

/** Returns two numbers of 32 bytes instead of DER. */
function compactOf(der: Buffer): Uint8Array {
  const length = der.readUInt8(3)
  const numbers = [der.subarray(4, 4 + length), der.subarray(6 + length, -1)]
  return Uint8Array.from(
    numbers.flatMap((number) => [...Buffer.from(number.toString('hex').padStart(66, '0'), 'hex').subarray(-32)]),
  )
}

describe('the text that a person pastes', () => {
  const versions: Readonly<Record<string, { private: number; public: number }>> = {
    legacy: { private: 0x0488ade4, public: 0x0488b21e },
    nested_segwit: { private: 0x049d7878, public: 0x049d7cb2 },
    default: { private: 0x04b2430c, public: 0x04b24746 },
    taproot: { private: 0x0488ade4, public: 0x0488b21e },
  }
  const addressOf: Readonly<Record<string, (key: Uint8Array) => string | undefined>> = {
    legacy: (key) => p2pkh(key).address,
    nested_segwit: (key) => p2sh(p2wpkh(key)).address,
    default: (key) => p2wpkh(key).address,
    taproot: (key) => p2tr(key.subarray(1)).address,
  }

  it('is an xpub, a ypub, a zpub or a descriptor, from which every address follows', async () => {
    const forms = {
      legacy: /^xpub/,
      nested_segwit: /^ypub/,
      default: /^zpub/,
      taproot: /^tr\(\[[0-9a-f]{8}\/86h\/0h\/0h\]xpub[^/]+\/<0;1>\/\*\)#[a-z0-9]{8}$/,
    }
    for (const [scenario, form] of Object.entries(forms)) {
      const { credentials, state } = await openWallet(sandbox, scenario)
      assert.deepEqual(Object.keys(credentials), [scenario === 'taproot' ? 'descriptor' : 'extended_public_key'])
      const [pasted = ''] = Object.values(credentials)
      assert.match(pasted, form)
      const key = HDKey.fromExtendedKey(/[xyz]pub[^/)]+/.exec(pasted)?.[0] ?? '', versions[scenario])
      assert.equal(key.privateKey, null)
      assert.equal(key.depth, 3)
      for (const { address, chain, index, path } of (await state()).addresses) {
        const { publicKey } = key.deriveChild(chain === 'receive' ? 0 : 1).deriveChild(index)
        assert.ok(publicKey !== null)
        assert.equal(addressOf[scenario]?.(publicKey), address)
        assert.match(path, /^m\/(44|49|84|86)'\/0'\/0'\/[01]\/\d+$/)
      }
    }
  })

  it('of the scenario gap hides money behind more than 20 unused addresses', async () => {
    const { addresses } = await (await openWallet(sandbox, 'gap')).state()
    const used = addresses
      .filter(({ chain, tx_count: count }) => chain === 'receive' && count > 0)
      .map(({ index }) => index)
    assert.deepEqual(used, [0, 3, 35])
  })

  it('differs from account to account and from seed to seed, and is the same in a new process', async () => {
    const [mine, other] = [await openWallet(sandbox, 'legacy'), await openWallet(sandbox, 'legacy', 'olaf')]
    assert.notDeepEqual(mine.credentials, other.credentials)
    const [again, stranger] = [await startBitcoin(), await startBitcoin({ seed: 'another seed' })]
    try {
      // The order differs, because what a wallet holds must not depend on the others.
      await openWallet(again, 'miner')
      const known = await mine.state()
      assert.deepEqual({ ...(await (await openWallet(again, 'legacy')).state()), tip: known.tip }, known)
      assert.notDeepEqual((await openWallet(stranger, 'legacy')).credentials, mine.credentials)
    } finally {
      await Promise.all([again.close(), stranger.close()])
    }
  })

  it('is known to the next process with the same list of wallets before it is opened there', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'assay-wallets-'))
    const walletsFile = path.join(directory, 'data', 'wallets')
    const first = await startBitcoin({ walletsFile })
    const { credentials, text } = await openWallet(first, 'single_address', 'lasting')
    const asked = `/address/${credentials['address'] ?? ''}/txs`
    const known = await text(asked)
    await first.close()
    const [next, forgetful] = [await startBitcoin({ walletsFile }), await startBitcoin()]
    try {
      const read = async (of: Sandbox): Promise<string> => (await fetch(of.urls.bitcoin + asked)).text()
      assert.equal(await read(next), known)
      assert.equal(await read(forgetful), '[]')
    } finally {
      await Promise.all([next.close(), forgetful.close()])
      await rm(directory, { recursive: true })
    }
  })
})
