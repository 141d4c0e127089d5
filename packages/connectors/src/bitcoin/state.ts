/**
 * The state of a wallet between runs: its addresses with their last known statistics, how far each was read, and the
 * transactions that may still change. Addresses are public; the key they are derived from is not stored here.
 */
import { z } from 'zod'
import type { ConnectorState } from '../kit/connector.ts'

const digits = z.string().regex(/^\d+$/)

/** As tally.ts makes it. */
const tally = z.string().regex(/^\d+\/\d+\/\d+$/)

const addressSchema = z.object({
  branch: z.string(),
  index: z.number(),
  address: z.string(),
  /** Absent until the address is used for the first time. */
  stats: z
    .object({
      count: digits,
      funded: digits,
      spent: digits,
      /** Transactions in the mempool, with the amounts they add and remove. */
      waiting: z.string(),
    })
    .exactOptional(),
  /** Its newest transactions were read after the last change of `stats`, and all that were read agree with it. */
  isRead: z.boolean().exactOptional(),
  /** Transactions in blocks up to this height were read, down to `below`. All of them are final. */
  height: z.number().exactOptional(),
  /** What the transactions up to that height add up to, as far as they were read. */
  settled: tally.exactOptional(),
  /**
   * Transactions older than this one have not been read yet. `recent` is the tally of those above `height` that were
   * read. `isFull` says that the page which ended here was full, so more transactions follow.
   */
  below: z
    .object({ txid: z.string(), timeMs: z.number(), isFull: z.boolean().default(true), recent: tally })
    .exactOptional(),
  /** Since when its list disagrees with `stats`, and when it was last discarded to be read again as a whole. */
  doubt: z.object({ sinceMs: z.number(), wholeAtMs: z.number() }).exactOptional(),
})
export type KnownAddress = z.infer<typeof addressSchema>
export type Below = NonNullable<KnownAddress['below']>

const unsettledSchema = z.object({
  seenMs: z.number(),
  /** Some of the wallet's addresses that it pays or spends from. */
  addresses: z.array(z.string()),
  /** The block of a transaction that is shown as confirmed. It may still be replaced. */
  block: z.object({ height: z.number(), hash: z.string() }).exactOptional(),
})
export type Unsettled = z.infer<typeof unsettledSchema>

const stateSchema = z.object({
  addresses: z.array(addressSchema).default([]),
  /** By transaction: those in the mempool or in a block that may still be replaced. */
  unsettled: z.record(z.string(), unsettledSchema).default({}),
  /** A round of questions that has begun and not ended, when its last ones were asked, and the place of its next one. */
  round: z
    .object({
      ...{ startedAtMs: z.number(), askedAtMs: z.number().default(0), isWhole: z.boolean() },
      ...{ branch: z.number(), index: z.number() },
    })
    .exactOptional(),
  /** When the last round ended, and when the last one that included emptied addresses began. */
  polledAtMs: z.number().default(0),
  polledWholeAtMs: z.number().default(0),
  /** Set until a window was read that begins before the first block. Older windows follow until then. */
  isFirstRead: z.literal(true).exactOptional(),
})
export type WalletState = z.infer<typeof stateSchema>

/** Returns a copy, so that a failed page leaves the caller's state unchanged. */
export function readState(state: ConnectorState): WalletState {
  const isNew = Object.keys(state).length === 0
  return stateSchema.parse(isNew ? { isFirstRead: true } : state)
}

export function toBalance({ addresses }: WalletState): bigint {
  return addresses.reduce(
    (sum, { stats }) => (stats === undefined ? sum : sum + BigInt(stats.funded) - BigInt(stats.spent)),
    0n,
  )
}

/** Used, and nothing is left on it or on its way. A replaced block may give back what was spent: then it is unread. */
export function isEmptied({ stats, isRead }: KnownAddress): boolean {
  return stats !== undefined && stats.funded === stats.spent && stats.waiting === '' && isRead === true
}

/** Finds the transaction in the highest block among the confirmed ones that may still change. */
export function findNewestConfirmed({ unsettled }: WalletState): [txid: string, Unsettled] | undefined {
  const confirmed = Object.entries(unsettled).filter(([, { block }]) => block !== undefined)
  return confirmed.toSorted(([, a], [, b]) => (b.block?.height ?? 0) - (a.block?.height ?? 0))[0]
}

/** Keeps those entries for which `isKept` holds. */
export function filterUnsettled(state: WalletState, isKept: (txid: string, entry: Unsettled) => boolean): void {
  state.unsettled = Object.fromEntries(Object.entries(state.unsettled).filter(([txid, entry]) => isKept(txid, entry)))
}
