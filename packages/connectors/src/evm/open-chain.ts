/** What one reader learns about a chain once. It is used for some seconds, and by all lists of the chain. */
import { minuteMs } from '@assay/core'
import type { Height } from '../kit/connector.ts'
import { fetchHead, type ChainClient, type Head } from './client.ts'
import { rememberDecimals, type FindDecimals } from './decimals.ts'
import { behindMaxMs, fetchReach } from './index-height.ts'
import { rememberTimes, type PageContext } from './pages.ts'

export interface OpenChain {
  client: ChainClient
  findTime: PageContext['findTime']
  findDecimals: FindDecimals
  height: NodeHeight | undefined
  reach: Height | undefined
}

type NodeHeight = Height & Pick<Head, 'timeMs'>

export function openChain(client: ChainClient): OpenChain {
  return {
    client,
    findTime: rememberTimes(client),
    findDecimals: rememberDecimals(client),
    height: undefined,
    reach: undefined,
  }
}

/** The height of the node. */
export async function getHeight(chain: OpenChain): Promise<NodeHeight> {
  if (chain.height !== undefined) return chain.height
  const atMs = chain.client.now()
  const { number, timeMs } = await fetchHead(chain.client, chain.findTime)
  chain.height = { height: number, atMs, timeMs }
  return chain.height
}

const lateMs = 5 * minuteMs

/** Up to where the lists can be read, which is the lower of the heights of the node and of the index. */
export async function getReach(chain: OpenChain): Promise<Height> {
  if (chain.reach !== undefined) return chain.reach
  const { height: number, timeMs, atMs } = await getHeight(chain)
  const height = await fetchReach(chain.client, { number, timeMs })
  // The first block that the index does not have yet.
  const missingMs = height < number ? await chain.findTime(height + 1) : undefined
  const isFarBehind = missingMs !== undefined && timeMs - missingMs > behindMaxMs
  const isLate = atMs - (missingMs ?? timeMs) > lateMs
  const behind = `${chain.client.chain.name}: the index ends ${number - height} blocks before the node`
  chain.reach = { height, atMs, isLate, ...(isFarBehind ? { behind } : {}) }
  return chain.reach
}
