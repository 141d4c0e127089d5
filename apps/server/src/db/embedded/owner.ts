/**
 * One live process owns a data directory: it starts PostgreSQL there, restarts it and stops it. `owner.json` names it
 * by process id and birth, so that a recycled id is not mistaken for it. Others may look it up and join.
 *
 * PostgreSQL's own lock (postmaster.pid) cannot do this: it lives on when Node is killed, and it is gone for a moment
 * whenever PostgreSQL is restarted. Nor does it know an owner in another container; guard.ts does. Neither works across
 * machines: a data directory belongs to one of them.
 */
import { link, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { errorCodeOf } from '../error-code.ts'
import { isGuarded, openGuard } from './guard.ts'

interface Owner {
  pid: number
  born: string
  socketDirectory: string
  /** The name of its guard, beside the record. */
  guard?: string | undefined
}

interface LivingOwner extends Owner {
  /** It runs in another container, where its process id is another's. */
  isElsewhere: boolean
}

const takeoverPollMs = 5

const ownerFile = (dataDirectory: string): string => path.join(dataDirectory, 'owner.json')

/** Takes the data directory for this process or refuses, naming its owner. Returns a function that releases it. */
export async function claimDataDirectory(dataDirectory: string, socketDirectory: string): Promise<() => Promise<void>> {
  const file = ownerFile(dataDirectory)
  const draft = `${file}.${randomUUID()}`
  const guard = `${path.basename(draft)}.socket`
  const removeGuard = await openGuard(dataDirectory, guard)
  const owner: Owner = {
    ...{ pid: process.pid, born: (await findBirth(process.pid)) ?? '', socketDirectory },
    ...(removeGuard === undefined ? {} : { guard }),
  }
  try {
    // Whoever may write to it can name a server of their own, to which commands give the password.
    await writeFile(draft, JSON.stringify(owner), { mode: 0o644 }).catch((error: unknown) => {
      throw withAdvice(error, dataDirectory)
    })
    // A link is made by one process only, and appears with its whole content.
    while (!(await linkIfAbsent(draft, file))) {
      const record = await findRecord(file)
      if (record === undefined) continue
      const living = await findLiving(dataDirectory, record)
      if (living !== undefined) throw inUse(dataDirectory, living)
      await removeDead(draft, file, record)
    }
  } catch (error) {
    await removeGuard?.()
    throw error
  } finally {
    await rm(draft, { force: true })
  }
  return async () => {
    await rm(file, { force: true })
    await removeGuard?.()
  }
}

/** Says what to do where this process may not use a data directory or something in it, or where its disk is full. */
export function withAdvice(error: unknown, dataDirectory: string): unknown {
  if (errorCodeOf(error) === 'ENOSPC') {
    const advice = 'Make room there, or choose another disk with ASSAY_DATA_DIRECTORY.'
    return new Error(`No space is left on the disk of the data directory ${dataDirectory}. ${advice}`, { cause: error })
  }
  if (errorCodeOf(error) !== 'EACCES') return error
  const advice = `Start as the user it belongs to, or hand all of it over: sudo chown -R ${process.getuid?.()} ${dataDirectory}`
  return new Error(`This process may not use the data directory ${dataDirectory}. ${advice}`, { cause: error })
}

/** The live owner of a data directory. */
export async function findOwner(dataDirectory: string): Promise<LivingOwner | undefined> {
  return findLiving(dataDirectory, (await findRecord(ownerFile(dataDirectory))) ?? '')
}

/** The place of the socket that the last owner wrote down, alive or not. */
export async function findRecordedSocket(dataDirectory: string): Promise<string | undefined> {
  return parseOwner((await findRecord(ownerFile(dataDirectory))) ?? '')?.socketDirectory
}

function inUse(dataDirectory: string, { pid, isElsewhere }: LivingOwner): Error {
  if (pid === process.pid && !isElsewhere) {
    return new Error(`This process has already opened the data directory ${dataDirectory}.`)
  }
  const by = isElsewhere ? 'in another container' : `by process ${pid}`
  return new Error(
    `The data directory ${dataDirectory} is in use ${by}. ` +
      'Stop that process, or give this one another directory with ASSAY_DATA_DIRECTORY.',
  )
}

async function linkIfAbsent(source: string, target: string): Promise<boolean> {
  try {
    await link(source, target)
    return true
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false
    throw error
  }
}

/**
 * Removes a dead process's record, and no other. Between our look and the removal another process may have taken over,
 * so only one may remove a given record: the one that makes the lock named after it. A process that is killed in these
 * few milliseconds leaves that lock behind, which is a dead process's record in its turn.
 */
async function removeDead(draft: string, file: string, dead: string): Promise<void> {
  const lock = `${file}.${createHash('sha256').update(dead).digest('hex').slice(0, 8)}`
  if (await linkIfAbsent(draft, lock)) {
    if ((await findRecord(file)) === dead) await rm(file)
    const guard = parseOwner(dead)?.guard
    if (guard !== undefined) await rm(path.join(path.dirname(file), guard), { force: true })
    await rm(lock)
    return
  }
  const holder = await findRecord(lock)
  if (holder === undefined) return
  if ((await findLiving(path.dirname(file), holder)) === undefined) await removeDead(draft, lock, holder)
  else await delay(takeoverPollMs)
}

async function findRecord(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw withAdvice(error, path.dirname(file))
  }
}

