/**
 * How far the index of a chain is. A history is what the index lists, so it is complete up to there, however far the
 * node is: an index may be minutes or hours behind.
 *
 * The question is the newest block at the time of the node's newest one. Etherscan, Blockscout and Routescan document
 * it alike (`getblocknobytime`) and answer it from the blocks that they have indexed; Etherscan's result is the number,
 * Blockscout's an object with it. An index without it may have Etherscan's `proxy` module, whose `eth_blockNumber`
 * answers like a node and may be ahead of the lists.
 */
import { hourMs, minuteMs, SourceError } from '@assay/core'
import { z } from 'zod'
import { toBigInt, toIndexError, UnknownAction, type ChainClient, type Head } from './client.ts'

const block = z.string().regex(/^\d{1,12}$/)
const byTime = z.union([block, z.object({ blockNumber: block }).transform(({ blockNumber }) => blockNumber)])

/** An index that is further behind is reported. Most are some seconds behind, and during an upgrade some minutes. */
export const behindMaxMs = hourMs

/** The newest block that both the node and the index have. */
export async function fetchReach(client: ChainClient, head: Head): Promise<number> {
  return Math.min(head.number, await fetchIndexed(client, head))
}

/**
 * Etherscan looks for a block within ten minutes before the time, and older versions of Blockscout within one. So the
 * answer is exact up to an hour, and then a block that the index has, but not its newest one.
 */
const stepsBackMs = [0, 10, 20, 30, 40, 50, 60, 120, 1_440].map((minutes) => minutes * minuteMs)
const nothingNear = /no closest block|block does not exist/i

async function fetchIndexed(client: ChainClient, { timeMs }: Head): Promise<number> {
  try {
    for (const backMs of stepsBackMs) {
      const found = await findByTime(client, timeMs - backMs)
      if (found !== undefined) return found
    }
  } catch (error) {
    if (error instanceof UnknownAction) return fetchProxied(client)
    throw error
  }
  throw new SourceError('data_hole', `${client.chain.name}: the index has no block of the last day`)
}

/** Undefined when the index has no block near that time. */
async function findByTime(client: ChainClient, timeMs: number): Promise<number | undefined> {
  const timestamp = Math.floor(timeMs / 1000)
  const answer = await client.ask('block', 'getblocknobytime', { timestamp, closest: 'before' })
  const found = byTime.safeParse(answer.result)
  if (answer.status === '1' && found.success) return Number(found.data)
  if (nothingNear.test(`${answer.message} ${String(answer.result)}`)) return undefined
  throw toIndexError(`${client.chain.name}: getblocknobytime`, answer)
}

async function fetchProxied(client: ChainClient): Promise<number> {
  try {
    const answer = await client.ask('proxy', 'eth_blockNumber', {})
    const { result } = answer
    if (typeof result === 'string' && /^0x/.test(result)) return Number(toBigInt('eth_blockNumber', result))
    throw toIndexError(`${client.chain.name}: eth_blockNumber`, answer)
  } catch (error) {
    if (!(error instanceof UnknownAction)) throw error
    const detail = `${client.chain.name}: the index does not say how far it is`
    throw new SourceError('data_hole', detail, { cause: error })
  }
}
