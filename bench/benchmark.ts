/** What a benchmark is handed, and what it gives back. */
import type { Comparison, Figures, Say } from './measure.ts'
import type { Postgres } from './world/postgres.ts'

/**
 * `default` ends within half an hour, all together; `full` is the size of the goals, up to 10 million rows; `try` shows
 * in a minute whether a benchmark works, and nothing else.
 */
export type Size = 'try' | 'default' | 'full'

export interface Bench {
  size: Size
  rounds: number
  /** How long one run under load takes. */
  seconds: number
  /** Progress, for whoever waits. */
  say: Say
  /** Started at the first call and shared by all benchmarks. */
  postgres(): Promise<Postgres>
  /** Undone when the benchmark ends, the last first. */
  onEnd(undo: () => Promise<void>): void
}

export interface Finding {
  /** What was measured, as a sentence without its full stop. */
  title: string
  unit: string
  /** Two sides, and the goal is a bound of their ratio; or figures of our own, and the goal is a bound of their median. */
  measured: Comparison | Figures
  goal: Goal
  /** Further figures and what they mean. */
  notes: readonly string[]
}

export type Goal = { atLeast: number } | { atMost: number }

export interface Benchmark {
  name: string
  summary: string
  run(bench: Bench): Promise<Finding[]>
}

export function isMet(goal: Goal, value: number): boolean {
  return 'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost
}
