/**
 * The statements that this process sends to PostgreSQL during some work, BEGIN and COMMIT included, seen at the driver.
 */
import pg from 'pg'

export interface SentStatement {
  text: string
  values: readonly unknown[]
}

export async function recordStatements(work: () => Promise<unknown>): Promise<SentStatement[]> {
  const sent: SentStatement[] = []
  const { query } = pg.Client.prototype
  function recording(this: pg.Client, ...args: unknown[]): unknown {
    const [given] = args
    if (typeof given === 'string') sent.push({ text: given, values: [] })
    else if (isQuery(given)) sent.push({ text: given.text, values: (given.values ?? []).map(keep) })
    return Reflect.apply(query, this, args)
  }
  pg.Client.prototype.query = recording as typeof query
  try {
    await work()
  } finally {
    pg.Client.prototype.query = query
  }
  return sent
}

/** A list may continue to grow after it was sent. */
function keep(value: unknown): unknown {
  return Array.isArray(value) ? [...(value as unknown[])] : value
}

function isQuery(given: unknown): given is { text: string; values?: unknown[] } {
  return typeof given === 'object' && given !== null && 'text' in given && typeof given.text === 'string'
}
