/**
 * Where a cluster lives and who runs it: PostgreSQL's own directory below the data directory, the user it runs as when
 * we are root, and a socket that other users cannot reach.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, lstat, mkdtemp, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCodeOf, ignore } from '../error-code.ts'
import type { DatabaseLog } from '../pool/pool.ts'
import { ensureReachable, findBinaries, type Binaries, type ServerIdentity } from './binaries.ts'
import { isGuarded } from './guard.ts'
import { claimDataDirectory, findRecordedSocket, withAdvice } from './owner.ts'
import { removeSocketFiles, socketName, type Cluster } from './postmaster.ts'

export interface ClusterOptions {
  log: DatabaseLog
  /** Another PostgreSQL than the one for this platform. */
  binaries?: Binaries
  /** PostgreSQL settings; tests that need speed and no durability turn fsync off. */
  settings?: Readonly<Record<string, string>>
}

/**
 * This is nobody:nogroup on nearly every system. A number of its own would keep other programs of that user away from the
 * files, but initdb and single-user mode need an entry in /etc/passwd.
 */
const unprivileged: ServerIdentity = { uid: 65534, gid: 65534 }
/** sun_path has 108 bytes on Linux and 104 on macOS. */
const socketPathMax = 100
export const socketPrefix = 'assay-socket-'

export async function describeCluster(
  options: ClusterOptions,
  { dataDirectory, socketDirectory }: Pick<Claim, 'dataDirectory' | 'socketDirectory'>,
): Promise<Cluster> {
  const directory = path.join(dataDirectory, 'postgres')
  const identity = await chooseIdentity(directory)
  return {
    directory,
    identity,
    binaries: await ensureReachable(options.binaries ?? (await findBinaries()), identity),
    socketDirectory,
    settings: options.settings ?? {},
    log: options.log,
  }
}

const passwordBytes = 32

/** Where the password of our role is kept: readable by us alone, even when PostgreSQL runs as another user. */
function passwordFileOf(dataDirectory: string): string {
  return path.join(dataDirectory, 'database.password')
}

/** Undefined when there is none, as in a data directory that was restored. */
export async function findPassword(dataDirectory: string): Promise<string | undefined> {
  try {
    return (await readFile(passwordFileOf(dataDirectory), 'utf8')).trim()
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw withAdvice(error, dataDirectory)
  }
}

/** The caller sets it in the cluster first: so a stored password always works. */
export async function keepPassword(dataDirectory: string, password: string): Promise<void> {
  const file = passwordFileOf(dataDirectory)
  await writeFile(`${file}.draft`, `${password}\n`, { mode: 0o600, flush: true })
  await rename(`${file}.draft`, file)
}

export async function forgetPassword(dataDirectory: string): Promise<void> {
  await rm(passwordFileOf(dataDirectory), { force: true })
}

export function newPassword(): string {
  return randomBytes(passwordBytes).toString('base64url')
}

/** Root switches to the owner of the cluster; any other user must own it. */
async function chooseIdentity(directory: string): Promise<ServerIdentity | undefined> {
  const owner = existsSync(directory) ? await stat(directory) : undefined
  const uid = process.getuid?.()
  if (uid === 0) return owner === undefined || owner.uid === 0 ? unprivileged : { uid: owner.uid, gid: owner.gid }
  if (owner === undefined || uid === undefined || owner.uid === uid) return undefined
  throw new Error(
    `${directory} belongs to uid ${owner.uid}, and this process runs as uid ${uid}: it was made by a start as root or as ` +
      `another user. Start as that user, or hand all of it over: sudo chown -R ${uid} ${path.dirname(directory)}`,
  )
}

export interface Claim {
  dataDirectory: string
  socketDirectory: string
  /**
   * Hands the socket to the user that PostgreSQL runs as, and removes the one of an owner that was killed, once no
   * PostgreSQL listens there. `signal` ends that wait: the promise is then rejected with its reason.
   */
  prepareSocket(cluster: Pick<Cluster, 'identity' | 'log'>, signal?: AbortSignal): Promise<void>
  release(): Promise<void>
}

/**
 * Whoever may write to the data directory can put a cluster of their own there, and links that we would follow: as root,
 * to any file. Root may therefore not start in the directory of an ordinary user, not even to take a backup; nor may a
 * command join there, because what it reads as the password goes to a server that the same user names.
 *
 * A group that may write there is not refused: where a umask of 002 is usual, each user has a group alone, and their
 * directories would be refused, too. What we make ourselves only its owner may write to.
 */
