import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { p2wpkh, Transaction } from '@scure/btc-signer'
import { createNetwork, type Entry, type Network } from './network.ts'
import { receive, send, strangerScript, type Bank } from '../payments.ts'
import { verifySchnorr } from './signatures.ts'
import { parseTransaction, serialize } from './transaction.ts'
import { createWallet, checksumOf, type OwnAddress, type Standard } from '../wallet.ts'

const nowMs = Date.UTC(2025, 0, 1)
const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')

function openBank(standard: Standard): Bank {
  const network = createNetwork('a seed')
  network.chain.advance(nowMs)
  return {
    network,
    wallet: createWallet('a seed', `bitcoin.${standard}`, { kind: 'descriptor', standard }, () => undefined),
  }
}

function moment(network: Network): { seconds: number; height: number; feeRate: bigint } {
  return { seconds: nowMs / 1_000, height: network.chain.tipHeight(), feeRate: 4n }
}

/** Two coins of the wallet, spent together with a note. */
function spendTwo(bank: Bank): Entry {
  const { network, wallet } = bank
  const coins = [0, 1].map((index) => ({ to: wallet.at('receive', index), value: 40_000n + BigInt(index) }))
  receive(bank, moment(network), coins)
  const payment = {
    script: strangerScript(wallet, 'shop'),
    value: 60_000n,
    change: wallet.at('change', 0),
    data: 'a note',
  }
  return send(bank, moment(network), payment)
}

/** The same transaction by the library alone. */
function buildWithLibrary({ network, wallet }: Bank, entry: Entry, standard: Standard): string {
  const tx = new Transaction({ version: 2, allowUnknownOutputs: true })
  const owners = entry.spent.map(({ script }) => wallet.list().find((own) => own.script === script.toString('hex')))
  entry.tx.inputs.forEach(({ txid, vout, sequence }, index) => {
    const output = entry.spent[index]
    const own = owners[index]
    assert.ok(output !== undefined && own !== undefined)
    const parent = network.find(txid)?.raw ?? Buffer.alloc(0)
    const utxo = { script: Uint8Array.from(output.script), amount: output.value }
    tx.addInput({ txid, index: vout, sequence, ...formOf(own, utxo, parent, standard) })
  })
  for (const { script, value } of entry.tx.outputs) tx.addOutput({ script: Uint8Array.from(script), amount: value })
  owners.forEach((own, index) => tx.signIdx(own?.privateKey ?? new Uint8Array(), index, undefined, new Uint8Array(32)))
  tx.finalize()
  return tx.hex
}

function formOf(
  own: OwnAddress,
  witnessUtxo: { script: Uint8Array; amount: bigint },
  parent: Buffer,
  standard: Standard,
): object {
  if (standard === 'bip44') return { nonWitnessUtxo: Uint8Array.from(parent) }
  if (standard === 'bip49') return { witnessUtxo, redeemScript: p2wpkh(own.publicKey).script }
  if (standard === 'bip86') return { witnessUtxo, tapInternalKey: own.publicKey.subarray(1) }
  return { witnessUtxo }
}

describe('a signed transaction', () => {
  for (const standard of ['bip44', 'bip49', 'bip84', 'bip86'] as const) {
    it(`of ${standard} is byte for byte what @scure/btc-signer builds and signs by itself`, () => {
      const bank = openBank(standard)
      const entry = spendTwo(bank)
      assert.deepEqual(entry.tx.inputs.length, 2)
      assert.equal(entry.raw.toString('hex'), buildWithLibrary(bank, entry, standard))
      assert.equal(entry.txid, Transaction.fromRaw(entry.raw, { allowUnknownOutputs: true }).id)
    })

    it(`of ${standard} is refused when a byte of a signature, an amount or a script is changed`, () => {
      const bank = openBank(standard)
      const { raw, tx, txid } = spendTwo(bank)
      bank.network.drop(txid)
      const accept = (changed: Buffer): void => {
        bank.network.accept(changed, { accountId: 'x', seenSeconds: 0, height: undefined })
      }
      const [first, ...others] = tx.outputs
      assert.ok(first !== undefined)
      for (const output of [
        { ...first, value: first.value - 1n },
        { ...first, script: Buffer.alloc(22) },
      ]) {
        const changed = serialize({ ...tx, outputs: [output, ...others] }, { witness: true })
        assert.throws(() => accept(changed), /the signature of input 0 is wrong/)
      }
      const signature = raw.indexOf(tx.inputs[0]?.witness[0] ?? tx.inputs[0]?.scriptSig.subarray(1, 60) ?? '')
      const spoiled = Buffer.from(raw)
      spoiled[signature + 40] = (spoiled[signature + 40] ?? 0) ^ 1
      assert.throws(() => accept(spoiled), /the signature of input 0 is wrong/)
      accept(raw)
    })
  }

  it('survives being parsed and serialised again, and anything longer or shorter is refused', () => {
    const { raw } = spendTwo(openBank('bip84'))
    assert.deepEqual(serialize(parseTransaction(raw), { witness: true }), raw)
    assert.throws(() => parseTransaction(raw.subarray(0, -1)), /ends too early/)
    assert.throws(() => parseTransaction(Buffer.concat([raw, Buffer.alloc(1)])), /bytes follow/)
  })
})

