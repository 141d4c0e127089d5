/** The one list that is read at Harbor, as plain data. */
import type { Stream } from '../kit/connector.ts'

export const pageSize = 100

export const harborStreams = [
  {
    name: 'entries',
    pager: {
      kind: 'cursor',
      pageSizeMax: pageSize,
      order: 'newest_first',
      windowMaxMs: null,
      retentionMs: null,
      overlapMs: 3_600_000,
    },
    cost: 1,
    required: true,
    providerLimit: null,
    remedy: null,
  },
] as const satisfies readonly Stream[]