const guardName = /^owner\.json\.[0-9a-f-]+\.socket$/

/** Undefined for a record that was cut short (the disk was full, the power went): no live process wrote it. */
function parseOwner(text: string): Owner | undefined {
  try {
    const { pid, born, socketDirectory, guard } = JSON.parse(text) as Partial<Owner>
    if (typeof pid !== 'number' || typeof born !== 'string' || typeof socketDirectory !== 'string') return undefined
    return { pid, born, socketDirectory, guard: typeof guard === 'string' && guardName.test(guard) ? guard : undefined }
  } catch {
    return undefined
  }
}

/** The process that wrote this record, if it still runs. */
async function findLiving(directory: string, record: string): Promise<LivingOwner | undefined> {
  const owner = parseOwner(record)
  if (owner === undefined || owner.pid <= 0) return undefined
  if ((await findBirth(owner.pid)) === owner.born) return { ...owner, isElsewhere: false }
  const isElsewhere = owner.guard !== undefined && (await isGuarded(directory, owner.guard))
  return isElsewhere ? { ...owner, isElsewhere } : undefined
}

// Which processes are running. A process id alone says little: ids are reused, in a container soon. A killed process
// keeps its id until its parent reaps it, which a container's first process may never do.

/** When a process began, in words that differ for any two processes with one id. Undefined when it does not run. */
async function findBirth(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return askPs(pid, 'lstart=')
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold spaces: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state] = fields
    if (state === 'Z' || state === 'X') return undefined
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    return `${boot.trim()} ${fields[19] ?? ''}`
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT' || errorCodeOf(error) === 'ESRCH') return undefined
    throw error
  }
}

export async function isRunning(pid: number): Promise<boolean> {
  return (await findBirth(pid)) !== undefined
}

/**
 * Whether this is the PostgreSQL of that cluster, by its working directory or, where that is unknown, by its arguments.
 */
export async function isPostmasterOf(pid: number, directory: string): Promise<boolean> {
  if (process.platform !== 'linux') return (await askPs(pid, 'command='))?.includes(directory) ?? false
  return (await readlink(`/proc/${pid}/cwd`).catch(() => undefined)) === directory
}

async function askPs(pid: number, column: string): Promise<string | undefined> {
  // ps exits with 1 when the process does not exist.
  const asked = promisify(execFile)('ps', ['-o', column, '-p', String(pid)])
  const { stdout } = await asked.catch(() => ({ stdout: '' }))
  return stdout.trim() === '' ? undefined : stdout.trim()
}
