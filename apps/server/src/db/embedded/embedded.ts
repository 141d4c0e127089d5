/**
 * The embedded PostgreSQL: a durable server of our own in a data directory, reached through a Unix socket only.
 *
 *   <data directory>/postgres            the cluster, owned by the user PostgreSQL runs as
 *   <data directory>/database.password   of the role we connect as, readable by us alone
 *   <data directory>/owner.json…         the live process that started it (embedded/owner.ts), and its guard
 *   <data directory>/assay-socket-…      the socket, in a directory closed to other users; in /tmp where its path would
 *                                        be too long, and when we are root
 *
 * Either may be killed: Node (PostgreSQL keeps running; the next start stops and restarts it) or PostgreSQL (the owner
 * starts it again). Neither loses a committed row.
 */
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { realpath, rename } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCodeOf, ignore } from '../error-code.ts'
import { makeDirectory } from '../make-directory.ts'
import {
  claimWithSocket,
  describeCluster,
  findPassword,
  keepPassword,
  newPassword,
  refuseShared,
  type ClusterOptions,
} from './cluster.ts'
import { findOwner } from './owner.ts'
import {
  createCluster,
  databaseName,
  hasExited,
  isReady,
  roleName,
  setPassword,
  socketName,
  startPostmaster,
  stopOrphan,
  stopPostmaster,
  toReplaced,
  type Cluster,
} from './postmaster.ts'

interface SocketAddress {
  host: string
  user: string
  password: string
  database: string
}

export interface EmbeddedServer {
  connection: SocketAddress
  stop(): Promise<void>
}

interface EmbeddedOptions extends ClusterOptions {
  dataDirectory: string
  /** Ends a start that waits for a PostgreSQL in another container; the promise is then rejected with its reason. */
  signal?: AbortSignal | undefined
}

const restartDelayMaxMs = 5_000
const joinTimeoutMs = 30_000

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  await makeDirectory(options.dataDirectory, 0o755)
  const dataDirectory = await realpath(options.dataDirectory)
  const claim = await claimWithSocket(dataDirectory)
  try {
    await bringBackReplaced(path.join(dataDirectory, 'postgres'))
    const cluster = await describeCluster(options, claim)
    if (existsSync(cluster.directory)) await stopOrphan(cluster)
    else await createCluster(cluster)
    await claim.prepareSocket(cluster, options.signal)
    const password = await ensurePassword(cluster, dataDirectory)
    const supervisor = await supervise(cluster)
    return {
      connection: toAddress(claim.socketDirectory, password),
      async stop() {
        await supervisor.stop()
        await claim.release()
      },
    }
  } catch (error) {
    await claim.release()
    throw error
  }
}

/** For what looks at an installation or copies it: a mistyped address must not make a new one. */
export function refuseWithoutCluster(dataDirectory: string): void {
  const directory = path.join(dataDirectory, 'postgres')
  if (existsSync(directory) || existsSync(toReplaced(directory))) return
  throw new Error(
    `No embedded database was found in ${dataDirectory}. Name its directory with ASSAY_DATA_DIRECTORY (or --data, ` +
      'where a command has it), or a PostgreSQL of your own with DATABASE_URL.',
  )
}

/** The server that another live process runs in this data directory; undefined without one. */
export async function joinEmbedded(dataDirectory: string): Promise<SocketAddress | undefined> {
  if (!existsSync(dataDirectory)) return undefined
  const directory = await realpath(dataDirectory)
  await refuseShared(directory)
  const deadline = performance.now() + joinTimeoutMs
  for (;;) {
    const owner = await findOwner(directory)
    if (owner === undefined) return undefined
    // A PostgreSQL that a killed owner left is ready too, on another socket, until this owner has stopped it.
    const hasSocket = existsSync(path.join(owner.socketDirectory, socketName))
    const ready = await isReady(path.join(directory, 'postgres')).catch((error: unknown) => {
      if (errorCodeOf(error) !== 'EACCES') throw error
      const advice = `Run this as the user who runs process ${owner.pid}, or as root.`
      throw new Error(`The database in ${directory} belongs to another user. ${advice}`, { cause: error })
    })
    if (ready && hasSocket) return toAddress(owner.socketDirectory, (await findPassword(directory)) ?? '')
    if (performance.now() > deadline) {
      const advice = owner.isElsewhere ? ' It runs in another container: run this there.' : ''
      throw new Error(`Process ${owner.pid} owns ${directory}, but its PostgreSQL does not become ready.${advice}`)
    }
    await delay(50)
  }
}

/**
 * A restore that was killed between its two renames (backup/restore.ts) changed nothing: without this, the service would
 * start with an empty database.
 */
async function bringBackReplaced(directory: string): Promise<void> {
  if (existsSync(directory)) return
  await rename(toReplaced(directory), directory).catch(ignore('ENOENT'))
}

function toAddress(socketDirectory: string, password: string): SocketAddress {
  return { host: socketDirectory, user: roleName, password, database: databaseName }
}

async function ensurePassword(cluster: Cluster, dataDirectory: string): Promise<string> {
  const known = await findPassword(dataDirectory)
  if (known !== undefined) return known
  const password = newPassword()
  await setPassword(cluster, password)
  await keepPassword(dataDirectory, password)
  return password
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
    // It may have been killed after it was ready and before we listened, in which case no event will come.
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
