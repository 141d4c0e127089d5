/** What the command line writes: lines for people, JSON for scripts. */

/** The words of the call are wrong; the message says how they should be. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

export function writeLine(text = ''): void {
  process.stdout.write(`${text}\n`)
}

export function writeError(text: string): void {
  process.stderr.write(`${text}\n`)
}

export function writeJson(value: unknown): void {
  writeLine(JSON.stringify(value, null, 2))
}

/** Columns as wide as their widest cell. */
export function writeTable(rows: readonly (readonly string[])[]): void {
  const widths: number[] = []
  for (const row of rows) row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)))
  for (const row of rows)
    writeLine(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

/** Resolves at the first request to stop. A second Ctrl-C a second later means it. */
export function untilAskedToStop(): Promise<void> {
  return new Promise((resolve) => {
    let askedAt: number | undefined
    const ask = (): void => {
      if (askedAt === undefined) {
        askedAt = performance.now()
        resolve()
        return
      }
      // The terminal and npm both hand on one Ctrl-C.
      if (performance.now() - askedAt > 1_000) process.exit(130)
    }
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, ask)
  })
}
