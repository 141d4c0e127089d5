/**
 * What the application remembers, as files in one directory, so that several processes can share it. Use your database
 * in its place, and seal the tokens: a refresh token is enough to read the user's data.
 */
import { mkdir, readdir, readFile, rename, rm, rmdir, stat, utimes, writeFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Tokens } from '@assay/sdk'

/** Of a user who has connected. Visitors who have not leave nothing here, because every visit would be a file. */
export interface Session {
  userId: string
}

export interface Store {
  sessions: Shelf<Session>
  tokens: Shelf<Tokens>
  /** The webhook messages that were handled, by their id: a message may come twice. */
  messages: Shelf<{ receivedAt: string; text: string; userId: string }>
  /** At most one process at a time runs `work` for this user. */
  withLock(userId: string, work: () => Promise<void>): Promise<void>
}

interface Shelf<Value> {
  find(id: string): Promise<Value | undefined>
  save(id: string, value: Value): Promise<void>
  remove(id: string): Promise<void>
}

/** A process that died inside a lock must not keep the others out. One that lives renews its lock in time. */
const lockLifeMs = 30_000

export async function openStore(directory: string): Promise<Store> {
  const shelf = async <Value>(name: string): Promise<Shelf<Value>> => {
    const folder = path.join(directory, name)
    await mkdir(folder, { recursive: true })
    // Ids come from outside: only letters, digits, "-" and "_" may become a file name.
    const fileOf = (id: string): string => path.join(folder, `${id.replaceAll(/[^\w-]/g, '_')}.json`)
    return {
      async find(id) {
        const text = await readFile(fileOf(id), 'utf8').catch(undefinedIfMissing)
        return text === undefined ? undefined : (JSON.parse(text) as Value)
      },
      async save(id, value) {
        // A reader sees the old file or the new one, never half of it.
        const half = `${fileOf(id)}.${randomUUID()}`
        await writeFile(half, JSON.stringify(value), { mode: 0o600 })
        await rename(half, fileOf(id))
      },
      remove: (id) => rm(fileOf(id), { force: true }),
    }
  }
  return {
    sessions: await shelf('sessions'),
    tokens: await shelf('tokens'),
    messages: await shelf('messages'),
    withLock: (userId, work) => withFileLock(path.join(directory, `${userId}.lock`), work),
  }
}

/**
 * The lock is a directory with one file, whose name no other lock has. A directory cannot be renamed to one that is not
 * empty, so one process takes the lock; and to remove the file of a lock never ends the next one.
 */
async function withFileLock(lock: string, work: () => Promise<void>): Promise<void> {
  const id = randomUUID()
  await takeLock(lock, id)
  const file = path.join(lock, id)
  const renewal = setInterval(() => void renew(file).catch(undefinedIfMissing), lockLifeMs / 3)
  try {
    await work()
  } finally {
    clearInterval(renewal)
    await rm(file, { force: true })
    await removeEmpty(lock)
  }
}

async function takeLock(lock: string, id: string): Promise<void> {
  const prepared = `${lock}.${id}`
  await mkdir(prepared)
  await writeFile(path.join(prepared, id), '')
  for (; ; await wait(20)) {
    // The lock begins when it is taken, not when the wait for it began.
    await renew(path.join(prepared, id))
    const isTaken = await rename(prepared, lock).then(() => true, falseIfHeld)
    if (isTaken) return
    await removeDead(lock)
  }
}

function renew(file: string): Promise<void> {
  const now = new Date()
  return utimes(file, now, now)
}

async function removeDead(lock: string): Promise<void> {
  for (const id of (await readdir(lock).catch(undefinedIfMissing)) ?? []) {
    const file = path.join(lock, id)
    const held = await stat(file).catch(undefinedIfMissing)
    if (held !== undefined && Date.now() - held.mtimeMs > lockLifeMs) await rm(file, { force: true })
  }
  await removeEmpty(lock)
}

/** Windows renames no directory to one that exists, even if it is empty. A lock that was taken meanwhile has a file. */
async function removeEmpty(lock: string): Promise<void> {
  await rmdir(lock).catch(() => undefined)
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function falseIfHeld(error: NodeJS.ErrnoException): false {
  if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code ?? '')) throw error
  return false
}
