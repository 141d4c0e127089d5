/**
 * Who read what and when, for the user to see: counted for each grant and endpoint in memory and written every few
 * seconds by one statement, so that no read waits for a write. A process that is killed loses some seconds of counts;
 * what it served is in its log.
 *
 * The same reads decide how often a user's connections are read. `user_ledgers.read_at` is right within some minutes,
 * and the users whose read before was long ago are passed on, so that their connections are read sooner.
 */
import { Refusal } from '@assay/core'
import type { Database } from '../../db/index.ts'
import type { Owner } from '../../owner.ts'
import { addAccesses, noteUserAccesses, type AccessCount } from './manage-store.ts'

export interface AccessLog {
  count(read: Pick<Owner, 'userKey'> & { grantId: string; endpoint: string }): void
  /**
   * The same for what a tenant reads by its own access, through one of its clients. It does not make the user active: a
   * tenant that walks through all users would otherwise have every connection read more often. Waits until there is
   * room, and refuses where there is none: a tenant with many users could otherwise fill the log, and then read what
   * the users never see.
   */
  countForTenant(read: { userKeys: ReadonlySet<Owner['userKey']>; clientId: string; endpoint: string }): Promise<void>
  /** Writes what is left. */
  stop(): Promise<void>
}

export interface AccessLogDeps {
  db: Pick<Database, 'execute' | 'rows' | 'row' | 'maybeRow' | 'now'>
  /** Called when a write failed; the counts are kept for the next one. */
  onFailure: (error: unknown) => void
  /** Users whose data is read again after `idleAfterMs` without a read. */
  onUserAccesses?: (owners: readonly Pick<Owner, 'userKey'>[]) => Promise<void>
  idleAfterMs?: number
  flushEveryMs?: number
  entriesMax?: number
}

/**
 * An access of a user is noted at most this often. Schedules are made of quarters of an hour and need nothing finer.
 */
const noteEveryMs = 5 * 60_000

export function createAccessLog(deps: AccessLogDeps): AccessLog {
  const { db, onFailure, flushEveryMs = 3_000, entriesMax = 10_000 } = deps
  const readers = createReaders(deps, entriesMax)
  let counts = new Map<string, AccessCount>()
  /** How many of them are on their way to the database. */
  let leaving = 0
  let writing = Promise.resolve(true)

  /** Memory stays bounded while the database is away. What could not be written comes back. */
  const hasRoom = (): boolean => counts.size < entriesMax && counts.size + leaving < 2 * entriesMax

  const add = (read: AccessCount): void => {
    const key = `${read.userKey} ${read.grantId} ${read.endpoint}`
    const known = counts.get(key)
    if (known === undefined) return void counts.set(key, { ...read })
    known.count += read.count
    if (known.lastAt < read.lastAt) known.lastAt = read.lastAt
  }

  /** False when it failed. */
  async function write(): Promise<boolean> {
    if (counts.size === 0) return true
    const batch = counts
    counts = new Map()
    leaving = batch.size
    try {
      await addAccesses(db, [...batch.values()])
      return true
    } catch (error) {
      onFailure(error)
      for (const read of batch.values()) add(read)
      return false
    } finally {
      leaving = 0
    }
  }
  const flush = (): Promise<boolean> =>
    (writing = writing.then(async () => {
      const isWritten = await write()
      await readers.write()
      return isWritten
    }))

  const timer = setInterval(() => void flush(), flushEveryMs)
  timer.unref()
  return {
    count(read) {
      const lastAt = db.now()
      // A user's reads are few, so that only a write which hangs leaves no room. They are then not counted.
      if (hasRoom()) add({ ...read, count: 1, lastAt })
      readers.add(read.userKey, lastAt)
      if (counts.size >= entriesMax) void flush()
    },
    async countForTenant({ userKeys, clientId, endpoint }) {
      const lastAt = db.now()
      // One by one, because a statistic may be about more users than there is ever room for at once.
      for (const userKey of userKeys) {
        while (!hasRoom()) {
          if (!(await flush()))
            throw new Refusal('unavailable', 'Reads cannot be recorded for now, so none is answered.')
        }
        add({ userKey, grantId: clientId, endpoint, count: 1, lastAt })
      }
      if (counts.size >= entriesMax) void flush()
    },
    async stop() {
      clearInterval(timer)
      await flush()
    },
  }
}

/** When users' data was last read, as far as the database does not know it yet. */
function createReaders({ db, onFailure, onUserAccesses, idleAfterMs = 3_600_000 }: AccessLogDeps, usersMax: number) {
  let read = new Map<string, string>()
  /** Users who came back and were not passed on yet. */
  let back: { userKey: string }[] = []
  /** What this process noted, and when: most users of a batch are noted already and need no statement. */
  const noted = new Map<string, number>()

  async function note(): Promise<void> {
    const due = [...read].filter(([userKey, at]) => Date.parse(at) - (noted.get(userKey) ?? -Infinity) >= noteEveryMs)
    read = new Map()
    if (due.length === 0) return
    try {
      const seconds = { noteEverySeconds: noteEveryMs / 1_000, idleAfterSeconds: idleAfterMs / 1_000 }
      const written = await noteUserAccesses(
        db,
        due.map(([userKey, at]) => ({ userKey, at })),
        seconds,
      )
      back.push(...written.filter(({ wasIdle }) => wasIdle).map(({ userKey }) => ({ userKey })))
      if (noted.size + due.length > usersMax) noted.clear()
      for (const [userKey, at] of due) noted.set(userKey, Date.parse(at))
    } catch (error) {
      onFailure(error)
      for (const [userKey, at] of due) if (!read.has(userKey)) read.set(userKey, at)
    }
  }

  async function passOn(): Promise<void> {
    if (back.length === 0) return
    const owners = back
    back = []
    try {
      await onUserAccesses?.(owners)
    } catch (error) {
      onFailure(error)
      back = [...owners, ...back].slice(0, usersMax)
    }
  }

  return {
    add(userKey: string, at: string): void {
      if (read.has(userKey) || read.size < usersMax) read.set(userKey, at)
    },
    async write(): Promise<void> {
      await note()
      await passOn()
    },
  }
}
