/**
 * Output descriptors (BIP-380 to BIP-389), as far as one extended public key makes a wallet: `pkh`, `wpkh`, `sh(wpkh)`
 * and `tr` with a key alone. Scripts with several keys are refused by name instead of being read in part.
 */
import { findExtendedPublicKey, type ExtendedPublicKey, type ScriptKind } from './extended-key.ts'

export interface Descriptor {
  script: ScriptKind
  key: ExtendedPublicKey
  /** The steps from the key to each list of addresses: two for `<0;1>`, which is receiving and change. */
  branches: readonly (readonly number[])[]
  /** Whether each branch has a list of addresses, or is the path to one. */
  isRanged: boolean
}

export type DescriptorMistake = 'checksum' | 'test_network' | 'unsupported_script'

/** One with a single key has some 300 characters, and one with several keys, which is refused by name, has thousands. */
const lengthMax = 4_096

/** Any of the functions that a descriptor can begin with, including those that are not read. */
const shape = /^(?:addr|combo|multi|pk|pkh|raw|rawtr|sh|sortedmulti|tr|wpkh|wsh)\(.*\)(?:#.*)?$/

const wrappers: ReadonlyMap<string, ScriptKind> = new Map([
  ['pkh', 'pkh'],
  ['wpkh', 'wpkh'],
  ['sh(wpkh', 'sh(wpkh)'],
  ['tr', 'tr'],
])
const parts =
  /^(pkh|wpkh|sh\(wpkh|tr)\((?:\[[0-9a-fA-F]{8}(?:\/\d+['hH]?)*\])?([1-9A-HJ-NP-Za-km-z]+)((?:\/[^/()]+)*)\)+$/

/** A multipath may name more than two branches; no real wallet has more than this. */
const branchesMax = 8
/** From a key to an address BIP-44 has five. Each takes milliseconds for each branch, on the thread that all jobs share. */
const stepsMax = 6
/** BIP-32: numbers from 2³¹ on are hardened, and a public key has no such children. */
const hardenedFrom = 2 ** 31

/** Undefined when the text is not a descriptor. */
export function findDescriptor(text: string): { descriptor: Descriptor } | { mistake: DescriptorMistake } | undefined {
  if (text.length > lengthMax || !shape.test(text)) return undefined
  const [body = '', checksum] = text.split('#', 2)
  if (checksum !== undefined && checksum !== toDescriptorChecksum(body)) return { mistake: 'checksum' }
  const [, wrapper = '', keyText = '', path = ''] = parts.exec(body) ?? []
  const script = wrappers.get(wrapper)
  const opened = wrapper.includes('(') ? 2 : 1
  if (script === undefined || !body.endsWith(')'.repeat(opened)) || body.endsWith(')'.repeat(opened + 1))) {
    return { mistake: 'unsupported_script' }
  }
  if (!/^[a-z]pub/i.test(keyText)) return { mistake: 'unsupported_script' }
  const key = findExtendedPublicKey(keyText)
  if (key === undefined) return { mistake: 'checksum' }
  if (key.network === 'test') return { mistake: 'test_network' }
  const steps = path.split('/').slice(1)
  const isRanged = steps.at(-1) === '*'
  const branches = findBranches(isRanged ? steps.slice(0, -1) : steps)
  return branches === undefined
    ? { mistake: 'unsupported_script' }
    : { descriptor: { script, key, branches, isRanged } }
}

/** BIP-389: one step may name several children, and each of them is a branch. */
function findBranches(steps: readonly string[]): number[][] | undefined {
  if (steps.length > stepsMax) return undefined
  let branches: number[][] = [[]]
  let isSplit = false
  for (const step of steps) {
    const isMultipath = /^<\d+(?:;\d+)+>$/.test(step)
    const numbers = (isMultipath ? step.slice(1, -1).split(';') : [step]).map(findChildNumber)
    if ((isMultipath && isSplit) || numbers.length > branchesMax || new Set(numbers).size < numbers.length)
      return undefined
    isSplit ||= isMultipath
    branches = branches.flatMap((branch) => numbers.map((number) => [...branch, number ?? -1]))
  }
  return branches.every((branch) => branch.every((number) => number >= 0)) ? branches : undefined
}

function findChildNumber(text: string): number | undefined {
  if (!/^\d{1,10}$/.test(text)) return undefined
  const number = Number(text)
  return number < hardenedFrom ? number : undefined
}

// BIP-380, "Checksum": characters in groups of 32, so that characters that are often confused differ in one symbol.
const inputCharacters =
  '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ '
const checksumCharacters = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const generator = [0xf5dee51989n, 0xa9fdca3312n, 0x1bab10e32dn, 0x3706b1677an, 0x644d626ffdn] as const

/** Undefined when a character cannot be in a descriptor. */
export function toDescriptorChecksum(body: string): string | undefined {
  const symbols: number[] = []
  let groups: number[] = []
  for (const character of body) {
    const place = inputCharacters.indexOf(character)
    if (place === -1) return undefined
    symbols.push(place & 31)
    groups.push(place >> 5)
    if (groups.length < 3) continue
    symbols.push(groups.reduce((sum, group) => sum * 3 + group, 0))
    groups = []
  }
  if (groups.length > 0) symbols.push(groups.reduce((sum, group) => sum * 3 + group, 0))
  const sum = [...symbols, 0, 0, 0, 0, 0, 0, 0, 0].reduce(addSymbol, 1n) ^ 1n
  return Array.from(
    { length: 8 },
    (_, index) => checksumCharacters[Number((sum >> BigInt(5 * (7 - index))) & 31n)],
  ).join('')
}

function addSymbol(sum: bigint, symbol: number): bigint {
  const top = sum >> 35n
  const shifted = ((sum & 0x7ffffffffn) << 5n) ^ BigInt(symbol)
  return generator.reduce((mixed, value, bit) => ((top >> BigInt(bit)) & 1n ? mixed ^ value : mixed), shifted)
}
