/**
 * The lists that are read at Kraken, as plain data: the connector walks them, and coverage speaks of them in processes
 * that never load a connector.
 */
import type { Stream } from '../kit/connector.ts'

const hourMs = 3_600_000
export const pageSize = 50

export const krakenStreams = [
  {
    name: 'ledger',
    // The end of a window is fixed, so rows written meanwhile do not shift its offsets.
    pager: {
      kind: 'offset',
      pageSizeMax: pageSize,
      order: 'newest_first',
      windowMaxMs: null,
      retentionMs: null,
      overlapMs: hourMs,
    },
    cost: 2,
    required: true,
    providerLimit: null,
    remedy: null,
  },
  fundingStream('deposits'),
  fundingStream('withdrawals'),
] as const satisfies readonly Stream[]

function fundingStream<const Name extends string>(name: Name): Stream & { name: Name } {
  return {
    name,
    pager: {
      kind: 'cursor',
      pageSizeMax: pageSize,
      order: 'newest_first',
      windowMaxMs: null,
      retentionMs: null,
      // These records change after they appeared: pending, then on hold for a review, then done or returned.
      overlapMs: 14 * 24 * hourMs,
    },
    cost: 1,
    required: false,
    providerLimit: `Kraken no longer lists some old ${name}: their amounts come from the ledger, their addresses and hashes are missing.`,
    remedy: null,
  }
}

export type StreamName = (typeof krakenStreams)[number]['name']
