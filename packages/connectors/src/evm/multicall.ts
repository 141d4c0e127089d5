/**
 * Many calls of contracts in one, through Multicall3 (github.com/mds1/multicall3, `aggregate3`). A call that fails does
 * not fail the others.
 *
 * The answer is read here and not by viem. A decoder copies the bytes of every result, and the results of a node that
 * lies may all be at one place: 15 MB of text become gigabytes. Only the first word of each result is read, so what an
 * answer costs depends on the number of calls and not on what the node or a contract wrote.
 */
import { SourceError } from '@assay/core'
import { encodeFunctionData, multicall3Abi, type Address, type Hex } from 'viem'

export interface ContractCall {
  to: Address
  data: Hex
}

const multicallAddress = '0xcA11bde05977b3631167028862bE2a173976CA11'

export function packCalls(calls: readonly ContractCall[]): ContractCall {
  const packed = calls.map(({ to, data }) => ({ target: to, allowFailure: true, callData: data }))
  return {
    to: multicallAddress,
    data: encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [packed] }),
  }
}

/** No contract can cause it: Multicall3 is not deployed, or the node does not pass on what it answered. */
export class MalformedAnswer extends SourceError {}

const wordBytes = 32

/**
 * What a contract says: the first word of its answer; that it refused the call, which only code can do; or less than a
 * word, as an address without code does.
 */
export type Verdict = bigint | 'refused' | 'short'

/**
 * The verdict of each contract. The answer is a list of
 * `(bool success, bytes returnData)` (docs.soliditylang.org, "Contract ABI Specification": places are counted in bytes,
 * from the beginning of the list or tuple that they are in).
 */
export function readResults(answer: Hex, count: number): Verdict[] {
  const list = readNumber(answer, 0)
  const length = readNumber(answer, list)
  if (length !== count) throw malformed(`${length} results for ${count} calls`)
  const first = list + wordBytes
  return Array.from({ length }, (_, index) => {
    const result = first + readNumber(answer, first + index * wordBytes)
    const success = readNumber(answer, result)
    if (success > 1) throw malformed('a result is neither a success nor a failure')
    const bytes = result + readNumber(answer, result + wordBytes)
    const size = readNumber(answer, bytes)
    if (bytes + wordBytes + size > sizeOf(answer)) throw malformed('a result is longer than the answer')
    if (success === 0) return 'refused'
    return size >= wordBytes ? readVerdict(answer, bytes + wordBytes) : 'short'
  })
}

export function readVerdict(answer: Hex, at = 0): Verdict {
  return findWord(answer, at) ?? 'short'
}

/** Undefined where the answer has no whole word at this place. */
function findWord(answer: Hex, at: number): bigint | undefined {
  const start = 2 + 2 * at
  const word = answer.slice(start, start + 2 * wordBytes)
  return /^[0-9a-f]{64}$/i.test(word) ? BigInt(`0x${word}`) : undefined
}

/** A place or a length: neither is ever more than the bytes of the answer. */
function readNumber(answer: Hex, at: number): number {
  const word = findWord(answer, at)
  if (word === undefined || word > sizeOf(answer)) throw malformed('a place outside of the answer')
  return Number(word)
}

function sizeOf(answer: Hex): number {
  return (answer.length - 2) / 2
}

function malformed(what: string): MalformedAnswer {
  return new MalformedAnswer('unreadable_answer', `aggregate3: ${what}`)
}
