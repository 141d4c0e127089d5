/**
 * Scripts as Esplora shows them: their type, their address and their words. Source:
 * https://github.com/Blockstream/electrs/blob/new-index/src/rest.rs (the names of types) and rust-bitcoin's way of
 * writing a script ("OP_0 OP_PUSHBYTES_20 …").
 */
import { Address, NETWORK, OutScript, TEST_NETWORK } from '@scure/btc-signer'

export type ScriptType = 'p2pkh' | 'p2sh' | 'v0_p2wpkh' | 'v0_p2wsh' | 'v1_p2tr' | 'op_return' | 'empty' | 'unknown'

const prefixes: readonly { type: ScriptType; length: number; head: string; tail: string }[] = [
  { type: 'p2pkh', length: 25, head: '76a914', tail: '88ac' },
  { type: 'p2sh', length: 23, head: 'a914', tail: '87' },
  { type: 'v0_p2wpkh', length: 22, head: '0014', tail: '' },
  { type: 'v0_p2wsh', length: 34, head: '0020', tail: '' },
  { type: 'v1_p2tr', length: 34, head: '5120', tail: '' },
]

export function scriptTypeOf(script: Buffer): ScriptType {
  if (script.length === 0) return 'empty'
  if (script[0] === 0x6a) return 'op_return'
  const hex = script.toString('hex')
  const found = prefixes.find(
    ({ length, head, tail }) => script.length === length && hex.startsWith(head) && hex.endsWith(tail),
  )
  return found?.type ?? 'unknown'
}

export function isSpendable(script: Buffer): boolean {
  return script[0] !== 0x6a
}

/** Undefined for a script that has no address. */
export function findAddress(script: Buffer): string | undefined {
  const type = scriptTypeOf(script)
  if (type === 'op_return' || type === 'empty' || type === 'unknown') return undefined
  return Address(NETWORK).encode(OutScript.decode(script))
}

/** Why an address is refused, in the words of rust-bitcoin and of Esplora. */
export class AddressError extends Error {}

export function scriptOfAddress(address: string): Buffer {
  const decode = (network: typeof NETWORK): Buffer => Buffer.from(OutScript.encode(Address(network).decode(address)))
  try {
    return decode(NETWORK)
  } catch {
    if (isOfTestNetwork(address)) throw new AddressError('Address on invalid network')
    throw new AddressError(/^(bc|tb|bcrt)1/i.test(address) ? 'bech32 error' : 'base58 error')
  }

  function isOfTestNetwork(text: string): boolean {
    try {
      Address(TEST_NETWORK).decode(text)
      return true
    } catch {
      return false
    }
  }
}

/** OP_RETURN with one push of up to 75 bytes. */
export function dataScript(data: Buffer): Buffer {
  if (data.length > 75) throw new RangeError('an OP_RETURN output holds at most 75 bytes here')
  return Buffer.concat([Buffer.from([0x6a, data.length]), data])
}

export function push(bytes: Uint8Array): Buffer {
  if (bytes.length > 75) throw new RangeError('only short pushes are written here')
  return Buffer.concat([Buffer.from([bytes.length]), bytes])
}

const words: Readonly<Record<number, string>> = {
  0x00: 'OP_0',
  0x6a: 'OP_RETURN',
  0x76: 'OP_DUP',
  0x87: 'OP_EQUAL',
  0x88: 'OP_EQUALVERIFY',
  0xa9: 'OP_HASH160',
  0xac: 'OP_CHECKSIG',
}

export function asmOf(script: Buffer): string {
  const said: string[] = []
  for (let at = 0; at < script.length;) {
    const code = script.readUInt8(at)
    at += 1
    if (code >= 1 && code <= 75) {
      said.push(`OP_PUSHBYTES_${code}`, script.subarray(at, at + code).toString('hex'))
      at += code
    } else if (code >= 0x51 && code <= 0x60) said.push(`OP_PUSHNUM_${code - 0x50}`)
    else said.push(words[code] ?? `OP_RETURN_${code}`)
  }
  return said.join(' ')
}
