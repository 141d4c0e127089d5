/** What an exchange's own answer shows, whatever ccxt makes of it. */
import { SourceError } from '@assay/core'

/**
 * ccxt finds no rows in an error that it does not know, such as a gateway's under HTTP 200, and takes it for an empty
 * list. An answer with words that are not those of a success is believed only if it has a list.
 */
export function refuseMessage(call: string, answer: unknown): void {
  if (typeof answer !== 'object' || answer === null || hasList(answer)) return
  if (Object.entries(answer).some(([name, value]) => isComplaint(name.toLowerCase(), value))) {
    throw new SourceError('unreadable_answer', `${call}: a message and no rows`)
  }
}

function hasList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  return Object.entries(value).some(([name, member]) => !/^errors?$/i.test(name) && hasList(member))
}

const wordsOf = new Set(['message', 'msg', 'error', 'errors', 'error_message', 'errormessage', 'detail', 'reason'])
const goodWords = /success|成功|^ok\b|^no (?:data|record|result|trade|order)|not found|^empty/i

function isComplaint(name: string, value: unknown): boolean {
  if (name === 'status') return typeof value === 'string' && /^(?:error|fail)/i.test(value)
  if (!wordsOf.has(name)) return false
  if (typeof value === 'string') return /\p{L}/u.test(value) && !goodWords.test(value)
  const isError = name.startsWith('error') && typeof value === 'object' && value !== null
  return isError && Object.keys(value).length > 0
}

/** The rows of an answer are the members of its lists. Lists within a row belong to the row. */
export function listMembers(answer: unknown): unknown[] {
  if (Array.isArray(answer)) return answer.every((member) => typeof member === 'object') ? answer : []
  return typeof answer === 'object' && answer !== null ? Object.values(answer).flatMap(listMembers) : []
}
