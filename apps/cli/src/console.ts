/** What the command line writes: lines for people, JSON for scripts. */
import { once } from 'node:events'

/** The arguments are wrong; the message says what is expected. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UsageError'
  }
}

export function writeLine(text = ''): void {
  process.stdout.write(`${toPlain(text)}\n`)
}

/** Between the lines of a long list: what a slow reader has not taken would all be kept in memory. */
export async function waitForReader(): Promise<void> {
  if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain')
}

export function writeError(text: string): void {
  process.stderr.write(`${toPlain(text)}\n`)
}

/** Providers and applications choose some of what is shown: none of it may steer the terminal or reverse its text. */
export function toPlain(text: string): string {
  return text.replaceAll(/[^\P{C}\n\t]/gu, '\ufffd')
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

const progressEveryMs = { terminal: 200, file: 10_000 }

/** Progress of long work on standard error: one line that is overwritten in a terminal, occasional lines elsewhere. */
export function showProgress(what: string): { show(doneBytes: number, totalBytes: number): void; end(): void } {
  const isTerminal = process.stderr.isTTY
  const everyMs = isTerminal ? progressEveryMs.terminal : progressEveryMs.file
  let shownAt = performance.now()
  let open = false
  return {
    show(doneBytes, totalBytes) {
      if (performance.now() - shownAt < everyMs) return
      shownAt = performance.now()
      open = isTerminal
      const text = `${what}: ${Math.floor((100 * doneBytes) / totalBytes)} % of ${Math.ceil(totalBytes / 1_048_576)} MiB`
      process.stderr.write(isTerminal ? `\r${text}` : `${text}\n`)
    },
    end() {
      if (open) process.stderr.write('\r\u001b[K')
    },
  }
}

export interface StopRequest {
  /** Aborted by the first request to stop. */
  signal: AbortSignal
  /** Resolves when that request has come. */
  asked: Promise<void>
}

/** A second Ctrl-C counts only if it comes a second after the first. */
export function listenForStop(): StopRequest {
  const controller = new AbortController()
  const { signal } = controller
  let askedAt: number | undefined
  const ask = (): void => {
    if (askedAt === undefined) {
      askedAt = performance.now()
      controller.abort()
      return
    }
    // The terminal and npm both pass on the same Ctrl-C.
    if (performance.now() - askedAt > 1_000) process.exit(130)
  }
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, ask)
  const asked = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  return { signal, asked }
}
