/**
 * PostgreSQL as a child process on one cluster directory: made by initdb, started, waited for, stopped.
 *
 * Sources: https://www.postgresql.org/docs/current/app-postgres.html and server-shutdown.html there; the lines of
 * postmaster.pid are those of src/include/utils/pidfile.h.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chown, constants, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { errorCodeOf, ignore } from '../error-code.ts'
import type { DatabaseLog } from '../pool/pool.ts'
import { cannotSwitch, readVersion, type Binaries, type ServerIdentity } from './binaries.ts'
import { isPostmasterOf, isRunning } from './owner.ts'

export interface Cluster {
  /** PostgreSQL's own data directory (PGDATA). */
  directory: string
  binaries: Binaries
  /** Undefined when we are not root: then PostgreSQL runs as we do. */
  identity: ServerIdentity | undefined
  socketDirectory: string
  settings: Readonly<Record<string, string>>
  log: DatabaseLog
}

/** Runs initdb and has no password, so it cannot connect; it is used in single-user mode only. */
const superuser = 'postgres'
/** The role that we connect as. It owns its databases and may take backups, and is not a superuser. */
export const roleName = 'assay'
export const databaseName = 'assay'
export const socketName = '.s.PGSQL.5432'

// One rule set for every connection: a socket's directory keeps other users out, but not other programs of the user
// that PostgreSQL runs as. When we are root, that user is `nobody`, which many programs share.
const hostBasedAuthentication = ['local all all scram-sha-256', 'local replication all scram-sha-256']

/**
 * The configuration of a restored cluster, by file. Without settings, PostgreSQL has its defaults, which initdb writes
 * into these files too.
 */
export const ownConfiguration: Readonly<Record<string, string>> = {
  'postgresql.conf': '',
  'postgresql.auto.conf': '',
  'pg_hba.conf': `${hostBasedAuthentication.join('\n')}\n`,
  'pg_ident.conf': '',
}

/** Crash recovery may replay a gigabyte of log. */
const startTimeoutMs = 300_000
/** Backends of a killed postmaster leave as soon as they notice. */
const leftoversTimeoutMs = 30_000
const fastStopTimeoutMs = 20_000
const immediateStopTimeoutMs = 5_000
const pollMs = 15

/**
 * A new cluster, and one whose PostgreSQL was killed, have a thousand files to be written out. To wait for each of them
 * took 43 s on a disk that needs 40 ms, and one call for the whole file system 2 s. Only Linux has that call.
 */
const syncMethod = process.platform === 'linux' ? 'syncfs' : 'fsync'
/** The first version whose initdb has a choice. */
const syncMethodVersion = 17

const fixedSettings = {
  listen_addresses: '',
  recovery_init_sync_method: syncMethod,
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_connections: '200',
  log_line_prefix: '',
  // The caller of a statement reports its errors. In this log they would repeat users' data.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
}

class StartError extends Error {
  /** The start may succeed at the next try. */
  readonly passes: boolean

  constructor(message: string, output: string, wasKilled = false) {
    super(output === '' ? message : `${message}. It said:\n${output}`)
    this.name = 'StartError'
    this.passes = wasKilled || output.includes('is still in use')
  }
}

/** As root, too, when it belongs to another user. */
export async function removeCluster(directory: string): Promise<void> {
  if (process.getuid?.() === 0) await takeBack(directory)
  await rm(directory, { recursive: true, force: true })
}

/**
 * Node's rm asks whether a name is a directory and then lists it by that name. Whoever owns the directory around it can
 * put a link there in between, and as root we would delete what the link leads to. From the enclosing directory inwards,
 * each is therefore closed to everyone but root before it is listed. Moving the whole into a closed directory would not
 * suffice: a program that is in one of them already can go on renaming there.
 */
async function takeBack(directory: string): Promise<void> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  // The outermost may be missing.
  const handle = await open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(ignore('ENOENT'))
  if (handle === undefined) return
  try {
    await handle.chown(0, 0)
    await handle.chmod(0o700)
  } finally {
    await handle.close()
  }
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    if (entry.isDirectory()) await takeBack(path.join(directory, entry.name))
  }
}

