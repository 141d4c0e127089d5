/** Reads an exchange's own answer, regardless of what ccxt makes of it. */
import { SourceError } from '@assay/core'

/** A row or a market as ccxt makes it. Its members are unknown until a schema has read them. */
export type Row = Readonly<Record<string, unknown>>

/**
 * ccxt finds no rows in an error that it does not know, such as that of a gateway under HTTP 200, and takes it for an
 * empty list or an account without balances. So an answer without rows is believed only if nothing in it reports an
 * error. For lists, a message that there are no rows is believed as well, whatever code comes with it.
 *
 * An empty list is not a sign of success: many backends put one into every answer, errors included. But where a flag or
 * a code reports success beside it, a message in words that do not name an error is believed. A person without trades would
 * have a connection that can never be read.
 *
 * An answer that says nothing, such as `{}` or `null`, is believed: some exchanges write an empty list that way.
 */
export function refuseError(call: string, answer: unknown): void {
  if (hasList(answer, 1)) return
  const members = listNested(answer)
  const messages = members.filter(([name]) => messageNames.has(name)).map(([, value]) => value)
  const saysEmpty = (words: unknown): boolean =>
    call !== 'fetchBalance' && typeof words === 'string' && noRows.test(words)
  const isLikelyEmpty = hasList(answer, 0) && members.some(isSuccessSign)
  const isError =
    typeof answer === 'string' ||
    messages.some((words) => isErrorMessage(words) && !saysEmpty(words) && (!isLikelyEmpty || namesError(words))) ||
    (members.some(isFailure) && !messages.some(saysEmpty))
  if (isError) throw new SourceError('unreadable_answer', `${call}: an error and no rows`)
}

function hasList(value: unknown, rowsMin: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.length >= rowsMin && value.every((member) => typeof member === 'object')
  return Object.entries(value).some(
    ([name, member]) => !/^(?:errors?|details?|trace|stack|args|links)$/i.test(name) && hasList(member, rowsMin),
  )
}

type Member = readonly [name: string, value: unknown]

/** All members of an object, with those of the objects in it, by their names in lower case. */
function listNested(value: unknown): Member[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [[name.toLowerCase(), member], ...listNested(member)])
}

const messageNames = new Set([
  ...['message', 'msg', 'error_message', 'errormessage', 'detail', 'reason', 'faultstring', 'exception'],
  ...['error', 'errors', 'errmsg', 'err_msg', 'error_msg', 'retmsg', 'ret_msg'],
])
const errorWords =
  /error|fail|unavailable|busy|maintenance|time[ds]? ?out|try again|too many|denied|exceed|refused|invalid|unauthori/i
const plainSuccess = /^(?:ok|none|no[_ ]?errors?)[\s.!]*$/i
const success = /\bsucc|成功/i
/** "cannot be completed successfully", "wasn't successful", "no successful response", "不成功". */
const denial = /not\b|n['’]t\b|\b(?:no|never|without|unable|unavailable|fail\w*|errors?)\b|[不未没沒無无失]/i
const nouns = '(?:data|records?|results?|trades?|orders?|transactions?|deposits?|withdrawals?|history|entries)'
/** The whole message, because "No data received from upstream" is an error. */
const noRows = new RegExp(
  `^(?:no ${nouns}(?: ${nouns})?(?: found| available)?|${nouns} (?:was |were )?not found|nothing to show)[\\s.!]*$`,
  'i',
)

function isErrorMessage(words: unknown): boolean {
  return typeof words === 'string' && /\p{L}/u.test(words) && !isSuccess(words)
}

function namesError(words: unknown): boolean {
  return typeof words === 'string' && errorWords.test(words)
}

function isSuccess(words: string): boolean {
  return plainSuccess.test(words) || (success.test(words) && !denial.test(words))
}

/** Members that say how the request went, in a flag, and in a code or a word. */
const flagNames = /^(?:success|ok)$/
const outcomeNames = /^(?:status|statuscode|status_code|code|result)$/

function isFailure([name, value]: Member): boolean {
  if (flagNames.test(name)) return value === false || value === 0 || value === 'false'
  if (/^errors?$/.test(name))
    return value === true || isErrorMessage(value) || (typeof value === 'object' && isFilled(value))
  if (!outcomeNames.test(name)) return false
  // The numbers are those of HTTP. Exchanges have codes of their own, which ccxt knows.
  if (typeof value === 'number') return value >= 400 && value <= 599
  return (
    typeof value === 'string' && /^[45]\d\d$|error|fail|maintenance|unavailable|busy/i.test(value) && !isSuccess(value)
  )
}

function isSuccessSign([name, value]: Member): boolean {
  if (flagNames.test(name)) return value === true || value === 1 || value === 'true'
  // Exchanges write the code of success as 0, "0000", "00000" and 200. A status of 0 is an error at Bitbns.
  if (name === 'code' && /^(?:0+|200)$/.test(String(value))) return true
  return outcomeNames.test(name) && typeof value === 'string' && isSuccess(value)
}

function isFilled(value: object | null): boolean {
  return value !== null && Object.keys(value).length > 0
}

/** The names of the lists that the rows of an answer are in. */
export function nameRows(answer: unknown): ReadonlyMap<unknown, string> {
  const names = new Map<unknown, string>()
  const visit = (value: unknown, name: string): void => {
    if (Array.isArray(value)) for (const row of value as unknown[]) names.set(row, name)
    else if (typeof value === 'object' && value !== null)
      for (const [member, within] of Object.entries(value)) visit(within, member)
  }
  visit(answer, '')
  return names
}

/** The rows of an answer are the members of its lists. Lists within a row belong to the row. */
export function listMembers(answer: unknown): unknown[] {
  if (Array.isArray(answer)) return answer.every((member) => typeof member === 'object') ? answer : []
  return typeof answer === 'object' && answer !== null ? Object.values(answer).flatMap(listMembers) : []
}

/** `result.readOnly`, `data.0.perm`; '' is the whole answer. */
export function valueAt(answer: unknown, place: string): unknown {
  if (place === '') return answer
  return place.split('.').reduce<unknown>((value, name) => {
    if (typeof value !== 'object' || value === null) return undefined
    return (value as Record<string, unknown>)[name]
  }, answer)
}

export function textAt(answer: unknown, place: string): string | undefined {
  const value = valueAt(answer, place)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
