/**
 * What the application remembers, as files in one directory, so that several processes can share it. Use your database
 * in its place, and seal the tokens: a refresh token is enough to read the user's data.
 */
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
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

/** A process that died inside a lock must not keep the others out. */
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

async function withFileLock(file: string, work: () => Promise<void>): Promise<void> {
  for (const startedAt = Date.now(); ; await wait(20)) {
    // "wx" fails when the file exists: one process creates it, the others wait for its end.
    const lock = await open(file, 'wx').catch(undefinedIfTaken)
    if (lock === undefined) {
      if (Date.now() - startedAt > lockLifeMs) await rm(file, { force: true })
      continue
    }
    try {
      await lock.close()
      return await work()
    } finally {
      await rm(file, { force: true })
    }
  }
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function undefinedIfTaken(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'EEXIST') throw error
}
