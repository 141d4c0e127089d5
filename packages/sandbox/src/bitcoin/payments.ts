/**
 * Transactions made and signed: what the exchange pays to a wallet, what a wallet sends, joins or is rewarded with.
 * Signatures are @scure/btc-signer's, without randomness (RFC 6979; Schnorr with no auxiliary bytes), so that a txid
 * follows from the seed. The tests hold every form of transaction against the one that the library itself builds.
 */
import { signECDSA, signSchnorr, taprootTweakPrivKey } from '@scure/btc-signer/utils.js'
import { maturityBlocks, sumOf, type Coin, type Entry, type Network } from './chain/network.ts'
import { dataScript, push, scriptTypeOf } from './chain/script.ts'
import { hash160, scriptCodeOf } from './chain/signatures.ts'
import {
  hash256,
  isCoinbase,
  legacyMessage,
  noTxid,
  noVout,
  segwitMessage,
  serialize,
  sha256,
  taprootHash,
  txidOf,
  type Tx,
  type TxInput,
  type TxOutput,
} from './chain/transaction.ts'
import type { OwnAddress, Wallet } from './wallet.ts'

/** When and where: `height` is the block that holds it, undefined for the mempool. */
export interface Moment {
  seconds: number
  height: number | undefined
  /** Satoshis for each virtual byte. */
  feeRate: bigint
}

export interface Bank {
  network: Network
  wallet: Wallet
}

/** Below this an output costs more to spend than it is worth. */
const dust = 546n
const subsidy = 312_500_000n
const overheadVbytes = 11n
const outputVbytes = 34n
const inputVbytes: Readonly<Record<string, bigint>> = { p2pkh: 148n, p2sh: 91n, v0_p2wpkh: 68n, v1_p2tr: 58n }

/**
 * The exchange pays to the wallet's addresses, and to as many strangers in the same transaction. `alone`: with money of
 * its own, so that no other payment depends on this one.
 */
export function receive(
  bank: Bank,
  moment: Moment,
  outputs: readonly { to: OwnAddress; value: bigint }[],
  { strangers = 0, alone = false }: { strangers?: number; alone?: boolean } = {},
): Entry {
  const { wallet } = bank
  const paid = outputs.map(({ to, value }) => ({ value, script: Buffer.from(to.script, 'hex') }))
  const others = Array.from({ length: strangers }, (_, index) => ({
    value: 100_000n + BigInt(index) * 37_500n,
    script: strangerScript(wallet, `${moment.seconds} ${index}`),
  }))
  const all = [...others, ...paid]
  const fee = feeOf(moment, ['v0_p2wpkh'], all.length + 1)
  const needed = sumOf(all) + fee
  const coin = (alone ? undefined : findFunds(bank, moment, needed)) ?? mineFunds(bank, moment, needed)
  const change = coin.output.value - sumOf(all) - fee
  const back = { value: change, script: Buffer.from(wallet.exchange.script, 'hex') }
  return publish(bank, moment, [coin], change < dust ? all : mix([...all, back], coin), () => wallet.exchange)
}

/** The wallet pays to a script. The rest of what it spends comes back to `change`. */
export function send(
  bank: Bank,
  moment: Moment,
  payment: { script: Buffer; value: bigint; change: OwnAddress; data?: string },
): Entry {
  const outputs: TxOutput[] = [{ value: payment.value, script: payment.script }]
  if (payment.data !== undefined) outputs.push({ value: 0n, script: dataScript(Buffer.from(payment.data)) })
  const coins: Coin[] = []
  for (const coin of spendable(bank, moment)) {
    coins.push(coin)
    const fee = feeOf(moment, coins.map(typeOf), outputs.length + 1)
    const change = valueOf(coins) - sumOf(outputs) - fee
    if (change < 0n) continue
    const back = { value: change, script: Buffer.from(payment.change.script, 'hex') }
    const all = change < dust ? outputs : mix([...outputs, back], coin)
    return publish(bank, moment, coins, all, ownerOf(bank))
  }
  throw new RangeError(`the wallet holds ${valueOf(coins)} satoshi, less than ${payment.value} and the fee`)
}

