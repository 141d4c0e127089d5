/**
 * `assay restore`: a backup becomes the database of a data directory. It is unpacked beside its place, checked to the
 * last byte, started once (PostgreSQL replays the log that came with it) and stopped; only then does it replace the old
 * one. A restore that fails or is killed before that changes nothing.
 */
import { existsSync } from 'node:fs'
import {
  lchown,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  statfs,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'
import { createGunzip } from 'node:zlib'
import { readVersion, type ServerIdentity } from '../embedded/binaries.ts'
import { claimWithSocket, describeCluster, forgetPassword, socketPrefix, type Claim } from '../embedded/cluster.ts'
import {
  ownConfiguration,
  removeCluster,
  startPostmaster,
  stopOrphan,
  stopPostmaster,
  syncDirectory,
  toReplaced,
  type Cluster,
} from '../embedded/postmaster.ts'
import { makeDirectory } from '../make-directory.ts'
import { errorCodeOf, ignore } from '../error-code.ts'
import type { DatabaseLog } from '../pool/pool.ts'
import { clusterFolder, keysName, openArchive, type Description, type OpenedArchive } from './archive.ts'
import { collect, type TarEntry } from './tar.ts'

export interface RestoreOptions {
  dataDirectory: string
  file: string
  /** Destroy the database that is there. */
  replace: boolean
  signal: AbortSignal
  onProgress(doneBytes: number, totalBytes: number): void
  log: DatabaseLog
}

export interface Restored {
  description: Description
  /** Where the key ring was put, if the backup had one. */
  keysFile: string | undefined
}

/** Small chunks cost more in calls than in bytes. */
const chunkBytes = 262_144

export async function restore(options: RestoreOptions): Promise<Restored> {
  const handle = await open(options.file).catch((error: unknown) => {
    if (errorCodeOf(error) !== 'ENOENT') throw error
    throw new Error(`The file ${options.file} does not exist.`, { cause: error })
  })
  const totalBytes = (await handle.stat()).size
  const source = handle.createReadStream()
  const bytes = createGunzip({ chunkSize: chunkBytes })
  source.on('data', () => options.onProgress(source.bytesRead, totalBytes))
  source.on('error', (error) => bytes.destroy(error))
  try {
    const archive = await openArchive(source.pipe(bytes))
    return await withDataDirectory(options, (claim) => restoreInto(claim, archive, options))
  } finally {
    source.destroy()
    bytes.destroy()
  }
}

/** Prevents a service from starting there during the restore, and a restore under a running service. */
async function withDataDirectory<T>(options: RestoreOptions, work: (claim: Claim) => Promise<T>): Promise<T> {
  const made = await makeDirectory(options.dataDirectory, 0o755)
  const dataDirectory = await realpath(options.dataDirectory)
  const claim = await claimWithSocket(dataDirectory)
  try {
    return await work(claim)
  } finally {
    await claim.release()
    if (made !== undefined) await rmdir(dataDirectory).catch(ignore('ENOTEMPTY', 'EEXIST'))
  }
}

async function restoreInto(claim: Claim, archive: OpenedArchive, options: RestoreOptions): Promise<Restored> {
  const { dataDirectory } = claim
  if (!options.replace) await refuseUnlessEmpty(dataDirectory)
  const cluster = await describeCluster({ log: options.log }, claim)
  await refuseOtherVersion(archive.description, cluster)
  await refuseWithoutRoom(archive.description, dataDirectory)
  // A PostgreSQL that a killed service left running would hold the socket and the files that are about to be deleted.
  if (existsSync(cluster.directory)) await stopOrphan(cluster)
  // The next start deletes an unfinished cluster with this name.
  const draft: Cluster = { ...cluster, directory: `${cluster.directory}.draft` }
  try {
    const keys = await unpack(archive.entries, draft.directory, options)
    if (draft.identity !== undefined) await handOver(draft.directory, draft.identity)
    const keysFile = path.join(dataDirectory, keysName)
    if (keys !== undefined) await refuseOtherKeys(keysFile, keys, options.replace)
    await claim.prepareSocket(draft, options.signal)
    await prove(draft, options.signal)
    if (keys !== undefined) await putKeys(keysFile, keys)
    // The password belongs to the cluster that was there. A start gives a cluster without one its own, whichever of the
    // two it finds.
    await forgetPassword(dataDirectory)
    await takePlace(cluster, draft)
    return { description: archive.description, keysFile: keys === undefined ? undefined : keysFile }
  } catch (error) {
    await removeCluster(draft.directory)
    if (options.signal.aborted) throw new Error('The restore was interrupted; nothing was changed.', { cause: error })
    if (errorCodeOf(error) === 'ENOSPC') throw noRoom(archive.description, dataDirectory)
    throw error
  }
}

/** What a data directory may hold before a restore: our own claim, the keys, and remains of a killed start or claim. */
const expected = new Set(['owner.json', 'database.password', keysName, `${keysName}.draft`, 'postgres.draft'])
const isExpected = (name: string): boolean =>
  expected.has(name) || name.startsWith('owner.json.') || name.startsWith(socketPrefix)

async function refuseUnlessEmpty(dataDirectory: string): Promise<void> {
  const others = (await readdir(dataDirectory)).filter((name) => !isExpected(name))
  if (others.length === 0) return
  throw new Error(
    `${dataDirectory} is not empty (${others.slice(0, 3).join(', ')}). Restore into a new directory (--data), ` +
      'or say --replace: the database that is there is then destroyed.',
  )
}

async function refuseOtherVersion({ postgres_version, assay_version }: Description, cluster: Cluster): Promise<void> {
  const version = await readVersion(cluster.binaries)
  if (version === postgres_version) return
  throw new Error(
    `The backup is one of PostgreSQL ${postgres_version}, and this Assay carries PostgreSQL ${version}, which cannot read ` +
      `its files. Restore it with the Assay that made it (${assay_version}), and move it on with pg_dump.`,
  )
}

async function refuseWithoutRoom(description: Description, dataDirectory: string): Promise<void> {
  const { bavail, bsize } = await statfs(dataDirectory)
  if (bavail * bsize < description.size_bytes) throw noRoom(description, dataDirectory)
}

function noRoom({ size_bytes }: Description, dataDirectory: string): Error {
  const mebibytes = Math.ceil(size_bytes / 1_048_576)
  return new Error(
    `${dataDirectory} has not enough room: the database needs about ${mebibytes} MiB. Nothing was restored.`,
  )
}

async function refuseOtherKeys(file: string, keys: string, replace: boolean): Promise<void> {
  if (!existsSync(file) || (await readFile(file, 'utf8')) === keys) return
  if (!replace) {
    throw new Error(
      `${file} holds other keys than the backup. Move it away, or say --replace: it is then kept as ${file}.replaced.`,
    )
  }
  if (existsSync(`${file}.replaced`)) {
    throw new Error(
      `${file}.replaced holds the keys of an earlier restore, and may be the only copy. Move it away first.`,
    )
  }
}

/** Returns the key ring, if there is one. When it returns, the archive was complete and undamaged. */
async function unpack(
  entries: AsyncGenerator<TarEntry>,
  directory: string,
  { signal }: RestoreOptions,
): Promise<string | undefined> {
  await removeCluster(directory)
  await mkdir(directory, { mode: 0o700 })
  let keys: string | undefined
  for await (const entry of entries) {
    signal.throwIfAborted()
    if (entry.path === keysName) keys = (await collect(entry.content)).toString()
    if (!entry.path.startsWith(clusterFolder)) continue
    const name = path.normalize(entry.path.slice(clusterFolder.length))
    // Settings name commands that PostgreSQL runs, and such a file makes it run them during recovery.
    if (name.endsWith('.signal')) throw new Error(`The file has ${name}, which \`assay backup\` does not make.`)
    if (Object.hasOwn(ownConfiguration, name)) continue
    const target = path.join(directory, name)
    if (entry.isDirectory) await mkdir(target, { mode: 0o700 })
    else await writeEntry(target, entry)
  }
  for (const [name, text] of Object.entries(ownConfiguration)) {
    await writeFile(path.join(directory, name), text, { mode: 0o600, flag: 'wx' })
  }
  return keys
}

/**
 * Gives the finished cluster to the user that PostgreSQL runs as, its outermost directory last, so that only root can
 * enter until then. The owner of a directory could otherwise replace an entry by a link, to /etc for example, and we
 * would write through it or give away what it points to.
 */
async function handOver(directory: string, identity: ServerIdentity): Promise<void> {
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const inside = path.join(directory, entry.name)
    if (entry.isDirectory()) await handOver(inside, identity)
    else await lchown(inside, identity.uid, identity.gid)
  }
  await lchown(directory, identity.uid, identity.gid)
}

