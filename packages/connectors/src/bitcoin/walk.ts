/** What the steps of a walk over a wallet share (pages.ts): its state, its place and its end. */
import { z } from 'zod'
import type { RawRecord, Window } from '../kit/connector.ts'
import { replaceableDepth } from './definition.ts'
import type { Esplora } from './esplora.ts'
import type { WalletState } from './state.ts'
import type { Wallet } from './wallet.ts'

/** The time of the first block. */
const firstBlockMs = Date.parse('2009-01-03T18:15:05Z')

export const pageMarkSchema = z.union([
  z.object({ at: z.literal('poll') }),
  z.object({ at: z.literal('unsettled'), tipHeight: z.number(), after: z.string() }),
  z.object({
    at: z.literal('addresses'),
    tipHeight: z.number(),
    /** The address that is being read, or the last one that was read. */
    address: z.string(),
    /** The place in its list; null after it was read. */
    from: z
      .object({
        ...{ txid: z.string(), top: z.number().nullable(), lacksWaiting: z.boolean() },
        /** The height that is known, down to which the list is read. */
        knownHeight: z.number(),
        /** What this walk has read of the address, in blocks that may be replaced and in settled ones. */
        ...{ recent: z.string(), settled: z.string() },
      })
      .nullable(),
    /** A list of this walk ended too early. */
    isCut: z.boolean(),
  }),
  z.object({
    ...{ at: z.literal('rest'), tipHeight: z.number(), isCut: z.boolean() },
    /** The last address that was read to its end, or that cannot be read on now. */
    after: z.string(),
    pages: z.number(),
  }),
])
export type PageMark = z.infer<typeof pageMarkSchema>
export type NewestMark = Extract<PageMark, { at: 'addresses' }>
export type RestMark = Extract<PageMark, { at: 'rest' }>

export interface Walk {
  wallet: Wallet
  esplora: Esplora
  window: Window
  state: WalletState
  nowMs: number
}

/** The result of one step. The walk ends when `next` is undefined. */
export interface Step {
  records: RawRecord[]
  withdrawn?: string[]
  next: PageMark | undefined
}

export function endWalk({ state, window }: Walk): Step {
  if (window.start <= firstBlockMs) delete state.isFirstRead
  return { records: [], next: undefined }
}

export function isReplaceable({ height }: { height: number }, tipHeight: number): boolean {
  return tipHeight - height + 1 < replaceableDepth
}
