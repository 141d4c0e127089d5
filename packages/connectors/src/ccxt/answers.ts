/** Reads an exchange's own answer, regardless of what ccxt makes of it. */
import { SourceError } from '@assay/core'

/**
 * ccxt finds no rows in an error that it does not know, such as that of a gateway under HTTP 200, and takes it for an
 * empty list or an account without balances. So an answer with a message is believed only if it contains a list, or if
 * the message reports success. For lists, a message that there are no rows is believed as well.
 */
export function refuseMessage(call: string, answer: unknown): void {
  if (typeof answer !== 'object' || answer === null || hasList(answer)) return
  const mayBeEmpty = call !== 'fetchBalance'
  const isGood = (words: string): boolean => isSuccess(words) || (mayBeEmpty && noRows.test(words))
  if (Object.entries(answer).some(([name, value]) => isComplaint(name.toLowerCase(), value, isGood))) {
    throw new SourceError('unreadable_answer', `${call}: a message and no rows`)
  }
}

function hasList(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  return Object.entries(value).some(([name, member]) => !/^errors?$/i.test(name) && hasList(member))
}

const messageNames = new Set(['message', 'msg', 'error', 'errors', 'error_message', 'errormessage', 'detail', 'reason'])
const plainSuccess = /^(?:ok|none|no[_ ]?errors?)[\s.!]*$/i
const success = /\bsucc|成功/i
/** "cannot be completed successfully", "wasn't successful", "no successful response", "不成功". */
const denial = /not\b|n['’]t\b|\b(?:no|never|without|unable|unavailable|fail\w*|errors?)\b|[不未没沒無无失]/i
const nouns = '(?:data|records?|results?|trades?|orders?|transactions?|deposits?|withdrawals?|history|entries)'
/** The whole message, because "No data received from upstream" is an error. */
const noRows = new RegExp(
  `^(?:no ${nouns}(?: ${nouns})?(?: found| available)?|${nouns} (?:was |were )?not found)[\\s.!]*$`,
  'i',
)

function isSuccess(words: string): boolean {
  return plainSuccess.test(words) || (success.test(words) && !denial.test(words))
}

function isComplaint(name: string, value: unknown, isGood: (words: string) => boolean): boolean {
  if (name === 'status') return typeof value === 'string' && /^(?:error|fail)/i.test(value)
  if (!messageNames.has(name)) return false
  if (typeof value === 'string') return /\p{L}/u.test(value) && !isGood(value)
  const isError = name.startsWith('error') && typeof value === 'object' && value !== null
  return isError && Object.keys(value).length > 0
}

/** The rows of an answer are the members of its lists. Lists within a row belong to the row. */
export function listMembers(answer: unknown): unknown[] {
  if (Array.isArray(answer)) return answer.every((member) => typeof member === 'object') ? answer : []
  return typeof answer === 'object' && answer !== null ? Object.values(answer).flatMap(listMembers) : []
}
