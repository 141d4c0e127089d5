/**
 * The messages between a parent and its children over Node's channel. Both run the same code, so the messages need no
 * version.
 */
import type { LimitCall } from '../limits/index.ts'

export type ToParent =
  | { kind: 'ready'; url: string | undefined }
  /** Counts or looks at a limit, at this moment of the database's clock. */
  | { kind: 'limit'; id: number; call: LimitCall; words: readonly string[]; nowMs: number }
  /** Asks for one of `max` places for a long answer. */
  | { kind: 'take place'; id: number; key: string; max: number }
  | { kind: 'leave place'; key: string }
  /** Has the connection of this number. */
  | { kind: 'taken'; id: number }
  /** Wants the metrics of all processes as one text. */
  | { kind: 'all metrics'; id: number }
  /** The metrics of this process, which the parent asked for. */
  | { kind: 'own metrics'; metrics: readonly object[] }

export type ToChild =
  /** Comes with the socket of the connection. */
  | { kind: 'connection'; id: number }
  | { kind: 'stop' }
  | { kind: 'answer'; id: number; value: unknown }
  | { kind: 'own metrics' }