/** Makes the cluster under another name and renames it: an interrupted one never looks complete. */
export async function createCluster(cluster: Cluster): Promise<void> {
  const draft = { ...cluster, directory: `${cluster.directory}.draft` }
  await removeCluster(draft.directory)
  await mkdir(draft.directory, { mode: 0o700 })
  const { identity } = cluster
  if (identity !== undefined) {
    await chown(draft.directory, identity.uid, identity.gid).catch((error: unknown) => {
      throw cannotSwitch(identity, error)
    })
  }
  const options = ['-U', superuser, '--locale=C', '--encoding=UTF8', '--auth=trust', '--no-instructions']
  if ((await readVersion(cluster.binaries)) >= syncMethodVersion) options.push(`--sync-method=${syncMethod}`)
  await runToEnd(draft, 'initdb', [...directoryArgument(draft), ...options])
  await runSingle(draft, [
    `create role ${roleName} login createdb replication in role pg_checkpoint, pg_read_all_stats`,
    `create database ${databaseName} owner ${roleName}`,
    // PostgreSQL writes it. The directory belongs to the user it runs as, who could put a link there: if we are root, we
    // would follow it to any file.
    `copy (values ${hostBasedAuthentication.map((rule) => `('${rule}')`).join(', ')}) to '${toQuoted(draft, 'pg_hba.conf')}'`,
  ])
  await rename(draft.directory, cluster.directory)
  await syncDirectory(path.dirname(cluster.directory))
}

/**
 * Gives our role its password. Single-user mode needs none itself, so this also works for a cluster whose password was
 * lost, such as one that was restored from a backup. PostgreSQL must not be running.
 */
export async function setPassword(cluster: Cluster, password: string): Promise<void> {
  await runSingle(cluster, [`alter role ${roleName} password '${password}'`])
}

/** A statement for each line of input, as the superuser. */
async function runSingle(cluster: Cluster, statements: readonly string[]): Promise<void> {
  const words = ['--single', ...directoryArgument(cluster), 'postgres']
  await runToEnd(cluster, 'postgres', words, `${statements.join('\n')}\n`)
}

/** Where a restore puts a cluster aside until the restored one has its place. */
export const toReplaced = (directory: string): string => `${directory}.replaced`

/** If a power failure undid the rename, the next start would delete the cluster as a draft. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Starts PostgreSQL and resolves when it takes connections; an abort ends a start under way. It is tried again while
 * backends of a killed postmaster are still there, and when the new one is killed before it is ready.
 */
export async function startPostmaster(cluster: Cluster, signal: AbortSignal): Promise<ChildProcess> {
  const deadline = performance.now() + leftoversTimeoutMs
  for (;;) {
    try {
      return await startOnce(cluster, signal)
    } catch (error) {
      if (!(error instanceof StartError && error.passes) || performance.now() > deadline) throw error
      await delay(100, undefined, { signal })
      await stopOrphan(cluster)
    }
  }
}

async function startOnce(cluster: Cluster, signal: AbortSignal): Promise<ChildProcess> {
  const socketDirectories = `"${cluster.socketDirectory.replaceAll('"', '""')}"`
  const settings = { ...fixedSettings, unix_socket_directories: socketDirectories, ...cluster.settings }
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const { child, output } = launch(cluster, 'postgres', [...directoryArgument(cluster), ...words])
  const closed = once(child, 'close')
  closed.catch(() => undefined)
  const deadline = performance.now() + startTimeoutMs
  while (!(await isReady(cluster.directory, child.pid))) {
    if (hasExited(child)) {
      await closed
      throw new StartError('PostgreSQL did not start', output(), child.signalCode !== null)
    }
    if (signal.aborted || performance.now() > deadline) {
      await stopPostmaster(child)
      signal.throwIfAborted()
      throw new StartError(`PostgreSQL was not ready after ${startTimeoutMs / 1000} seconds`, output())
    }
    await delay(pollMs)
  }
  return child
}

/**
 * Fast shutdown: PostgreSQL rolls transactions back, disconnects clients and writes everything. If that hangs, it is
 * killed.
 */
export async function stopPostmaster(child: ChildProcess): Promise<void> {
  const gone = hasExited(child) ? Promise.resolve() : once(child, 'exit')
  for (const [signal, timeoutMs] of stopSteps) {
    if (hasExited(child)) break
    child.kill(signal)
    await Promise.race([gone, delay(timeoutMs, undefined, { ref: false })])
  }
  await gone
}

const stopSteps = [
  ['SIGINT', fastStopTimeoutMs],
  ['SIGQUIT', immediateStopTimeoutMs],
  ['SIGKILL', immediateStopTimeoutMs],
] as const satisfies [NodeJS.Signals, number][]

/**
 * Ends a PostgreSQL that outlived its owner (Node was killed, PostgreSQL was not), and removes the locks of one that
 * was killed: they name a process id, which may be another program's by now, and PostgreSQL would refuse to start
 * beside it. Its last guard stays: the shared memory that any left-over backend is still attached to.
 */
