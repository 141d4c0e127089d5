/**
 * A Bitcoin transaction as bytes: parsed, serialised, and the messages that its signatures are over. Written from the
 * documents and apart from the library that the wallet signs with, so that each proves the other (see the tests).
 * Source: https://github.com/bitcoin/bips/blob/master/bip-0144.mediawiki (serialisation), bip-0143 (SegWit v0
 * messages), bip-0341 (Taproot messages). Only SIGHASH_ALL and, for Taproot, SIGHASH_DEFAULT exist here.
 */
import { hash } from 'node:crypto'

export interface TxInput {
  /** The usual form: the bytes of the hash in reverse order. */
  txid: string
  vout: number
  scriptSig: Buffer
  sequence: number
  witness: readonly Buffer[]
}

export interface TxOutput {
  /** Satoshis. */
  value: bigint
  script: Buffer
}

export interface Tx {
  version: number
  inputs: readonly TxInput[]
  outputs: readonly TxOutput[]
  locktime: number
}

export const noTxid = '00'.repeat(32)
export const noVout = 0xffffffff
const sighashAll = 1

export function isCoinbase(tx: Tx): boolean {
  return tx.inputs.length === 1 && tx.inputs[0]?.txid === noTxid && tx.inputs[0].vout === noVout
}

export function sha256(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer')
}

export function hash256(bytes: Uint8Array): Buffer {
  return sha256(sha256(bytes))
}

/** Converts a hash between its bytes and the usual form. */
export function reversed(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes).reverse()
}

export function txidOf(tx: Tx): string {
  return reversed(hash256(serialize(tx, { witness: false }))).toString('hex')
}

export function sizesOf(tx: Tx): { size: number; weight: number } {
  const size = serialize(tx, { witness: true }).length
  return { size, weight: serialize(tx, { witness: false }).length * 3 + size }
}

export function serialize(tx: Tx, { witness }: { witness: boolean }): Buffer {
  const hasWitness = witness && tx.inputs.some((input) => input.witness.length > 0)
  return Buffer.concat([
    uint32(tx.version),
    ...(hasWitness ? [Buffer.from([0, 1])] : []),
    compactSize(tx.inputs.length),
    ...tx.inputs.flatMap((input) => [outpoint(input), sized(input.scriptSig), uint32(input.sequence)]),
    compactSize(tx.outputs.length),
    ...tx.outputs.map(outputBytes),
    ...(hasWitness
      ? tx.inputs.flatMap((input) => [compactSize(input.witness.length), ...input.witness.map(sized)])
      : []),
    uint32(tx.locktime),
  ])
}

/** Throws a RangeError unless the bytes are exactly one transaction. */
export function parseTransaction(raw: Buffer): Tx {
  let at = 0
  const take = (length: number): Buffer => {
    if (at + length > raw.length) throw new RangeError('the transaction ends too early')
    at += length
    return raw.subarray(at - length, at)
  }
  const number = (): number => {
    const first = take(1).readUInt8()
    if (first < 0xfd) return first
    if (first === 0xfd) return take(2).readUInt16LE()
    if (first === 0xfe) return take(4).readUInt32LE()
    throw new RangeError('a count in the transaction is too large')
  }
  const list = <T>(read: () => T): T[] => Array.from({ length: number() }, read)

  const version = take(4).readUInt32LE()
  const hasWitness = raw[at] === 0
  if (hasWitness && take(2).readUInt8(1) !== 1) throw new RangeError('the flag of the witness is not 1')
  const bare = list(() => ({
    txid: reversed(take(32)).toString('hex'),
    vout: take(4).readUInt32LE(),
    scriptSig: take(number()),
    sequence: take(4).readUInt32LE(),
  }))
  const outputs = list(() => ({ value: take(8).readBigUInt64LE(), script: take(number()) }))
  const inputs = bare.map((input) => ({ ...input, witness: hasWitness ? list(() => take(number())) : [] }))
  const locktime = take(4).readUInt32LE()
  if (at !== raw.length) throw new RangeError('bytes follow the transaction')
  return { version, inputs, outputs, locktime }
}

/** What a legacy signature is over, before it is hashed twice. `scriptCode`: the script of the output that is spent. */
export function legacyMessage(tx: Tx, index: number, scriptCode: Buffer): Buffer {
  const inputs = tx.inputs.map((input, at) => ({
    ...input,
    scriptSig: at === index ? scriptCode : Buffer.alloc(0),
    witness: [],
  }))
  return Buffer.concat([serialize({ ...tx, inputs }, { witness: false }), uint32(sighashAll)])
}

/** BIP-143, before it is hashed twice. */
export function segwitMessage(tx: Tx, index: number, scriptCode: Buffer, value: bigint): Buffer {
  const input = inputAt(tx, index)
  return Buffer.concat([
    uint32(tx.version),
    hash256(Buffer.concat(tx.inputs.map(outpoint))),
    hash256(Buffer.concat(tx.inputs.map(({ sequence }) => uint32(sequence)))),
    outpoint(input),
    sized(scriptCode),
    uint64(value),
    uint32(input.sequence),
    hash256(Buffer.concat(tx.outputs.map(outputBytes))),
    uint32(tx.locktime),
    uint32(sighashAll),
  ])
}

/** BIP-341, key path, SIGHASH_DEFAULT: the hash itself. */
export function taprootHash(tx: Tx, index: number, spent: readonly TxOutput[]): Buffer {
  const message = Buffer.concat([
    Buffer.from([0, 0]),
    uint32(tx.version),
    uint32(tx.locktime),
    sha256(Buffer.concat(tx.inputs.map(outpoint))),
    sha256(Buffer.concat(spent.map(({ value }) => uint64(value)))),
    sha256(Buffer.concat(spent.map(({ script }) => sized(script)))),
    sha256(Buffer.concat(tx.inputs.map(({ sequence }) => uint32(sequence)))),
    sha256(Buffer.concat(tx.outputs.map(outputBytes))),
    Buffer.from([0]),
    uint32(index),
  ])
  return taggedHash('TapSighash', message)
}

/** BIP-340. */
export function taggedHash(tag: string, ...parts: Uint8Array[]): Buffer {
  const prefix = sha256(Buffer.from(tag))
  return sha256(Buffer.concat([prefix, prefix, ...parts]))
}

function inputAt(tx: Tx, index: number): TxInput {
  const input = tx.inputs[index]
  if (input === undefined) throw new RangeError(`the transaction has no input ${index}`)
  return input
}

function outpoint({ txid, vout }: TxInput): Buffer {
  return Buffer.concat([Buffer.from(txid, 'hex').reverse(), uint32(vout)])
}

function outputBytes({ value, script }: TxOutput): Buffer {
  return Buffer.concat([uint64(value), sized(script)])
}

function sized(bytes: Buffer): Buffer {
  return Buffer.concat([compactSize(bytes.length), bytes])
}

function compactSize(count: number): Buffer {
  if (count < 0xfd) return Buffer.from([count])
  const bytes = Buffer.alloc(3)
  bytes.writeUInt8(0xfd)
  bytes.writeUInt16LE(count, 1)
  return bytes
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}
