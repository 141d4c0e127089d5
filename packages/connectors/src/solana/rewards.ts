/**
 * What the epochs paid to one stake account. No transaction books it: a node tells it for one epoch at a time
 * (`getInflationReward`). So the list is read by epochs, from the one in which the account was made up to the last that was
 * paid out, and the cursor is the next epoch to ask for.
 *
 * A window is in time and is covered once all epochs that have ended were asked for.
 */
import { z } from 'zod'
import { readAnswer } from '../kit/answer.ts'
import type { Page, PageRequest, RawRecord } from '../kit/connector.ts'
import { toRawRecord } from '../kit/records.ts'
import { readReward } from './records.ts'
import { commitment, digits, inGroups, type Rpc } from './rpc.ts'

const positionSchema = z.union([
  /** Looks for the first transaction of the account, before this one. */
  z.object({ before: z.string(), oldestSlot: z.number() }),
  z.object({ epoch: z.number() }),
])

/** Of an epoch that paid something, its time costs another call. */
const epochsPerPage = 5

const epochAnswer = z.object({ epoch: digits, slotIndex: digits, slotsInEpoch: digits, absoluteSlot: digits })
type EpochInfo = z.infer<typeof epochAnswer>

export async function fetchRewards(rpc: Rpc, request: PageRequest): Promise<Page> {
  const now = await rpc.call('getEpochInfo', [{ commitment: 'finalized' }], epochAnswer)
  const position =
    request.position === null
      ? request.cursor === null
        ? { before: '', oldestSlot: -1 }
        : { epoch: Number(request.cursor) }
      : positionSchema.parse(JSON.parse(request.position))
  return 'before' in position
    ? findFirstEpoch(rpc, request, now, position)
    : fetchEpochs(rpc, request, now, position.epoch)
}

const signaturesAnswer = z.array(z.object({ signature: z.string(), slot: digits }))

/** Newest first, so the beginning is at the end of the list. */
async function findFirstEpoch(
  rpc: Rpc,
  { partition }: PageRequest,
  now: EpochInfo,
  { before, oldestSlot }: { before: string; oldestSlot: number },
): Promise<Page> {
  const config = { limit: 1_000, commitment, ...(before === '' ? {} : { before }) }
  const rows = await rpc.call('getSignaturesForAddress', [partition, config], signaturesAnswer)
  const last = rows.at(-1)
  if (last !== undefined) {
    return { records: [], next: JSON.stringify({ before: last.signature, oldestSlot: Number(last.slot) }) }
  }
  if (oldestSlot === -1) return { records: [], next: null }
  return { records: [], next: JSON.stringify({ epoch: epochOf(oldestSlot, now) }) }
}

/** All epochs of the main network are equally long. */
function epochOf(slot: number, { epoch, slotIndex, slotsInEpoch, absoluteSlot }: EpochInfo): number {
  const start = Number(absoluteSlot) - Number(slotIndex)
  return Math.max(0, Number(epoch) - Math.ceil((start - slot) / Number(slotsInEpoch)))
}

/** Rewards are paid in the first blocks of the next epoch, a few minutes long. */
const payingShare = 0.01

async function fetchEpochs(rpc: Rpc, request: PageRequest, now: EpochInfo, from: number): Promise<Page> {
  const isPaying = Number(now.slotIndex) < Number(now.slotsInEpoch) * payingShare
  const end = Number(now.epoch) - (isPaying ? 1 : 0)
  const epochs = Array.from({ length: Math.max(0, Math.min(epochsPerPage, end - from)) }, (_, index) => from + index)
  const records = await inGroups(epochs, (epoch) => fetchReward(rpc, request, epoch))
  const next = from + epochs.length
  return {
    records: records.flat(),
    next: next < end ? JSON.stringify({ epoch: next }) : null,
    cursor: String(next),
  }
}

async function fetchReward(rpc: Rpc, { partition, window }: PageRequest, epoch: number): Promise<RawRecord[]> {
  const method = 'getInflationReward'
  const answer = await rpc.fetchVerbatim(method, [[partition], { epoch, commitment: 'finalized' }])
  const [reward] = readAnswer(method, z.array(z.unknown()), answer)
  if (reward === undefined || reward === null) return []
  const body = JSON.stringify(reward)
  const { effectiveSlot, amount } = readReward({ body })
  if (amount === '0') return []
  const seconds = await rpc.call('getBlockTime', [Number(effectiveSlot)], digits)
  return [toRawRecord(body, window, () => ({ key: String(epoch), occurredAtMs: Number(seconds) * 1_000 }))]
}
