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
  z.object({ before: z.string(), newestSlot: z.number(), oldestSlot: z.number() }),
  /** `end` is set for an account that was closed: nothing was paid from that epoch on. */
  z.object({ epoch: z.number(), end: z.number().exactOptional() }),
])
type Position = z.infer<typeof positionSchema>

/** Of an epoch that paid something, its time costs another call. */
const epochsPerPage = 10

const epochAnswer = z.object({ epoch: digits, slotIndex: digits, slotsInEpoch: digits, absoluteSlot: digits })
type EpochInfo = z.infer<typeof epochAnswer>

export interface RewardReader {
  fetchPage(request: PageRequest): Promise<Page>
}

/** A session asks for the epoch once, and for the time of a slot once: all accounts are paid in the same blocks. */
export function createRewardReader(rpc: Rpc): RewardReader {
  const times = new Map<string, Promise<string>>()
  let epochInfo: Promise<EpochInfo> | undefined
  const findTime = (slot: string): Promise<string> => {
    const time = times.get(slot) ?? rpc.call('getBlockTime', [Number(slot)], digits)
    times.set(slot, time)
    return time
  }

  return {
    async fetchPage(request) {
      epochInfo ??= rpc.call('getEpochInfo', [{ commitment: 'finalized' }], epochAnswer)
      const now = await epochInfo
      const position = readPosition(request)
      if ('before' in position) return findFirstEpoch(rpc, request, now, position)
      const end = Math.min(position.end ?? Infinity, paidUntil(now))
      const epochs = Array.from(
        { length: Math.max(0, Math.min(epochsPerPage, end - position.epoch)) },
        (_, index) => position.epoch + index,
      )
      const records = await inGroups(epochs, (epoch) => fetchReward(rpc, findTime, request, epoch))
      const next = position.epoch + epochs.length
      const isMore = next < end
      return {
        records: records.flat(),
        next: isMore ? JSON.stringify({ ...position, epoch: next } satisfies Position) : null,
        // A closed account may be made again: later epochs are asked for when they have come.
        cursor: String(isMore ? next : Math.max(next, paidUntil(now))),
      }
    },
  }
}

function readPosition({ position, cursor }: PageRequest): Position {
  if (position !== null) return positionSchema.parse(JSON.parse(position))
  return cursor === null ? { before: '', newestSlot: -1, oldestSlot: -1 } : { epoch: Number(cursor) }
}

/** Rewards are paid in the first blocks of the next epoch, a few minutes long. */
const payingShare = 0.01

/** Epochs before this one were paid out. */
function paidUntil({ epoch, slotIndex, slotsInEpoch }: EpochInfo): number {
  const isPaying = Number(slotIndex) < Number(slotsInEpoch) * payingShare
  return Number(epoch) - (isPaying ? 1 : 0)
}

const signaturesAnswer = z.array(z.object({ signature: z.string(), slot: digits }))
const accountAnswer = z.object({ value: z.unknown() })

/** Newest first, so the beginning is at the end of the list. */
async function findFirstEpoch(
  rpc: Rpc,
  { partition }: PageRequest,
  now: EpochInfo,
  { before, newestSlot, oldestSlot }: Extract<Position, { before: string }>,
): Promise<Page> {
  const config = { limit: 1_000, commitment, ...(before === '' ? {} : { before }) }
  const rows = await rpc.call('getSignaturesForAddress', [partition, config], signaturesAnswer)
  const [first, last] = [rows[0], rows.at(-1)]
  if (first !== undefined && last !== undefined) {
    const slots = { newestSlot: Math.max(newestSlot, Number(first.slot)), oldestSlot: Number(last.slot) }
    return { records: [], next: JSON.stringify({ before: last.signature, ...slots } satisfies Position) }
  }
  if (oldestSlot === -1) return { records: [], next: null }
  const { value } = await rpc.call('getAccountInfo', [partition, { encoding: 'base64', commitment }], accountAnswer)
  const isClosed = value === null
  const position: Position = {
    epoch: epochOf(oldestSlot, now),
    ...(isClosed ? { end: epochOf(newestSlot, now) + 1 } : {}),
  }
  return { records: [], next: JSON.stringify(position) }
}

/** All epochs of the main network are equally long. */
function epochOf(slot: number, { epoch, slotIndex, slotsInEpoch, absoluteSlot }: EpochInfo): number {
  const start = Number(absoluteSlot) - Number(slotIndex)
  return Math.max(0, Number(epoch) - Math.ceil((start - slot) / Number(slotsInEpoch)))
}

async function fetchReward(
  rpc: Rpc,
  findTime: (slot: string) => Promise<string>,
  { partition, window }: PageRequest,
  epoch: number,
): Promise<RawRecord[]> {
  const method = 'getInflationReward'
  const answer = await rpc.fetchVerbatim(method, [[partition], { epoch, commitment: 'finalized' }])
  const [reward] = readAnswer(method, z.array(z.unknown()), answer)
  if (reward === undefined || reward === null) return []
  const body = JSON.stringify(reward)
  const { effectiveSlot, amount } = readReward({ body })
  if (amount === '0') return []
  const seconds = await findTime(effectiveSlot)
  return [toRawRecord(body, window, () => ({ key: String(epoch), occurredAtMs: Number(seconds) * 1_000 }))]
}
