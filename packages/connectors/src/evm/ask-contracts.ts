/**
 * Asks many contracts one question each.
 *
 * The contracts are called in groups through Multicall3, which has one address on all chains (multicall3.com); where it
 * is not deployed, each contract is called separately. A stranger can send a wallet tokens whose contracts use up the
 * gas, the time or the length of the answer of the whole call, and nodes and their proxies have many words for that. So
 * after any failure but a limit or a lost connection, the group is asked again in parts, down to single contracts. An
 * unknown contract that fails alone is left out: whether it or the node has failed is not known.
 *
 * The node may have failed as well. Known contracts answer, and the wrapped coin of every chain is one, so they are
 * asked first: as long as one of them fails, that is a fault, and no other contract is left out.
 *
 * One call of the connector makes no more requests than its price covers. What is left stays in the round.
 */
import { SourceError } from '@assay/core'
import type { Address, Hex } from 'viem'
import { groupSize, RevertedCall, type ChainClient } from './client.ts'
import { MalformedAnswer, packCalls, readResults, readVerdict, type ContractCall, type Verdict } from './multicall.ts'
import type { Unasked } from './state.ts'

/** The most requests to nodes in one call. The budget charges this many; the next call continues. */
export const requestsPerCall = 24

/** Public nodes refuse calls that burn much gas; one balance takes about 3,000 to 30,000. */
const callsMax = 150
/** A group that failed is asked in parts of this size, and a part that failed one by one. */
const partMax = 15

/**
 * The most requests in a round that search the groups of one chain for the contracts that fail. After that, only known
 * contracts of such groups are asked, and the others are left out.
 */
const searchMax = 100
/** A contract that fails alone is asked once more, after the contract that answers (`last`). */
const requestsAlone = 3
/** A call that fails without a verdict of its contract may have taken the node seconds, and counts as this many. */
const failedWeight = 5

type Group = Unasked['groups'][number]

/**
 * What one contract is asked. Those of known contracts have to come first, and then those that are asked in the largest
 * groups.
 */
export interface Question extends ContractCall {
  /** The contract is known to answer soon and briefly: if the call fails, the node did that. */
  isKnown: boolean
  /** A larger group with it has failed before, and it is asked in one of at most this size. */
  partSize?: number
  /** Undefined for a contract that is left out. */
  keep(verdict: Verdict | undefined): void
  /** Its group has failed and is asked again in parts of this size, perhaps not by this call. */
  narrow?(partSize: number): void
}

export interface Spending {
  requests: number
  requestsMax: number
}

export interface Asking {
  address: Address
  /** How many requests to nodes this call has made, and the most that it may make. */
  spent: Spending
  hasProgressed: boolean
}

/** A client that counts its requests. */
export function withCount(client: ChainClient, spent: Spending): ChainClient {
  return {
    ...client,
    rpc(method, params) {
      spent.requests += 1
      return client.rpc(method, params)
    },
  }
}

/** No contract was asked yet. */
export function startAsking(questions: readonly Pick<Question, 'isKnown' | 'partSize'>[]): Unasked {
  const groups: Group[] = []
  for (let from = 0; from < questions.length;) {
    const { isKnown, partSize = callsMax } = questions[from] ?? {}
    const other = questions.findIndex(
      (one, at) => at > from && (one.isKnown !== isKnown || (one.partSize ?? callsMax) !== partSize),
    )
    const to = other === -1 ? questions.length : other
    groups.push(...split([from, to], isKnown === true ? callsMax : partSize))
    from = to
  }
  return { groups, effort: 0 }
}

interface AskOptions {
  last?: ContractCall
  effortMax?: number
  /** How many requests of this call are left to the caller. */
  countReserved?(this: void): number
}

/**
 * Asks what is left. False when this call has made enough requests. `last` is asked behind each group: without its
 * answer, those of the group are not used.
 */
export async function askContracts(
  client: ChainClient,
  asking: Pick<Asking, 'spent' | 'hasProgressed'>,
  questions: readonly Question[],
  unasked: Unasked,
  { last, effortMax = searchMax, countReserved = () => 0 }: AskOptions = {},
): Promise<boolean> {
  while (unasked.groups.length > 0) {
    if (unasked.effort >= effortMax) unasked.groups = unasked.groups.filter((group) => isStillAsked(questions, group))
    const room = asking.spent.requestsMax - asking.spent.requests - countReserved()
    const next = unasked.groups.slice(0, groupSize)
    const isAlone = next.some((group) => sizeOf(group) === 1 && !isKnown(questions, group))
    const count = Math.floor(room / (last !== undefined && isAlone ? requestsAlone : 1))
    if (count <= 0) return false
    await askSome(client, asking, questions, { unasked, count: Math.min(count, groupSize), last })
  }
  return true
}

