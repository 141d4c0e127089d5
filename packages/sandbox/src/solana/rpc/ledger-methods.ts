/**
 * The calls about transactions, slots and rewards. Sources: https://solana.com/docs/rpc/http, the page of each call.
 */
import { z } from 'zod'
import { describeTransaction, toStatus } from './describe-transaction.ts'
import type { Entry } from '../history.ts'
import {
  addressAt,
  apiVersion,
  commonConfig,
  configAt,
  listAt,
  requireAddress,
  requireConfirmed,
  requireSignature,
  signatureAt,
  slotFor,
  withContext,
  type Call,
  type Method,
} from './params.ts'
import {
  commitmentOf,
  epochOf,
  firstSlotOf,
  heightOf,
  isSkipped,
  newestSlot,
  rewardSlotOf,
  slotsInEpoch,
  timeOf,
} from '../chain/slots.ts'
import { invalidParams, RpcError } from './wire.ts'

const signaturesMax = 1_000
const statusesMax = 256
/** How long a node remembers the status of a transaction without looking into its history. */
const statusSlots = 150

const signaturesConfig = commonConfig.extend({
  limit: z.int().nullish(),
  before: z.string().nullish(),
  until: z.string().nullish(),
})

const encodings = ['base58', 'base64', 'binary', 'json', 'jsonParsed'] as const
const transactionConfig = commonConfig.extend({
  encoding: z.enum(encodings).nullish(),
  maxSupportedTransactionVersion: z.int().min(0).max(255).nullish(),
})

export const ledgerMethods: Readonly<Record<string, Method>> = {
  getSignaturesForAddress,
  getTransaction(call) {
    const signature = signatureAt(call, 0)
    // The second parameter may also be the bare name of an encoding.
    const [, second] = call.params
    const named = { ...call, params: [signature, typeof second === 'string' ? { encoding: second } : second] }
    const config = configAt(named, 1, transactionConfig)
    requireConfirmed(config)
    const entry = call.world.chain.history.find(signature)
    if (entry === undefined || entry.slot > slotFor(call, config)) return null
    return describeTransaction(entry, config.encoding ?? 'json', config.maxSupportedTransactionVersion ?? undefined)
  },
  getSignatureStatuses(call) {
    const signatures = listAt(call, 0, statusesMax).map(requireSignature)
    const config = configAt(call, 1, z.object({ searchTransactionHistory: z.boolean().nullish() }))
    const slot = newestSlot(call.nowMs)
    return withContext(
      slot,
      signatures.map((signature) => {
        const entry = call.world.chain.history.find(signature)
        const isKnown = config.searchTransactionHistory === true || (entry?.slot ?? 0) > slot - statusSlots
        return entry === undefined || !isKnown ? null : describeStatus(call, entry)
      }),
    )
  },
  getSlot: (call) => slotFor(call, configAt(call, 0, commonConfig)),
  getBlockHeight: (call) => heightOf(slotFor(call, configAt(call, 0, commonConfig))),
  getBlockTime(call) {
    const slot = z.int().min(0).safeParse(call.params[0])
    if (!slot.success) throw invalidParams('Invalid params: invalid type, expected u64.')
    if (slot.data > newestSlot(call.nowMs)) {
      throw new RpcError(-32004, `Block not available for slot ${slot.data}`)
    }
    if (isSkipped(slot.data)) {
      throw new RpcError(-32009, `Slot ${slot.data} was skipped, or missing in long-term storage`)
    }
    return timeOf(slot.data)
  },
  getEpochInfo(call) {
    const slot = slotFor(call, configAt(call, 0, commonConfig))
    return {
      absoluteSlot: slot,
      blockHeight: heightOf(slot),
      epoch: epochOf(slot),
      slotIndex: slot - firstSlotOf(epochOf(slot)),
      slotsInEpoch,
      transactionCount: call.world.chain.history.count(),
    }
  },
  getEpochSchedule: () => ({
    firstNormalEpoch: 0,
    firstNormalSlot: 0,
    leaderScheduleSlotOffset: slotsInEpoch,
    slotsPerEpoch: slotsInEpoch,
    warmup: false,
  }),
  getInflationReward,
  getHealth: () => 'ok',
  getVersion: () => ({ 'feature-set': 3_604_001_754, 'solana-core': apiVersion }),
  // The genesis hash of the main network, which a reader expects.
  getGenesisHash: () => '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d',
}

/** Newest first. `before` and `until` are not among the answers themselves. */
function getSignaturesForAddress(call: Call): object[] {
  const address = addressAt(call, 0)
  const config = configAt(call, 1, signaturesConfig)
  requireConfirmed(config)
  const limit = config.limit ?? signaturesMax
  if (limit < 1 || limit > signaturesMax) throw invalidParams(`Invalid limit; max ${signaturesMax}`)
  const { history } = call.world.chain
  const find = (text: string | null | undefined): Entry | undefined =>
    text ? history.find(requireSignature(text)) : undefined
  const [before, until] = [find(config.before), find(config.until)]
  // If a node does not know `before`, it returns nothing; if it does not know `until`, it continues to the end.
  if (config.before && before === undefined) return []
  const slot = slotFor(call, config)
  const list = history
    .listOf(address)
    .filter((entry) => entry.slot <= slot && (until === undefined || isLater(entry, until)))
  const start = before === undefined ? 0 : list.filter((entry) => !isLater(before, entry)).length
  const cut = (offset: number, size: number): Entry[] => {
    const end = list.length - offset
    return list.slice(Math.max(0, end - size), Math.max(0, end)).toReversed()
  }
  return call.context.cutPage({ count: list.length, cut }, start, limit).map((entry) => ({
    blockTime: timeOf(entry.slot),
    confirmationStatus: commitmentOf(entry.slot, call.nowMs) ?? 'processed',
    err: entry.err,
    memo: entry.memo,
    signature: entry.signature,
    slot: entry.slot,
  }))
}

function isLater(entry: Entry, than: Entry): boolean {
  return entry.slot > than.slot || (entry.slot === than.slot && entry.number > than.number)
}

function describeStatus({ nowMs }: Call, { slot, err }: Entry): object {
  const confirmationStatus = commitmentOf(slot, nowMs) ?? 'processed'
  // The number of blocks on top of this one; null once it is final.
  const confirmations = confirmationStatus === 'finalized' ? null : heightOf(newestSlot(nowMs)) - heightOf(slot)
  return { confirmationStatus, confirmations, err, slot, status: toStatus(err) }
}

function getInflationReward(call: Call): (object | null)[] {
  const addresses = listAt(call, 0, Number.POSITIVE_INFINITY).map(requireAddress)
  const config = configAt(call, 1, commonConfig.extend({ epoch: z.int().min(0).nullish() }))
  requireConfirmed(config)
  const slot = slotFor(call, config)
  const epoch = config.epoch ?? epochOf(slot) - 1
  if (rewardSlotOf(epoch) > slot) {
    throw new RpcError(-32004, `Block not available for slot ${firstSlotOf(epoch + 1)}`)
  }
  return addresses.map((address) => call.world.rewards.find(address, epoch) ?? null)
}
