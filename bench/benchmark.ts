/** What a benchmark receives, and what it returns. */
import type { Comparison, Figures, Say } from './measure.ts'
import type { Postgres } from './world/postgres.ts'

/**
 * `default`: all benchmarks together end within half an hour. `full`: the size of the goals, up to 10 million rows.
 * `try`: shows in a minute or two that a benchmark works; its figures mean nothing.
 */
export type Size = 'try' | 'default' | 'full'

export interface Bench {
  size: Size
  rounds: number
  /** How long one run under load takes. */
  seconds: number
  /** Reports progress to the person who waits. */
  say: Say
  /** Started at the first call and shared by all benchmarks. */
  postgres(): Promise<Postgres>
  /** Runs when the benchmark ends, in reverse order. */
  onEnd(undo: () => Promise<void>): void
}

export interface Finding {
  /** What was measured, as a sentence without its full stop. */
  title: string
  unit: string
  /** Two sides, and the goal limits their ratio; or figures of our own, and the goal limits their median. */
  measured: Comparison | Figures
  /** Undefined when the figure is only reported. */
  goal: Goal | undefined
  /** Further figures and what they mean. */
  notes: readonly string[]
}

/** Figures of several setups beside each other, each cell as text. */
export interface Table {
  title: string
  header: readonly string[]
  rows: readonly (readonly string[])[]
  notes: readonly string[]
}

export type Goal = { atLeast: number } | { atMost: number }

export interface Benchmark {
  name: string
  summary: string
  /** Needs what few machines have, so it runs only when it is named. */
  onlyByName?: true
  run(bench: Bench): Promise<(Finding | Table)[]>
}

export function isMet(goal: Goal, value: number): boolean {
  return 'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost
}