describe('the network', () => {
  it('refuses an output that was spent, one that never existed, and more money than went in', () => {
    const bank = openBank('bip84')
    const { network } = bank
    const { raw, tx, txid } = spendTwo(bank)
    const accept = (changed: Buffer): Entry =>
      network.accept(changed, { accountId: 'x', seenSeconds: 0, height: undefined })
    assert.throws(() => accept(raw), /is known already/)
    const later = serialize({ ...tx, locktime: 1 }, { witness: true })
    assert.throws(() => accept(later), /was spent already/)
    network.drop(txid)
    const rich = tx.outputs.map((output) => ({ ...output, value: output.value + 50_000n }))
    assert.throws(() => accept(serialize({ ...tx, outputs: rich }, { witness: true })), /worth more than the inputs/)
    const [input] = tx.inputs
    assert.ok(input !== undefined)
    const twice = serialize({ ...tx, inputs: [input, input] }, { witness: true })
    assert.throws(() => accept(twice), /spent twice/)
    const nowhere = serialize({ ...tx, inputs: [{ ...input, txid: 'ab'.repeat(32) }] }, { witness: true })
    assert.throws(() => accept(nowhere), /there is no output/)
  })

  it('gives back what a dropped transaction spent, and drops what spent from it', () => {
    const bank = openBank('bip84')
    const { network, wallet } = bank
    const first = spendTwo(bank)
    const payment = { script: strangerScript(wallet, 'other'), value: 1_000n, change: wallet.at('change', 1) }
    const second = send(bank, moment(network), payment)
    assert.deepEqual(network.drop(first.txid), [second.txid, first.txid])
    assert.deepEqual(
      [0, 1].flatMap((index) => network.coinsOf(wallet.at('receive', index).script).map(({ output }) => output.value)),
      [40_000n, 40_001n],
    )
    assert.deepEqual(network.listOf(wallet.at('change', 0).script), [])
  })
})

describe('Schnorr signatures', () => {
  // https://github.com/bitcoin/bips/blob/master/bip-0340/test-vectors.csv, indices 0 and 1.
  const vectors = [
    [
      'F9308A019258C31049344F85F89D5229B531C845836F99B08601F113BCE036F9',
      '00'.repeat(32),
      'E907831F80848D1069A5371B402410364BDF1C5F8307B0084C55F1CE2DCA821525F66A4A85EA8B71E482A74F382D2CE5EBEEE8FDB2172F477DF4900D310536C0',
    ],
    [
      'DFF1D77F2A671C5F36183726DB2341BE58FEAE1DA2DECED843240F7B502BA659',
      '243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89',
      '6896BD60EEAE296DB48A229FF71DFE071BDE413E6D43F917DC8DCF8C78DE33418906D11AC976ABCCB20B091292BFF4EA897EFCB639EA871CFA95F6DE339E4B0A',
    ],
  ] as const

  it('are verified as BIP-340 specifies, with its own test vectors', () => {
    const order = 'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141'
    for (const [key, message, signature] of vectors) {
      assert.ok(verifySchnorr(bytes(key), bytes(message), bytes(signature)))
      assert.ok(!verifySchnorr(bytes(key), bytes('11'.repeat(32)), bytes(signature)), 'another message')
      assert.ok(
        !verifySchnorr(
          bytes('EEFDEA4CDB677750A420FEE807EACF21EB9898AE79B9768766E4FAA04A2D4A34'),
          bytes(message),
          bytes(signature),
        ),
        'not on the curve',
      )
      assert.ok(!verifySchnorr(bytes(key), bytes(message), bytes(signature.slice(0, 64) + order)), 's is the order')
      const s = BigInt(`0x${order}`) - BigInt(`0x${signature.slice(64)}`)
      const negated = signature.slice(0, 64) + s.toString(16).padStart(64, '0')
      assert.ok(!verifySchnorr(bytes(key), bytes(message), bytes(negated)), 's is negated')
    }
  })
})

describe("a descriptor's checksum", () => {
  it('is that of BIP-380', () => {
    // https://github.com/bitcoin/bips/blob/master/bip-0380.mediawiki#test-vectors
    assert.equal(checksumOf('raw(deadbeef)'), '89f8spxm')
    assert.notEqual(checksumOf('raw(deedbeef)'), '89f8spxm')
    assert.throws(() => checksumOf('raw(ü)'), RangeError)
  })
})