export async function refuseShared(dataDirectory: string): Promise<void> {
  const uid = process.getuid?.()
  const { uid: owner, mode } = await stat(dataDirectory)
  if (uid !== undefined && owner !== uid && owner !== 0) {
    const advice =
      uid === 0
        ? `Run this as that user: sudo -u '#${owner}' …. If it was root who made what is in it, take it back: sudo chown 0 ${dataDirectory}`
        : 'Run this as that user, or choose another with ASSAY_DATA_DIRECTORY.'
    throw new Error(
      `The data directory ${dataDirectory} belongs to uid ${owner}, and this process runs as uid ${uid}. ${advice}`,
    )
  }
  if ((mode & 0o002) !== 0) {
    throw new Error(
      `The data directory ${dataDirectory} may be written to by every user of this machine. ` +
        `Choose another with ASSAY_DATA_DIRECTORY, such as one below it, or close it: chmod o-w ${dataDirectory}`,
    )
  }
}

/** `dataDirectory` is a real path. Refuses while another live process has it. */
export async function claimWithSocket(dataDirectory: string): Promise<Claim> {
  await refuseShared(dataDirectory)
  const before = await findRecordedSocket(dataDirectory)
  const socketDirectory = await makeSocketDirectory(dataDirectory)
  let owner: ServerIdentity | undefined
  // A PostgreSQL that was killed leaves its socket there.
  const remove = (): Promise<void> => removeSocket(socketDirectory, owner)
  const release = await claimDataDirectory(dataDirectory, socketDirectory).catch(async (error: unknown) => {
    await remove()
    throw error
  })
  return {
    dataDirectory,
    socketDirectory,
    async prepareSocket({ identity, log }, signal) {
      if (identity !== undefined) await chown(socketDirectory, identity.uid, identity.gid)
      owner = identity
      for (const directory of await listEarlierSockets(dataDirectory, socketDirectory, before)) {
        if (await isOurs(directory, identity)) await awaitEndElsewhere(dataDirectory, directory, log, signal)
      }
      if (before !== undefined) await removeSocket(before, identity)
    },
    async release() {
      await remove()
      await release()
    },
  }
}

/**
 * New for each start and with a random name: where other users can make a directory too, one that could be foretold
 * could be taken, and then no start would succeed. It is below the data directory, except where its path would be too
 * long, and when we are root: PostgreSQL then runs as another user, who may not be able to enter there.
 */
async function makeSocketDirectory(dataDirectory: string): Promise<string> {
  // A TMPDIR of root's own (libpam-tmpdir makes one) is closed to that user, too.
  const parents = process.getuid?.() === 0 ? [] : [dataDirectory, os.tmpdir()]
  for (const parent of parents) {
    const prefix = path.join(parent, socketPrefix)
    if (Buffer.byteLength(path.join(`${prefix}XXXXXX`, socketName)) >= socketPathMax) continue
    const made = await mkdtemp(prefix).catch(ignore('EACCES', 'EROFS', 'ENOENT'))
    if (made !== undefined) return made
  }
  return mkdtemp(path.join('/tmp', socketPrefix))
}

/** PostgreSQL looks once a minute whether its lock file is still there, and then gives its processes five seconds. */
const endElsewhereTimeoutMs = 90_000
const endElsewherePollMs = 250

/**
 * Of an owner that was killed in another container, PostgreSQL may go on there, where no signal of ours reaches it. A
 * second one beside it would destroy the data. It ends by itself, because `stopOrphan` has removed its lock file.
 */
async function awaitEndElsewhere(
  dataDirectory: string,
  socketDirectory: string,
  log: DatabaseLog,
  signal: AbortSignal | undefined,
): Promise<void> {
  const deadline = performance.now() + endElsewhereTimeoutMs
  for (let hasLogged = false; await isGuarded(socketDirectory, socketName); hasLogged = true) {
    if (!hasLogged) log.warn({}, 'PostgreSQL was left running in another container; it ends within a minute')
    signal?.throwIfAborted()
    if (performance.now() > deadline) {
      throw new Error(
        `A PostgreSQL that was left running in another container uses ${dataDirectory}. Stop that container, and start again.`,
      )
    }
    await delay(endElsewherePollMs)
  }
}

/** A start that is killed while it waits leaves a record of its own. So those beside the data are looked at, too. */
async function listEarlierSockets(dataDirectory: string, own: string, before: string | undefined): Promise<string[]> {
  const names = (await readdir(dataDirectory)).filter((name) => name.startsWith(socketPrefix))
  const beside = names.map((name) => path.join(dataDirectory, name)).filter((directory) => directory !== own)
  return before === undefined || beside.includes(before) ? beside : [before, ...beside]
}

/** In /tmp, another user may have made it anew since. */
async function isOurs(directory: string, identity: ServerIdentity | undefined): Promise<boolean> {
  const found = await lstat(directory).catch(ignore('ENOENT'))
  const isOwn = found?.isDirectory() === true && [identity?.uid, process.getuid?.()].includes(found.uid)
  return isOwn && path.basename(directory).startsWith(socketPrefix)
}

async function removeSocket(directory: string, identity: ServerIdentity | undefined): Promise<void> {
  if (!(await isOurs(directory, identity))) return
  await removeSocketFiles(directory)
  await rmdir(directory).catch(ignore('ENOENT', 'ENOTEMPTY', 'ENOTDIR'))
}