export async function stopOrphan(cluster: Cluster): Promise<void> {
  const pid = (await readPidFile(cluster.directory))?.pid
  if (pid !== undefined && (await isPostmasterOf(pid, cluster.directory))) {
    cluster.log.warn({ pid }, 'PostgreSQL was left running by a process that was killed; stopping it')
    for (const [signal, timeoutMs] of stopSteps) {
      if (!(await isRunning(pid))) break
      sendSignal(pid, signal)
      const deadline = performance.now() + timeoutMs
      while ((await isRunning(pid)) && performance.now() < deadline) await delay(pollMs)
    }
  }
  await rm(path.join(cluster.directory, 'postmaster.pid'), { force: true })
  await removeSocketFiles(cluster.socketDirectory)
}

/**
 * When we are root, the directory belongs to the user that PostgreSQL runs as, who could put a link to another
 * PostgreSQL's in its place. So it is opened once, and the files are named by what was opened.
 */
export async function removeSocketFiles(socketDirectory: string): Promise<void> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
  const opening = open(socketDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  const handle = await opening.catch(ignore('ENOENT', 'ENOTDIR', 'ELOOP'))
  if (handle === undefined) return
  try {
    const opened = process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : socketDirectory
    for (const name of [`${socketName}.lock`, socketName]) await rm(path.join(opened, name), { force: true })
  } finally {
    await handle.close()
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It ended after we looked.
    if (errorCodeOf(error) !== 'ESRCH') throw error
  }
}

export async function isReady(directory: string, pid?: number): Promise<boolean> {
  const found = await readPidFile(directory)
  return found !== undefined && found.status === 'ready' && (pid === undefined || found.pid === pid)
}

async function readPidFile(directory: string): Promise<{ pid: number; status: string } | undefined> {
  try {
    const lines = (await readFile(path.join(directory, 'postmaster.pid'), 'utf8')).split('\n')
    const pid = Number(lines[0])
    return Number.isInteger(pid) && pid > 0 ? { pid, status: lines[7]?.trim() ?? '' } : undefined
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

export function hasExited(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null
}

/**
 * As root we name the directory relative to our working directory, which we entered before the user was switched. The
 * cluster may therefore lie below a directory that only root can enter, such as /root. PostgreSQL never leaves it.
 */
function toOwnName({ identity, directory }: Cluster): string {
  return identity !== undefined && process.platform === 'linux' ? '/proc/self/cwd' : directory
}

const directoryArgument = (cluster: Cluster): string[] => ['-D', toOwnName(cluster)]

/** A file of the cluster, in an SQL string. */
const toQuoted = (cluster: Cluster, name: string): string => path.join(toOwnName(cluster), name).replaceAll("'", "''")

function launch(cluster: Cluster, program: 'initdb' | 'postgres', words: readonly string[], input = ''): Launched {
  const child = spawn(path.join(cluster.binaries, 'bin', program), words, {
    ...cluster.identity,
    cwd: cluster.directory,
    // Passes on nothing of our environment: it may hold secrets, and a PGOPTIONS or TZ of the operator's shell.
    env: { LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['pipe', 'ignore', 'pipe'],
    // Runs in its own session, so that Ctrl-C in the terminal reaches only Node and requests can still finish.
    detached: true,
  })
  // A program that could not be started has no stdin; the child's own events report the cause.
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  return { child, output: followLog(child.stderr, cluster.log) }
}

interface Launched {
  child: ChildProcess
  /** The last lines it wrote. */
  output: () => string
}

async function runToEnd(cluster: Cluster, program: 'initdb' | 'postgres', words: string[], input = ''): Promise<void> {
  const { child, output } = launch(cluster, program, words, input)
  const [code] = (await once(child, 'close')) as [number | null]
  // PostgreSQL in single-user mode reports a failed statement and ends well.
  if (code !== 0 || output().includes('ERROR:')) throw new StartError(`${program} failed`, output())
}

/** PostgreSQL's log lines go to ours; the last ones are kept to explain a failed start. */
function followLog(lines: Readable, log: DatabaseLog): () => string {
  const recent: string[] = []
  createInterface({ input: lines }).on('line', (line) => {
    recent.push(line)
    if (recent.length > 20) recent.shift()
    if (line.startsWith('PANIC:')) log.error({ postgres: line }, 'PostgreSQL')
    else if (line.startsWith('FATAL:')) log.warn({ postgres: line }, 'PostgreSQL')
    else log.debug({ postgres: line }, 'PostgreSQL')
  })
  return () => recent.join('\n')
}
