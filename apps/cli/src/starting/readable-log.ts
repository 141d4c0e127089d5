/**
 * The log of `assay start` on a terminal: a sentence for a person in place of a JSON line. Where the output goes to a
 * file or another program, and for `assay serve`, lines stay JSON.
 */
import { toPlain } from '../console.ts'

/** Members that every line has, or that are said in words. */
const ownMembers = new Set(['level', 'time', 'message', 'err'])
const levelWords: Readonly<Record<string, string>> = { warn: 'Warning', error: 'Error', fatal: 'Error' }

/** What the log wrote as one JSON line. Its stack is for people who asked for details. */
export function toReadableLine(line: string, withStack: boolean): string {
  const { level = '', message = '', err, ...rest } = parseLine(line)
  const facts = Object.entries(rest).filter(([name]) => !ownMembers.has(name))
  const said = facts.map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  const reasons = [...(err === undefined ? [] : [err.message ?? err.type ?? 'unknown error']), ...said]
  const sentence = `${levelWords[level] ?? 'Note'}: ${message}${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}`
  // A line break in a value must not write a line of its own; a stack has many.
  const safe = toPlain(sentence.replaceAll(/\s+/gu, ' '))
  return withStack && err?.stack !== undefined ? `${safe}\n${toPlain(err.stack)}\n` : `${safe}\n`
}

interface LogLine extends Record<string, unknown> {
  level?: string
  message?: string
  err?: { type?: string; message?: string; stack?: string }
}

/** Our own log writes these members, with these types. */
function parseLine(line: string): LogLine {
  return JSON.parse(line) as LogLine
}
