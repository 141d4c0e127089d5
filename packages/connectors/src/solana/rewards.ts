/**
 * Reads the rewards of one stake account. They are not part of any transaction: a node reports them for one epoch at a
 * time (`getInflationReward`). So the list is read by epochs, from the one in which the account became the wallet's up
 * to the last one that was paid out, and the lasting mark is the next epoch to request. A reward belongs to the owner of
 * the account at the time when it was paid.
 *
 * A window is a range of time, covered once all of its ended epochs were requested.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { Page, PageRequest, RawRecord } from '../kit/connector.ts'
import { parseJson, readAnswer, withTextNumbers } from '../kit/json.ts'
import { toRawRecord } from '../kit/records.ts'
import { isOwnAt } from './ownership.ts'
import { rewardSchema } from './records.ts'
import { digits, fetchResults, readSome, type Rpc } from './rpc.ts'
import { readState, type Ownership } from './state.ts'

const epochAnswer = z.object({ epoch: digits, slotIndex: digits, slotsInEpoch: digits, absoluteSlot: digits })
type EpochInfo = z.infer<typeof epochAnswer>

/** Requests epochs from `epoch` up to `end`. Those before `paid` were paid out; an account may have been lost earlier. */
const pageMarkSchema = z.object({ epoch: z.number(), end: z.number(), paid: z.number() })
type PageMark = z.infer<typeof pageMarkSchema>

/** Each page makes one request for the rewards and one for the times of their blocks. */
const epochsPerPage = 20

export async function fetchRewards(rpc: Rpc, request: PageRequest): Promise<Page> {
  const ownership = readState(request.state).ownership[request.partition]
  if (ownership === undefined) {
    throw new SourceError('data_hole', 'it is not known when a stake account was the wallet’s')
  }
  if (request.pageMark === null) return startWalk(rpc, request, ownership)
  return fetchEpochs(rpc, request, ownership, pageMarkSchema.parse(JSON.parse(request.pageMark)))
}

async function startWalk(rpc: Rpc, { lastingMark }: PageRequest, ownership: Ownership): Promise<Page> {
  const now = await rpc.call('getEpochInfo', [{ commitment: 'finalized' }], epochAnswer)
  // Of later epochs it is not known whose they are.
  const paid = Math.min(paidUntil(now), paidUntil(toEpochInfo(ownership.slot, now)))
  const own = ownership.changes.filter(({ isOwn }) => isOwn)
  const first = own.at(-1)
  if (first === undefined) return { records: [], next: null }
  const [newest] = ownership.changes
  const end = newest?.isOwn === false ? Math.min(paid, epochOf(newest.slot, now) + 1) : paid
  const epoch = lastingMark === null ? epochOf(first.slot, now) : Number(lastingMark)
  return epoch < paid ? toNext({ epoch, end, paid }) : { records: [], next: null }
}

function toNext(mark: PageMark): Page {
  return { records: [], next: JSON.stringify(mark) }
}

async function fetchEpochs(
  rpc: Rpc,
  request: PageRequest,
  ownership: Ownership,
  { epoch, end, paid }: PageMark,
): Promise<Page> {
  const wanted = Math.max(0, Math.min(epochsPerPage, end - epoch))
  const epochs = Array.from({ length: wanted }, (_, index) => epoch + index)
  const { length, result: records } = await readSome(epochs, (some) => fetchRecords(rpc, request, ownership, some))
  const next = epoch + length
  if (next < end) return { ...toNext({ epoch: next, end, paid }), records, lastingMark: String(next) }
  // The account may become the wallet's again, so later epochs are requested when they have ended.
  return { records, next: null, lastingMark: String(Math.max(next, paid)) }
}

/** Rewards are paid in the first blocks of the next epoch, within a few minutes: this share of an epoch is enough. */
const payingShare = 0.01

/** Epochs before this one were paid out. */
function paidUntil({ epoch, slotIndex, slotsInEpoch }: EpochInfo): number {
  const isPaying = Number(slotIndex) < Number(slotsInEpoch) * payingShare
  return Number(epoch) - (isPaying ? 1 : 0)
}

/** All epochs of the main network are equally long. */
function epochOf(slot: number, { epoch, slotIndex, slotsInEpoch, absoluteSlot }: EpochInfo): number {
  const start = Number(absoluteSlot) - Number(slotIndex)
  return Math.max(0, Number(epoch) - Math.ceil((start - slot) / Number(slotsInEpoch)))
}

function toEpochInfo(slot: number, now: EpochInfo): EpochInfo {
  const epoch = epochOf(slot, now)
  const start =
    Number(now.absoluteSlot) - Number(now.slotIndex) - (Number(now.epoch) - epoch) * Number(now.slotsInEpoch)
  return { ...now, epoch: String(epoch), slotIndex: String(slot - start), absoluteSlot: String(slot) }
}

async function fetchRecords(
  rpc: Rpc,
  { partition, window }: PageRequest,
  ownership: Ownership,
  epochs: readonly number[],
): Promise<RawRecord[]> {
  const method = 'getInflationReward'
  const answers = await fetchResults(
    rpc,
    epochs.map((epoch) => ({ method, params: [[partition], { epoch, commitment: 'finalized' }] })),
  )
  const paid = answers.flatMap((answer, index) => {
    const [reward] = readAnswer(method, z.array(z.unknown()), answer)
    if (reward === undefined || reward === null) return []
    const body = JSON.stringify(reward)
    const { effectiveSlot, amount } = readAnswer(method, rewardSchema, parseJson(body))
    const isOurs = amount !== '0' && isOwnAt(ownership, Number(effectiveSlot))
    return !isOurs ? [] : [{ key: String(epochs[index]), body, effectiveSlot }]
  })
  const times = await fetchResults(
    rpc,
    paid.map(({ effectiveSlot }) => ({ method: 'getBlockTime', params: [Number(effectiveSlot)] })),
  )
  return paid.map(({ key, body }, index) => {
    const seconds = readAnswer('getBlockTime', digits, withTextNumbers(times[index] ?? null))
    return toRawRecord(body, window, () => ({ key, occurredAtMs: Number(seconds) * 1_000 }))
  })
}