async function writeEntry(file: string, entry: TarEntry): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    for await (const chunk of entry.content) await handle.writeFile(chunk)
  } finally {
    await handle.close()
  }
}

/** Recovery ends at the moment the backup ended, or fails. PostgreSQL also puts every file on the disk first. */
async function prove(draft: Cluster, signal: AbortSignal): Promise<void> {
  await stopPostmaster(await startPostmaster(draft, signal))
}

async function putKeys(file: string, keys: string): Promise<void> {
  if (existsSync(file)) {
    if ((await readFile(file, 'utf8')) === keys) return
    await link(file, `${file}.replaced`)
  }
  // A start that finds no keys would make new ones, so there is no moment without a keys file.
  const draft = `${file}.draft`
  await rm(draft, { force: true })
  await writeFile(draft, keys, { mode: 0o600, flag: 'wx', flush: true })
  await rename(draft, file)
}

async function takePlace(cluster: Cluster, draft: Cluster): Promise<void> {
  const replaced = toReplaced(cluster.directory)
  // If an earlier restore was killed here, what it put aside is the only cluster until this one has its place.
  if (existsSync(cluster.directory)) {
    await removeCluster(replaced)
    await rename(cluster.directory, replaced)
  }
  await rename(draft.directory, cluster.directory)
  await syncDirectory(path.dirname(cluster.directory))
  await removeCluster(replaced)
}
