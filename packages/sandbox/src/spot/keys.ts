/**
 * API keys of the length that each exchange gives. The keys of `core/keys.ts` have 42 bytes, and Bybit's have eighteen
 * letters and digits; so these hold the account more tightly: a byte for the scenario, twelve for the account, and as
 * many check bytes as still fit. A keyed permutation hides them, so that two keys share no visible part.
 */
import { createHmac } from 'node:crypto'
import { scenarioTagOf } from '../core/keys.ts'

const accountBytes = 12
const headBytes = 1 + accountBytes
const rounds = 6

export interface SpotKeys {
  keyOf(account: { scenario: { name: string }; keyNumber: string }): string
  /** The id of the account, or undefined for a key that was not made here. */
  read(key: string): string | undefined
}

export interface KeyShape {
  bytes: number
  write(bytes: Buffer): string
  /** Undefined for a text of another shape. */
  read(text: string): Buffer | undefined
}

export function createSpotKeys(
  seed: string,
  provider: string,
  scenarios: readonly { name: string }[],
  shape: KeyShape,
): SpotKeys {
  const nameByTag = new Map(scenarios.map(({ name }) => [tagOf(name), name]))
  if (nameByTag.size < scenarios.length)
    throw new Error(`two scenarios of ${provider} have the same key byte: rename one`)
  const derive = (purpose: string, data: Buffer): Buffer =>
    createHmac('sha256', seed).update(`${provider}\n${purpose}\n`).update(data).digest()
  const checkOf = (head: Buffer): Buffer => derive('check', head).subarray(0, shape.bytes - headBytes)
  const round = (index: number, half: Buffer): Buffer => derive(`round ${index}`, half)

  return {
    keyOf({ scenario, keyNumber }) {
      const head = Buffer.concat([Buffer.from([tagOf(scenario.name)]), Buffer.from(keyNumber, 'hex')])
      return shape.write(permute(Buffer.concat([head, checkOf(head)]), round))
    },
    read(key) {
      const bytes = shape.read(key)
      if (bytes?.length !== shape.bytes) return undefined
      const plain = permuteBack(bytes, round)
      const head = plain.subarray(0, headBytes)
      const name = nameByTag.get(head[0] ?? 0)
      if (name === undefined || !checkOf(head).equals(plain.subarray(headBytes))) return undefined
      return `${provider}.${name}.${head.subarray(1).toString('hex')}`
    },
  }
}

function tagOf(scenario: string): number {
  return parseInt(scenarioTagOf(scenario).slice(0, 2), 16)
}

type Round = (index: number, half: Buffer) => Buffer

/** A Feistel network over two parts, which need not have the same length. */
function permute(bytes: Buffer, round: Round): Buffer {
  let [left, right] = halves(bytes, bytes.length >> 1)
  for (let index = 0; index < rounds; index += 1) [left, right] = [right, xor(left, round(index, right))]
  return Buffer.concat([left, right])
}

function permuteBack(bytes: Buffer, round: Round): Buffer {
  // The parts change places in every round; after an even number of rounds the lengths are as in the beginning.
  let [left, right] = halves(bytes, bytes.length >> 1)
  for (let index = rounds - 1; index >= 0; index -= 1) [left, right] = [xor(right, round(index, left)), left]
  return Buffer.concat([left, right])
}

function halves(bytes: Buffer, length: number): [Buffer, Buffer] {
  return [Buffer.from(bytes.subarray(0, length)), Buffer.from(bytes.subarray(length))]
}

function xor(bytes: Buffer, stream: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, index) => byte ^ (stream[index] ?? 0)))
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const base = BigInt(alphabet.length)

/** So many letters and digits. */
export function lettersAndDigits(bytes: number, length: number): KeyShape {
  return {
    bytes,
    write: (key) => toBase62(key, length),
    read(text) {
      if (text.length !== length || !/^[A-Za-z0-9]+$/.test(text)) return undefined
      let number = 0n
      for (const character of text) number = number * base + BigInt(alphabet.indexOf(character))
      const hex = number.toString(16).padStart(bytes * 2, '0')
      return hex.length > bytes * 2 ? undefined : Buffer.from(hex, 'hex')
    },
  }
}

/** The last `length` digits of the number that the bytes make. */
export function toBase62(bytes: Buffer, length: number): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  while (text.length < length) {
    text = alphabet.charAt(Number(rest % base)) + text
    rest /= base
  }
  return text
}
