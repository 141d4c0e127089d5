/**
 * Reads the rewards of one stake account. They are not part of any transaction: a node reports them for one epoch at a
 * time (`getInflationReward`). So the list is read by epochs, from the one in which the account was created up to the
 * last one that was paid out, and the lasting mark is the next epoch to request.
 *
 * A window is a range of time, covered once all of its ended epochs were requested.
 */
import { z } from 'zod'
import type { Page, PageRequest, RawRecord } from '../kit/connector.ts'
import { parseJson, readAnswer, withTextNumbers } from '../kit/json.ts'
import { toRawRecord } from '../kit/records.ts'
import { rewardSchema } from './records.ts'
import { commitment, digits, fetchResults, readSome, type Rpc } from './rpc.ts'

const epochAnswer = z.object({ epoch: digits, slotIndex: digits, slotsInEpoch: digits, absoluteSlot: digits })
type EpochInfo = z.infer<typeof epochAnswer>

const pageMarkSchema = z.union([
  /** Looks for the first transaction of the account, before this one. */
  z.object({ before: z.string(), newestSlot: z.number(), oldestSlot: z.number(), now: epochAnswer }),
  /** Requests epochs from `epoch` up to `end`. Those before `paid` were paid out; a closed account ends earlier. */
  z.object({ epoch: z.number(), end: z.number(), paid: z.number() }),
])
type PageMark = z.infer<typeof pageMarkSchema>

/** Each page makes one request for the rewards and one for the times of their blocks. */
const epochsPerPage = 20

export async function fetchRewards(rpc: Rpc, request: PageRequest): Promise<Page> {
  if (request.pageMark === null) return startWalk(rpc, request)
  const mark = pageMarkSchema.parse(JSON.parse(request.pageMark))
  return 'before' in mark ? findFirstEpoch(rpc, request, mark) : fetchEpochs(rpc, request, mark)
}

async function startWalk(rpc: Rpc, { lastingMark }: PageRequest): Promise<Page> {
  const now = await rpc.call('getEpochInfo', [{ commitment: 'finalized' }], epochAnswer)
  const paid = paidUntil(now)
  if (lastingMark === null) return toNext({ before: '', newestSlot: -1, oldestSlot: -1, now })
  return Number(lastingMark) < paid
    ? toNext({ epoch: Number(lastingMark), end: paid, paid })
    : { records: [], next: null }
}

function toNext(mark: PageMark): Page {
  return { records: [], next: JSON.stringify(mark) }
}

async function fetchEpochs(
  rpc: Rpc,
  request: PageRequest,
  { epoch, end, paid }: Extract<PageMark, { epoch: number }>,
): Promise<Page> {
  const wanted = Math.max(0, Math.min(epochsPerPage, end - epoch))
  const epochs = Array.from({ length: wanted }, (_, index) => epoch + index)
  const { length, result: records } = await readSome(epochs, (some) => fetchRecords(rpc, request, some))
  const next = epoch + length
  if (next < end) return { ...toNext({ epoch: next, end, paid }), records, lastingMark: String(next) }
  // A closed account may be created again, so later epochs are requested when they have ended.
  return { records, next: null, lastingMark: String(Math.max(next, paid)) }
}

/** Rewards are paid in the first blocks of the next epoch, within a few minutes: this share of an epoch is enough. */
const payingShare = 0.01

/** Epochs before this one were paid out. */
function paidUntil({ epoch, slotIndex, slotsInEpoch }: EpochInfo): number {
  const isPaying = Number(slotIndex) < Number(slotsInEpoch) * payingShare
  return Number(epoch) - (isPaying ? 1 : 0)
}

const signaturesAnswer = z.array(z.object({ signature: z.string(), slot: digits }))
const accountAnswer = z.object({ value: z.unknown() })

/** Signatures are listed newest first, so the account's first transaction is the last one listed. */
async function findFirstEpoch(
  rpc: Rpc,
  { partition }: PageRequest,
  { before, newestSlot, oldestSlot, now }: Extract<PageMark, { before: string }>,
): Promise<Page> {
  const config = { limit: 1_000, commitment, ...(before === '' ? {} : { before }) }
  const rows = await rpc.call('getSignaturesForAddress', [partition, config], signaturesAnswer)
  const [first, last] = [rows[0], rows.at(-1)]
  if (first !== undefined && last !== undefined) {
    const slots = { newestSlot: Math.max(newestSlot, Number(first.slot)), oldestSlot: Number(last.slot) }
    return toNext({ before: last.signature, ...slots, now })
  }
  if (oldestSlot === -1) return { records: [], next: null }
  const { value } = await rpc.call('getAccountInfo', [partition, { encoding: 'base64', commitment }], accountAnswer)
  const paid = paidUntil(now)
  const end = value === null ? Math.min(paid, epochOf(newestSlot, now) + 1) : paid
  return toNext({ epoch: epochOf(oldestSlot, now), end, paid })
}

/** All epochs of the main network are equally long. */
function epochOf(slot: number, { epoch, slotIndex, slotsInEpoch, absoluteSlot }: EpochInfo): number {
  const start = Number(absoluteSlot) - Number(slotIndex)
  return Math.max(0, Number(epoch) - Math.ceil((start - slot) / Number(slotsInEpoch)))
}

async function fetchRecords(
  rpc: Rpc,
  { partition, window }: PageRequest,
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
    return amount === '0' ? [] : [{ key: String(epochs[index]), body, effectiveSlot }]
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
