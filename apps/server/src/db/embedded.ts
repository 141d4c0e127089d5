/**
 * The embedded PostgreSQL: a durable server of our own in a data directory, reached through a Unix socket only.
 *
 *   <data directory>/postgres     the cluster, owned by the user PostgreSQL runs as
 *   <data directory>/owner.json   the live process that started it (embedded/owner.ts)
 *   <tmp>/assay-<hash>            the socket, in a directory that nobody else may enter; a socket's path has to be short
 *
 * What may be killed: Node (PostgreSQL runs on; the next start stops it and starts afresh) and PostgreSQL (the owner
 * starts it again). Neither loses a committed row.
 */
import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, lstat, mkdir, realpath, rmdir, stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf, ignore } from './error-code.ts'
import { ensureReachable, findBinaries, type Binaries, type ServerIdentity } from './embedded/binaries.ts'
import { claimDataDirectory, findOwner } from './embedded/owner.ts'
import {
  createCluster,
  databaseName,
  hasExited,
  isReady,
  startPostmaster,
  stopOrphan,
  stopPostmaster,
  superuser,
  type Cluster,
} from './embedded/postmaster.ts'
import type { DatabaseLog } from './pool.ts'

interface SocketAddress {
  host: string
  user: string
  database: string
}

export interface EmbeddedServer {
  connection: SocketAddress
  stop(): Promise<void>
}

interface EmbeddedOptions {
  dataDirectory: string
  log: DatabaseLog
  /** Another PostgreSQL than the one for this platform. */
  binaries?: Binaries
  /** PostgreSQL settings; tests that need speed and no durability turn fsync off. */
  settings?: Readonly<Record<string, string>>
}

/** nobody:nogroup nearly everywhere. The number needs no entry in /etc/passwd. */
const unprivileged: ServerIdentity = { uid: 65534, gid: 65534 }
/** sun_path has 108 bytes on Linux and 104 on macOS. */
const socketPathMax = 100
const restartDelayMaxMs = 5_000
const joinTimeoutMs = 30_000

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  await mkdir(options.dataDirectory, { recursive: true })
  const dataDirectory = await realpath(options.dataDirectory)
  const socketDirectory = toSocketDirectory(dataDirectory)
  const release = await claimDataDirectory(dataDirectory, socketDirectory)
  async function giveBack(): Promise<void> {
    await rmdir(socketDirectory).catch(ignore('ENOENT', 'ENOTEMPTY', 'EPERM', 'ENOTDIR'))
    await release()
  }
  try {
    const cluster = await prepareCluster(options, dataDirectory, socketDirectory)
    const supervisor = await supervise(cluster)
    return {
      connection: toAddress(socketDirectory),
      async stop() {
        await supervisor.stop()
        await giveBack()
      },
    }
  } catch (error) {
    await giveBack()
    throw error
  }
}

/** The server that another live process runs in this data directory; undefined when there is none. */
export async function joinEmbedded(dataDirectory: string): Promise<SocketAddress | undefined> {
  if (!existsSync(dataDirectory)) return undefined
  const directory = await realpath(dataDirectory)
  const deadline = performance.now() + joinTimeoutMs
  for (;;) {
    const owner = await findOwner(directory)
    if (owner === undefined) return undefined
    const ready = await isReady(path.join(directory, 'postgres')).catch((error: unknown) => {
      if (codeOf(error) !== 'EACCES') throw error
      const advice = `Run this as the user who runs process ${owner.pid}, or as root.`
      throw new Error(`The database in ${directory} belongs to another user. ${advice}`, { cause: error })
    })
    if (ready) return toAddress(owner.socketDirectory)
    if (performance.now() > deadline) {
      throw new Error(`Process ${owner.pid} owns ${directory}, but its PostgreSQL does not become ready.`)
    }
    await delay(50)
  }
}

function toAddress(socketDirectory: string): SocketAddress {
  return { host: socketDirectory, user: superuser, database: databaseName }
}

async function prepareCluster(
  options: EmbeddedOptions,
  dataDirectory: string,
  socketDirectory: string,
): Promise<Cluster> {
  const directory = path.join(dataDirectory, 'postgres')
  const identity = await chooseIdentity(directory)
  const cluster: Cluster = {
    directory,
    identity,
    binaries: await ensureReachable(options.binaries ?? (await findBinaries()), identity),
    socketDirectory,
    settings: options.settings ?? {},
    log: options.log,
  }
  if (existsSync(directory)) await stopOrphan(cluster)
  else await createCluster(cluster)
  await ensureSocketDirectory(socketDirectory, identity)
  return cluster
}

/** Root hands over to whoever owns the cluster; anyone else must own it. */
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

/** Derived from the data directory: two of them never meet, and a start after a crash finds the same place again. */
function toSocketDirectory(dataDirectory: string): string {
  const name = `assay-${createHash('sha256').update(dataDirectory).digest('hex').slice(0, 16)}`
  const preferred = path.join(os.tmpdir(), name)
  const fits = Buffer.byteLength(path.join(preferred, '.s.PGSQL.5432')) < socketPathMax
  // A TMPDIR of root's own (libpam-tmpdir makes one) is closed to the user PostgreSQL then runs as.
  return fits && process.getuid?.() !== 0 ? preferred : path.join('/tmp', name)
}

async function ensureSocketDirectory(directory: string, identity: ServerIdentity | undefined): Promise<void> {
  const uid = identity?.uid ?? process.getuid?.()
  try {
    await mkdir(directory, { mode: 0o700 })
    if (identity !== undefined) await chown(directory, identity.uid, identity.gid)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    // The socket asks for no password: whoever can enter this directory has the data.
    const found = await lstat(directory)
    if (!found.isDirectory() || found.uid !== uid || (found.mode & 0o077) !== 0) {
      throw new Error(`${directory} was made by somebody else. Remove it and start again.`, { cause: error })
    }
  }
}

/** Keeps PostgreSQL running until it is stopped on purpose. */
async function supervise(cluster: Cluster): Promise<{ stop(): Promise<void> }> {
  const { log } = cluster
  const stopping = new AbortController()
  let child: ChildProcess
  let restarting: Promise<void> = Promise.resolve()

  function watch(started: ChildProcess): ChildProcess {
    function onExit(): void {
      if (stopping.signal.aborted) return
      const { exitCode, signalCode } = started
      log.error({ exitCode, signalCode }, 'PostgreSQL ended unexpectedly; starting it again')
      restarting = restart()
    }
    // It may have been killed between being ready and being watched, and then there is no event any more.
    if (hasExited(started)) onExit()
    else started.once('exit', onExit)
    return started
  }

  async function restart(): Promise<void> {
    for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, restartDelayMaxMs)) {
      try {
        await delay(delayMs, undefined, { signal: stopping.signal })
        await stopOrphan(cluster)
        const started = await startPostmaster(cluster, stopping.signal)
        log.info({ pid: started.pid }, 'PostgreSQL is back')
        child = watch(started)
        return
      } catch (error) {
        if (stopping.signal.aborted) return
        log.error({ err: error }, 'PostgreSQL could not be started again')
      }
    }
  }

  child = watch(await startPostmaster(cluster, stopping.signal))
  // The last resort of a process that leaves by an uncaught error: PostgreSQL shuts down cleanly by itself.
  const endWithUs = (): void => void child.kill('SIGINT')
  process.once('exit', endWithUs)
  return {
    async stop() {
      stopping.abort()
      await restarting
      await stopPostmaster(child)
      process.removeListener('exit', endWithUs)
    },
  }
}
