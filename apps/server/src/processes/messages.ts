/** What a parent and its children say to each other over Node's channel. Both run the same code, so it needs no version. */
import type { LimitCall } from '../limits/index.ts'

export type ToParent =
  | { kind: 'ready'; url: string | undefined }
  /** Counts or looks at a limit, at this moment of the database's clock. */
  | { kind: 'limit'; id: number; call: LimitCall; words: readonly string[]; nowMs: number }
  /** Wants the metrics of all processes as one text. */
  | { kind: 'all metrics'; id: number }
  /** The metrics of this process, which the parent asked for. */
  | { kind: 'own metrics'; metrics: readonly object[] }

export type ToChild =
  /** Comes with the socket of the connection. */
  { kind: 'connection' } | { kind: 'stop' } | { kind: 'answer'; id: number; value: unknown } | { kind: 'own metrics' }