async function askSome(
  client: ChainClient,
  asking: Pick<Asking, 'hasProgressed'>,
  questions: readonly Question[],
  { unasked, count, last }: { unasked: Unasked; count: number; last: ContractCall | undefined },
): Promise<void> {
  const knownCount = unasked.groups.filter((group) => isKnown(questions, group)).length
  const groups = unasked.groups.splice(0, Math.min(count, knownCount === 0 ? count : knownCount))
  const answers = await Promise.allSettled(groups.map((group) => askGroup(client, questions.slice(...group), last)))
  const again = groups.flatMap((group, index): Group[] => {
    const answer = answers[index]
    if (answer?.status !== 'fulfilled') return [group]
    asking.hasProgressed = true
    const { verdicts, effort = 0, partSize } = answer.value
    unasked.effort += effort
    const asked = questions.slice(...group)
    if (partSize !== undefined) {
      for (const { narrow } of asked) narrow?.(partSize)
      return split(group, partSize)
    }
    for (const [at, { keep }] of asked.entries()) keep(verdicts?.[at])
    return []
  })
  unasked.groups.unshift(...again)
  const lost = answers.find((answer) => answer.status === 'rejected')
  if (lost !== undefined) throw lost.reason
}

function split([from, to]: Group, size: number): Group[] {
  const groups: Group[] = []
  for (let at = from; at < to; at += size) groups.push([at, Math.min(at + size, to)])
  return groups
}

const sizeOf = ([from, to]: Group): number => to - from

/** A group has either known contracts or unknown ones. Those with known ones are first. */
function isKnown(questions: readonly Question[], [from]: Group): boolean {
  return questions[from]?.isKnown === true
}

/** After the search: a group that was not asked yet may still answer as a whole. */
function isStillAsked(questions: readonly Question[], group: Group): boolean {
  return sizeOf(group) > partMax || isKnown(questions, group)
}

interface GroupAnswer {
  /** Absent when the group has to be asked again, or is one contract that is left out. */
  verdicts?: readonly Verdict[]
  /** The group has to be asked again in parts of this size. */
  partSize?: number
  /** What this answer takes from the search of the round. */
  effort?: number
}

async function askGroup(
  client: ChainClient,
  questions: readonly Question[],
  last: ContractCall | undefined,
): Promise<GroupAnswer> {
  const isWhole = questions.length > partMax
  const effort = isWhole ? 0 : 1
  const partSize = isWhole ? partMax : 1
  const alone = questions.length === 1 ? questions[0] : undefined
  try {
    if (alone !== undefined) return { verdicts: [await askAlone(client, alone)], effort }
    // Undefined where one contract used up what all may use.
    const calls = [...questions, ...(last === undefined ? [] : [last])]
    const answer = await call(client, packCalls(calls))
    const verdicts = answer && readResults(answer, calls.length)
    return verdicts === undefined || (last !== undefined && typeof verdicts.at(-1) !== 'bigint')
      ? { partSize, effort }
      : { verdicts, effort }
  } catch (error) {
    if (!(error instanceof SourceError) || error.fault !== 'unreadable_answer' || alone?.isKnown === true) throw error
    if (alone !== undefined && last !== undefined) {
      // It throws if the node failed. Otherwise the contract is asked a second time, and then left out.
      await call(client, last)
      return askGroup(client, questions, undefined)
    }
    if (alone !== undefined) return { effort: failedWeight }
    // No contract failed, so calling each one separately does not count as a search.
    if (error instanceof MalformedAnswer) return { partSize: 1, effort: -questions.length }
    return { partSize, effort: failedWeight }
  }
}

/** A node that does not have the block yet fails. */
export async function askAlone(client: ChainClient, question: ContractCall, block?: number): Promise<Verdict> {
  const answer = await call(client, question, block)
  return answer === undefined ? 'refused' : readVerdict(answer)
}

/** Undefined where the contract refused. */
async function call(client: ChainClient, { to, data }: ContractCall, block?: number): Promise<Hex | undefined> {
  try {
    const at = block === undefined ? 'latest' : `0x${block.toString(16)}`
    const answer = await client.rpc('eth_call', [{ to, data }, at])
    if (typeof answer === 'string' && /^0x[0-9a-f]*$/i.test(answer)) return answer as Hex
  } catch (error) {
    if (error instanceof RevertedCall) return undefined
    throw error
  }
  throw new MalformedAnswer('unreadable_answer', `${client.chain.name}: eth_call: not hexadecimal`)
}
