/**
 * Who read what and when, for the user to see: counted for each grant and endpoint in memory and written every few
 * seconds by one statement, so that no read waits for a write. A process that is killed loses some seconds of counts;
 * what it served is in its log.
 */
import type { Database } from '../db/index.ts'
import { addAccesses, type AccessCount } from './manage-store.ts'

export interface AccessLog {
  count(read: Omit<AccessCount, 'count'>): void
  /** Writes what is left. */
  stop(): Promise<void>
}

export interface AccessLogDeps {
  db: Pick<Database, 'execute' | 'rows' | 'row' | 'maybeRow'>
  /** Told of writes that failed; the counts are kept for the next one. */
  onFailure: (error: unknown) => void
  flushEveryMs?: number
  entriesMax?: number
}

export function createAccessLog({
  db,
  onFailure,
  flushEveryMs = 3_000,
  entriesMax = 10_000,
}: AccessLogDeps): AccessLog {
  let counts = new Map<string, AccessCount>()
  let writing = Promise.resolve()

  const add = (read: AccessCount): void => {
    const key = JSON.stringify([read.tenantId, read.userId, read.grantId, read.endpoint])
    const known = counts.get(key)
    if (known !== undefined) known.count += read.count
    // While the database is away memory stays bounded: what finds no room is not counted.
    else if (counts.size < entriesMax) counts.set(key, { ...read })
  }

  async function write(): Promise<void> {
    if (counts.size === 0) return
    const batch = counts
    counts = new Map()
    try {
      await addAccesses(db, [...batch.values()])
    } catch (error) {
      onFailure(error)
      for (const read of batch.values()) add(read)
    }
  }
  const flush = (): Promise<void> => (writing = writing.then(write))

  const timer = setInterval(() => void flush(), flushEveryMs)
  timer.unref()
  return {
    count(read) {
      add({ ...read, count: 1 })
      if (counts.size >= entriesMax) void flush()
    },
    async stop() {
      clearInterval(timer)
      await flush()
    },
  }
}