/** Everything that the wallet holds goes to one script, less the fee. */
export function sweep(bank: Bank, moment: Moment, script: Buffer): Entry {
  const coins = spendable(bank, moment)
  const value = valueOf(coins) - feeOf(moment, coins.map(typeOf), 1)
  if (value < dust) throw new RangeError('the wallet holds too little to move')
  return publish(bank, moment, coins, [{ value, script }], ownerOf(bank))
}

/** A block's reward, paid to an address of the wallet. */
export function reward(bank: Bank, moment: Moment, to: OwnAddress, value: bigint): Entry {
  if (moment.height === undefined) throw new RangeError('a reward is confirmed by its own block')
  return mineCoinbase(bank, { ...moment, height: moment.height }, Buffer.from(to.script, 'hex'), value)
}

/** An address outside the sandbox's wallets: no key for it exists here. */
export function strangerScript({ accountId }: Wallet, name: string): Buffer {
  const program = sha256(Buffer.from(`stranger\n${accountId}\n${name}`)).subarray(0, 20)
  return Buffer.concat([Buffer.from([0x00, 0x14]), program])
}

/** What the wallet can spend at that moment, oldest first. */
function spendable({ network, wallet }: Bank, moment: Moment): Coin[] {
  return wallet
    .list()
    .flatMap(({ script }) => network.coinsOf(script))
    .filter((coin) => isReady(coin, moment, network))
    .toSorted((a, b) => a.entry.arrival - b.entry.arrival || a.vout - b.vout)
}

function isReady({ entry }: Coin, moment: Moment, network: Network): boolean {
  if (entry.seenSeconds > moment.seconds) return false
  const reached = moment.height ?? network.chain.tipHeight() + 1
  if (moment.height !== undefined && (entry.height === undefined || entry.height > moment.height)) return false
  return !isCoinbase(entry.tx) || reached - (entry.height ?? reached) >= maturityBlocks
}

/** The exchange's newest coin that is large enough: what came back from its last payment. */
function findFunds({ network, wallet }: Bank, moment: Moment, needed: bigint): Coin | undefined {
  return network
    .coinsOf(wallet.exchange.script)
    .filter((coin) => coin.output.value >= needed && isReady(coin, moment, network))
    .toSorted((a, b) => b.entry.arrival - a.entry.arrival)[0]
}

/** The exchange buys a miner's reward, old enough to be spent. */
function mineFunds(bank: Bank, moment: Moment, needed: bigint): Coin {
  const { chain } = bank.network
  const height = (moment.height ?? chain.tipHeight()) - maturityBlocks - 10
  if (height < chain.firstHeight) {
    const from = new Date((chain.timeAt(chain.firstHeight) + 86_400) * 1_000).toISOString()
    throw new RangeError(`the network begins too late for this payment: the first can be on ${from}`)
  }
  const value = needed > subsidy ? needed * 2n : subsidy
  const script = Buffer.from(bank.wallet.exchange.script, 'hex')
  const entry = mineCoinbase(bank, { seconds: chain.timeAt(height), height }, script, value)
  return { entry, vout: 0, output: { value, script } }
}

function mineCoinbase(
  { network, wallet }: Bank,
  { seconds, height }: { seconds: number; height: number },
  script: Buffer,
  value: bigint,
): Entry {
  const { accountId } = wallet
  // One block may have to reward several wallets of this sandbox, or one wallet twice, so the first free number is
  // used.
  for (let number = 0; ; number += 1) {
    const tx = coinbaseOf(height, sha256(Buffer.from(`reward\n${accountId}\n${height}\n${number}`)), { value, script })
    if (network.find(txidOf(tx)) !== undefined) continue
    return network.accept(serialize(tx, { witness: true }), { accountId, seenSeconds: seconds, height })
  }
}

