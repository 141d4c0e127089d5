/**
 * The address of a caller, in one form for all the ways of writing it. Callers are counted by it, so a second spelling
 * would be a second limit.
 */
import { isIPv4, isIPv6 } from 'node:net'

export type Address = { version: 4; text: string } | { version: 6; groups: readonly string[] }

/** Undefined for text that is not an address, which a proxy may send. */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) return { version: 4, text }
  const bare = withoutPort(text)
  if (isIPv4(bare)) return { version: 4, text: bare }
  if (!isIPv6(bare)) return undefined
  const groups = toGroups(bare)
  const isMapped = groups.slice(0, 5).every((group) => group === '0') && groups[5] === 'ffff'
  return isMapped ? { version: 4, text: toDotted(groups.slice(6)) } : { version: 6, groups }
}

/** Some proxies write the port of each connection: 192.0.2.1:4711 and [2001:db8::1]:4711. */
function withoutPort(text: string): string {
  return text.replace(/^\[([^\]]*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
}

/** All eight, in lower case and without leading zeros. */
function toGroups(address: string): string[] {
  const hexadecimal = address
    .replace(/%.*$/, '')
    .replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => toHexadecimal(bytes.slice(0, 4)))
  const [head = '', tail = ''] = hexadecimal.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].map((group) => group.toLowerCase().replace(/^0+(?=.)/, ''))
}

function toHexadecimal(bytes: readonly string[]): string {
  const [a = '', b = '', c = '', d = ''] = bytes.map((byte) => Number(byte).toString(16).padStart(2, '0'))
  return `${a}${b}:${c}${d}`
}

function toDotted(groups: readonly string[]): string {
  const numbers = groups.map((group) => Number.parseInt(group, 16))
  return numbers.flatMap((number) => [number >> 8, number & 255]).join('.')
}
