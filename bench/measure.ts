/**
 * Sides that are measured alternately. A shared machine is faster in one minute than in the next, so only the ratio of
 * two neighbouring runs means something. Each round runs all sides, and every other round runs them in the opposite
 * order, so that a machine that slows down during a round favours none of them.
 */

export interface Side {
  name: string
  /** One run; its figure, in the comparison's unit. */
  run(): Promise<number>
  /** What to run once before the rounds, uncounted, when a whole run would take too long. */
  warmUp?(): Promise<unknown>
}

export interface Figures {
  name: string
  /** One for each round. */
  values: readonly number[]
}

export interface Comparison {
  ours: Figures
  reference: Figures
  /** The median of ours divided by that of the reference. */
  ratio: number
  /** The smallest and the largest ratio of a single round. */
  spread: readonly [number, number]
}

export type Say = (text: string) => void

export interface Effort {
  rounds: number
  say: Say
}

export const roundsMin = 5

/** Compares ours with one reference. */
export async function compare(ours: Side, reference: Side, effort: Effort): Promise<Comparison> {
  const [first, second] = await measureAll([ours, reference], effort)
  return toComparison(first, second)
}

/** Measures one side alone, where the goal is a figure. */
export async function measure(side: Side, effort: Effort): Promise<Figures> {
  const [figures] = await measureAll([side], effort)
  return figures
}

type FiguresOf<Sides extends readonly Side[]> = { [Place in keyof Sides]: Figures }

/** Runs all sides in every round. The figures are in the order of the sides. */
export async function measureAll<const Sides extends readonly Side[]>(
  sides: Sides,
  { rounds, say }: Effort,
): Promise<FiguresOf<Sides>> {
  if (rounds < roundsMin) throw new RangeError(`a measurement takes at least ${roundsMin} rounds`)
  // A warm-up that does not count: it loads data into memory, prepares plans and compiles hot code.
  for (const side of sides) {
    say(`warming up: ${side.name}`)
    await (side.warmUp ?? side.run)()
  }
  const found = sides.map(({ name }) => ({ name, values: [] as number[] }))
  const places = sides.map((side, place) => ({ side, values: found[place]?.values ?? [] }))
  for (let round = 1; round <= rounds; round += 1) {
    for (const { side, values } of round % 2 === 1 ? places : places.toReversed()) {
      say(`round ${round} of ${rounds}: ${side.name}`)
      values.push(await side.run())
    }
  }
  // TypeScript does not follow a tuple through map.
  return found as unknown as FiguresOf<Sides>
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