/** `tag`: the bytes that a miner is free to choose. */
function coinbaseOf(height: number, tag: Buffer, output: TxOutput): Tx {
  const heightBytes = Buffer.alloc(4)
  heightBytes.writeUInt32LE(height)
  const input: TxInput = {
    txid: noTxid,
    vout: noVout,
    // BIP-34: the height, in three bytes.
    scriptSig: Buffer.concat([push(heightBytes.subarray(0, 3)), push(tag.subarray(0, 8))]),
    sequence: 0xffffffff,
    witness: [Buffer.alloc(32)],
  }
  // BIP-141: the commitment to the witnesses of the block.
  const commitment = Buffer.concat([Buffer.from('aa21a9ed', 'hex'), hash256(tag)])
  const outputs = [output, { value: 0n, script: dataScript(commitment) }]
  return { version: 2, inputs: [input], outputs, locktime: 0 }
}

function publish(
  { network, wallet }: Bank,
  { seconds, height }: Moment,
  coins: readonly Coin[],
  outputs: readonly TxOutput[],
  keyOf: (coin: Coin) => OwnAddress,
): Entry {
  const inputs = coins.map(({ entry, vout }) => ({
    txid: entry.txid,
    vout,
    scriptSig: Buffer.alloc(0),
    sequence: 0xfffffffd,
    witness: [],
  }))
  const bare: Tx = { version: 2, inputs, outputs, locktime: 0 }
  const spent = coins.map(({ output }) => output)
  const signed = coins.map((coin, index) => ({ ...inputs[index], ...sign(bare, index, spent, keyOf(coin)) }) as TxInput)
  const raw = serialize({ ...bare, inputs: signed }, { witness: true })
  return network.accept(raw, { accountId: wallet.accountId, seenSeconds: seconds, height })
}

function sign(
  tx: Tx,
  index: number,
  spent: readonly TxOutput[],
  { privateKey, publicKey }: OwnAddress,
): { scriptSig?: Buffer; witness?: Buffer[] } {
  const output = spent[index]
  if (output === undefined) throw new RangeError(`the transaction has no input ${index}`)
  const type = scriptTypeOf(output.script)
  const key = Buffer.from(publicKey)
  if (type === 'v1_p2tr') {
    const tweaked = taprootTweakPrivKey(privateKey)
    return { witness: [Buffer.from(signSchnorr(taprootHash(tx, index, spent), tweaked, new Uint8Array(32)))] }
  }
  const ecdsa = (message: Buffer): Buffer => Buffer.from([...signECDSA(hash256(message), privateKey), 1])
  if (type === 'p2pkh') {
    return { scriptSig: Buffer.concat([push(ecdsa(legacyMessage(tx, index, output.script))), push(key)]) }
  }
  const keyHash = hash160(key)
  const witness = [ecdsa(segwitMessage(tx, index, scriptCodeOf(keyHash), output.value)), key]
  if (type !== 'p2sh') return { witness }
  return { scriptSig: push(Buffer.concat([Buffer.from([0x00, 0x14]), keyHash])), witness }
}

function ownerOf({ wallet }: Bank): (coin: Coin) => OwnAddress {
  const owners = new Map(wallet.list().map((own) => [own.script, own]))
  return ({ output }) => {
    const own = owners.get(output.script.toString('hex'))
    if (own === undefined) throw new Error('the wallet spends only what it owns')
    return own
  }
}

function feeOf({ feeRate }: Moment, types: readonly string[], outputs: number): bigint {
  const inputs = types.reduce((sum, type) => sum + (inputVbytes[type] ?? 148n), 0n)
  return feeRate * (overheadVbytes + inputs + BigInt(outputs) * outputVbytes)
}

function typeOf({ output }: Coin): string {
  return scriptTypeOf(output.script)
}

function valueOf(coins: readonly Coin[]): bigint {
  return sumOf(coins.map(({ output }) => output))
}

/** The change moves from the last place to a random one, because its position must not reveal it. */
function mix(outputs: readonly TxOutput[], { entry, vout }: Coin): readonly TxOutput[] {
  const place = (sha256(Buffer.from(`${entry.txid}:${vout}`)).readUInt8() * outputs.length) >> 8
  const change = outputs.slice(-1)
  return [...outputs.slice(0, place), ...change, ...outputs.slice(place, -1)]
}
