/**
 * Whether an input was signed by the key that its output asks for. ECDSA is checked by OpenSSL, Schnorr by the
 * arithmetic below: neither is the code that signs, so that a transaction which passes is one that others accept, too.
 * Source: https://github.com/bitcoin/bips/blob/master/bip-0340.mediawiki (Schnorr).
 */
import { createPublicKey, hash, verify, type KeyObject } from 'node:crypto'
import { scriptTypeOf } from './script.ts'
import { legacyMessage, segwitMessage, sha256, taggedHash, taprootHash, type Tx, type TxOutput } from './transaction.ts'

/** `spent`: the outputs that the inputs spend, in the order of the inputs. */
export function isSigned(tx: Tx, index: number, spent: readonly TxOutput[]): boolean {
  const input = tx.inputs[index]
  const output = spent[index]
  if (input === undefined || output === undefined) return false
  const { witness, scriptSig } = input
  const type = scriptTypeOf(output.script)
  if (type === 'v1_p2tr') {
    const [signature] = witness
    if (witness.length !== 1 || signature?.length !== 64 || scriptSig.length > 0) return false
    return verifySchnorr(output.script.subarray(2), taprootHash(tx, index, spent), signature)
  }
  if (type === 'p2pkh') {
    const [signature, key] = pushesOf(scriptSig)
    if (signature === undefined || key === undefined || witness.length > 0) return false
    return (
      isKeyOf(key, output.script.subarray(3, 23)) && isEcdsa(legacyMessage(tx, index, output.script), signature, key)
    )
  }
  const program = type === 'p2sh' ? findRedeemScript(scriptSig, output.script) : output.script
  if (program === undefined || scriptTypeOf(program) !== 'v0_p2wpkh') return false
  if (type === 'v0_p2wpkh' && scriptSig.length > 0) return false
  const [signature, key] = witness
  if (witness.length !== 2 || signature === undefined || key === undefined) return false
  const keyHash = program.subarray(2)
  return isKeyOf(key, keyHash) && isEcdsa(segwitMessage(tx, index, scriptCodeOf(keyHash), output.value), signature, key)
}

/** The script that a SegWit v0 signature is over (BIP-143). */
export function scriptCodeOf(keyHash: Buffer): Buffer {
  return Buffer.concat([Buffer.from('76a914', 'hex'), keyHash, Buffer.from('88ac', 'hex')])
}

export function hash160(bytes: Uint8Array): Buffer {
  return hash('ripemd160', sha256(bytes), 'buffer')
}

function isKeyOf(key: Buffer, keyHash: Buffer): boolean {
  return hash160(key).equals(keyHash)
}

function pushesOf(script: Buffer): Buffer[] {
  const pushes: Buffer[] = []
  for (let at = 0; at < script.length;) {
    const length = script.readUInt8(at)
    if (length === 0 || length > 75) return []
    pushes.push(script.subarray(at + 1, at + 1 + length))
    at += 1 + length
  }
  return pushes
}

function findRedeemScript(scriptSig: Buffer, script: Buffer): Buffer | undefined {
  const [redeem, ...more] = pushesOf(scriptSig)
  if (redeem === undefined || more.length > 0) return undefined
  return hash160(redeem).equals(script.subarray(2, 22)) ? redeem : undefined
}

// An exchange pays thousands of times with one key, and reading a key costs as much as using it.
const keysMax = 1_000
const keys = new Map<string, KeyObject>()
const keyPrefix = Buffer.from('3036301006072a8648ce3d020106052b8104000a032200', 'hex')

function isEcdsa(message: Buffer, signature: Buffer, key: Buffer): boolean {
  if (key.length !== 33 || signature.at(-1) !== 1) return false
  // OpenSSL hashes once more by itself: Bitcoin signs the double hash.
  return verify('sha256', sha256(message), openSslKey(key), signature.subarray(0, -1))
}

function openSslKey(key: Buffer): KeyObject {
  const name = key.toString('hex')
  const known = keys.get(name)
  if (known !== undefined) return known
  const made = createPublicKey({ key: Buffer.concat([keyPrefix, key]), format: 'der', type: 'spki' })
  if (keys.size >= keysMax) keys.clear()
  keys.set(name, made)
  return made
}

const p = 2n ** 256n - 2n ** 32n - 977n
const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const generator: Point = {
  x: 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n,
  y: 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n,
  z: 1n,
}

/** Jacobian: the point (x / z², y / z³). A z of 0 is the point at infinity. */
interface Point {
  x: bigint
  y: bigint
  z: bigint
}

export function verifySchnorr(key: Buffer, message: Buffer, signature: Buffer): boolean {
  const lifted = liftX(toNumber(key))
  const r = toNumber(signature.subarray(0, 32))
  const s = toNumber(signature.subarray(32))
  if (lifted === undefined || r >= p || s >= n) return false
  const e = toNumber(taggedHash('BIP0340/challenge', signature.subarray(0, 32), key, message)) % n
  const { x, y, z } = add(multiply(generator, s), multiply(lifted, n - e))
  if (z === 0n) return false
  const inverse = power(z, p - 2n)
  const evenY = mod(y * inverse * inverse * inverse) % 2n === 0n
  return evenY && mod(x * inverse * inverse) === r
}

function toNumber(bytes: Buffer): bigint {
  return BigInt(`0x${bytes.toString('hex')}`)
}

function mod(value: bigint): bigint {
  const rest = value % p
  return rest < 0n ? rest + p : rest
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, square, left] = [1n, base, exponent]
  for (; left > 0n; left >>= 1n) {
    if (left & 1n) result = mod(result * square)
    square = mod(square * square)
  }
  return result
}

/** The point of that x whose y is even. */
function liftX(x: bigint): Point | undefined {
  if (x >= p) return undefined
  const square = mod(x * x * x + 7n)
  const y = power(square, (p + 1n) / 4n)
  if (mod(y * y) !== square) return undefined
  return { x, y: y % 2n === 0n ? y : p - y, z: 1n }
}

function multiply(point: Point, factor: bigint): Point {
  let result: Point = { x: 1n, y: 1n, z: 0n }
  let doubled = point
  for (let left = factor; left > 0n; left >>= 1n) {
    if (left & 1n) result = add(result, doubled)
    doubled = double(doubled)
  }
  return result
}

function double({ x, y, z }: Point): Point {
  if (z === 0n) return { x, y, z }
  const yy = mod(y * y)
  const s = mod(4n * x * yy)
  const m = mod(3n * x * x)
  const doubledX = mod(m * m - 2n * s)
  return { x: doubledX, y: mod(m * (s - doubledX) - 8n * yy * yy), z: mod(2n * y * z) }
}

function add(a: Point, b: Point): Point {
  if (a.z === 0n) return b
  if (b.z === 0n) return a
  const [aa, bb] = [mod(a.z * a.z), mod(b.z * b.z)]
  const [u1, u2] = [mod(a.x * bb), mod(b.x * aa)]
  const [s1, s2] = [mod(a.y * bb * b.z), mod(b.y * aa * a.z)]
  if (u1 === u2) return s1 === s2 ? double(a) : { x: 1n, y: 1n, z: 0n }
  const h = mod(u2 - u1)
  const r = mod(s2 - s1)
  const hh = mod(h * h)
  const v = mod(u1 * hh)
  const x = mod(r * r - hh * h - 2n * v)
  return { x, y: mod(r * (v - x) - s1 * hh * h), z: mod(h * a.z * b.z) }
}
