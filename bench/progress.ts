/**
 * Shows the current step and the time since the start on standard error. A terminal shows one line that changes. A file
 * or a pipe gets a line for most steps, and one every half minute during a long step.
 */
import type { Say } from './measure.ts'

export interface Progress {
  say: Say
  /** Clears the terminal's line before something else is printed. */
  clear(): void
  stop(): void
}

const lookEveryMs = 1_000
/** Steps that end within this time get no separate line. */
const lineEveryMs = 3_000
const stillEveryMs = 30_000

export function startProgress(stream: NodeJS.WriteStream): Progress {
  const beganAt = performance.now()
  let latest = ''
  let printed = ''
  let printedAt = -Infinity

  const line = (): string => `[${toClock(performance.now() - beganAt)}] ${latest}`
  function print(): void {
    stream.write(stream.isTTY ? `\r\u001b[K${line()}` : `${line()}\n`)
    printed = latest
    printedAt = performance.now()
  }
  function look(): void {
    if (latest === '') return
    const silentMs = performance.now() - printedAt
    if (stream.isTTY || silentMs >= stillEveryMs || (latest !== printed && silentMs >= lineEveryMs)) print()
  }
  const timer = setInterval(look, lookEveryMs)
  timer.unref()

  return {
    say(text) {
      latest = text
      look()
    },
    clear() {
      latest = ''
      if (stream.isTTY) stream.write('\r\u001b[K')
    },
    stop: () => clearInterval(timer),
  }
}

export function toClock(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}
