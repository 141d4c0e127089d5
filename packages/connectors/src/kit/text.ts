/**
 * Text that can be kept. PostgreSQL's text has no NUL, and half a surrogate pair is no character: either makes a
 * statement fail, and with it everything else in the page. They mean nothing, so each becomes U+FFFD. A provider's JSON
 * is not touched by it: there they stand escaped (`\u0000`), until somebody parses it.
 */
export function toSafeText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** The same for all text in plain data. */
export function withSafeText<T>(data: T): T
export function withSafeText(data: unknown): unknown {
  if (typeof data === 'string') return toSafeText(data)
  if (Array.isArray(data)) return data.map((item: unknown) => withSafeText(item))
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [name, withSafeText<unknown>(value)]))
}
