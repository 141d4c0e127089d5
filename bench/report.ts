/** Findings as text: the ratio first, then the figures that it was made of. */
import { isMet, type Finding, type Goal, type Table } from './benchmark.ts'
import { median, type Comparison, type Figures } from './measure.ts'

const number = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 })

export function describeFinding({ title, unit, measured, goal, notes }: Finding): string {
  const rows = 'ratio' in measured ? comparisonRows(measured, unit, goal) : figureRows(measured, unit, goal)
  const width = Math.max(...rows.map(([name]) => name.length))
  const lines = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
  return [title, ...lines, ...notes.map((note) => `  ${note}`)].join('\n')
}

/** In Markdown, so that it can be copied into a document. */
export function describeTable({ title, header, rows, notes }: Table): string {
  const all = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const toLine = (row: readonly string[]): string =>
    `  | ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`
  const rule = `  | ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [title, toLine(header), rule, ...rows.map(toLine), ...notes.map((note) => `  ${note}`)].join('\n')
}

type Row = [name: string, text: string]

function comparisonRows({ ours, reference, ratio, spread }: Comparison, unit: string, goal: Goal | undefined): Row[] {
  const [least, most] = spread.map(show)
  return [
    [ours.name, describeFigures(ours, unit)],
    [reference.name, describeFigures(reference, unit)],
    ['ratio', `${show(ratio)}  (single rounds ${least} to ${most})${describeGoal(goal, ratio)}`],
  ]
}

function figureRows(figures: Figures, unit: string, goal: Goal | undefined): Row[] {
  return [[figures.name, `${describeFigures(figures, unit)}${describeGoal(goal, median(figures.values))}`]]
}

function describeFigures({ values }: Figures, unit: string): string {
  if (values.length === 1) return `${show(median(values))} ${unit}`
  const range = `${show(Math.min(...values))} to ${show(Math.max(...values))}`
  return `${show(median(values))} ${unit}  (${range}, ${values.length} runs)`
}

function describeGoal(goal: Goal | undefined, value: number): string {
  if (goal === undefined) return ''
  const words = 'atLeast' in goal ? `≥ ${show(goal.atLeast)}` : `≤ ${show(goal.atMost)}`
  return `; goal ${words}: ${isMet(goal, value) ? 'met' : 'MISSED'}`
}

export function show(value: number): string {
  return number.format(value)
}
