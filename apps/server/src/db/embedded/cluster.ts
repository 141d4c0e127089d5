/**
 * Where a cluster lives and who runs it: PostgreSQL's own directory below the data directory, the user it runs as when
 * we are root, and a socket that other users cannot reach.
 */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, lstat, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { errorCodeOf } from '../error-code.ts'
import type { DatabaseLog } from '../pool/pool.ts'
import { ensureReachable, findBinaries, type Binaries, type ServerIdentity } from './binaries.ts'
import type { Cluster } from './postmaster.ts'

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

/** `dataDirectory` is a real path: the socket's place is derived from it. */
export async function describeCluster(options: ClusterOptions, dataDirectory: string): Promise<Cluster> {
  const directory = path.join(dataDirectory, 'postgres')
  const identity = await chooseIdentity(directory)
  return {
    directory,
    identity,
    binaries: await ensureReachable(options.binaries ?? (await findBinaries()), identity),
    socketDirectory: toSocketDirectory(dataDirectory),
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
    throw error
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
      `another user. Start as that user, or hand it over: sudo chown -R ${uid} ${directory}`,
  )
}

/**
 * Derived from the data directory: two clusters never share a socket, and a start after a crash finds the same place
 * again.
 */
export function toSocketDirectory(dataDirectory: string): string {
  const name = `assay-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16)}`
  const preferred = path.join(os.tmpdir(), name)
  const fits = Buffer.byteLength(path.join(preferred, '.s.PGSQL.5432')) < socketPathMax
  // A TMPDIR of root's own (libpam-tmpdir makes one) is closed to the user PostgreSQL then runs as.
  return fits && process.getuid?.() !== 0 ? preferred : path.join('/tmp', name)
}

export async function ensureSocketDirectory(directory: string, identity: ServerIdentity | undefined): Promise<void> {
  const uid = identity?.uid ?? process.getuid?.()
  try {
    await mkdir(directory, { mode: 0o700 })
    if (identity !== undefined) await chown(directory, identity.uid, identity.gid)
  } catch (error) {
    if (errorCodeOf(error) !== 'EEXIST') throw error
    // If another user had made the directory, that user could place a socket there and would receive proof of the
    // password.
    const found = await lstat(directory)
    if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
      throw new Error(`${directory} belongs to another user. Remove it and start again.`, { cause: error })
    }
  }
}
