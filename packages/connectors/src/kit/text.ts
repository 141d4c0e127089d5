/**
 * Text that can be stored. PostgreSQL's text has no NUL, and half a surrogate pair is not a character: either makes a
 * statement fail, and with it everything else in the page. Both are meaningless, so each becomes U+FFFD. A provider's
 * JSON is stored unchanged, because there they are escaped (`\u0000`) until the text is parsed.
 */
export function toSafeText(text: string): string {
  return isSafeText(text) ? text : text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** The same for all text in plain data. Data whose text is already safe, as nearly all is, is returned unchanged. */
export function withSafeText<T>(data: T): T
export function withSafeText(data: unknown): unknown {
  return isSafe(data) ? data : toSafe(data)
}

function isSafeText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

function isSafe(data: unknown): boolean {
  if (typeof data === 'string') return isSafeText(data)
  if (Array.isArray(data)) return data.every(isSafe)
  if (typeof data !== 'object' || data === null) return true
  for (const name in data) if (!isSafe((data as Record<string, unknown>)[name])) return false
  return true
}

function toSafe(data: unknown): unknown {
  if (typeof data === 'string') return toSafeText(data)
  if (Array.isArray(data)) return data.map(toSafe)
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, toSafe(value)]))
}
