/**
 * Two sides, measured alternately. A shared machine is faster in one minute than in the next, so the figure that means
 * something is the ratio of two runs beside each other: each round runs both sides, and every other round begins with
 * the other side, so that a machine that slows down during the run favours none.
 */

export interface Side {
  name: string
  /** One run; its figure, in the comparison's unit. */
  run(): Promise<number>
}

export interface Figures {
  name: string
  /** One for each round. */
  values: readonly number[]
}

export interface Comparison {
  ours: Figures
  reference: Figures
  /** Ours by the reference's, of the medians. */
  ratio: number
  /** The smallest and the largest of a single round. */
  spread: readonly [number, number]
}

export type Say = (text: string) => void

export interface Effort {
  rounds: number
  say: Say
}

export const roundsMin = 5

export async function compare(ours: Side, reference: Side, { rounds, say }: Effort): Promise<Comparison> {
  if (rounds < roundsMin) throw new RangeError(`a comparison takes at least ${roundsMin} rounds`)
  // Once each, uncounted: pages come into memory, plans into sessions, hot code through the compiler.
  say('warming up both sides')
  for (const side of [ours, reference]) await side.run()

  const found = new Map<Side, number[]>([
    [ours, []],
    [reference, []],
  ])
  for (let round = 1; round <= rounds; round += 1) {
    for (const side of round % 2 === 1 ? [ours, reference] : [reference, ours]) {
      say(`round ${round} of ${rounds}: ${side.name}`)
      found.get(side)?.push(await side.run())
    }
  }
  return toComparison(
    { name: ours.name, values: found.get(ours) ?? [] },
    { name: reference.name, values: found.get(reference) ?? [] },
  )
}

/** One side alone, where a goal is a figure. */
export async function measure(side: Side, { rounds, say }: Effort): Promise<Figures> {
  say('warming up')
  await side.run()
  const values: number[] = []
  for (let round = 1; round <= rounds; round += 1) {
    say(`round ${round} of ${rounds}`)
    values.push(await side.run())
  }
  return { name: side.name, values }
}

export function toComparison(ours: Figures, reference: Figures): Comparison {
  const single = ours.values.map((value, round) => value / (reference.values[round] ?? Number.NaN))
  return {
    ours,
    reference,
    ratio: median(ours.values) / median(reference.values),
    spread: [Math.min(...single), Math.max(...single)],
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [below, above] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.ceil((sorted.length - 1) / 2)]]
  if (below === undefined || above === undefined) throw new RangeError('no values')
  return (below + above) / 2
}
