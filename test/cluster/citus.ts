/**
 * A Citus cluster of its own on loopback: a coordinator and workers, each a PostgreSQL server that can be killed and
 * started again. It needs Citus on this machine, in the PostgreSQL of Debian's packages. The nodes trust every
 * connection from this machine, because Citus connects from node to node by itself; their directories are removed at
 * the end.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs'
import { appendFile, chmod, chown, mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { reservePort } from '../reserve-port.ts'
import { until } from '../until.ts'
import { administer, type NodeAddress } from './cluster-database.ts'

export interface CitusNode {
  name: string
  /** As the other nodes know it: `127.0.0.1:5432`. */
  address: string
  /** kill -9 of its postmaster; its other processes notice and end. */
  kill(): Promise<void>
  /** Resolves when it accepts connections. */
  start(): Promise<void>
}

export interface Citus {
  /** A database of the coordinator, with the extension in it. */
  url: string
  coordinator: CitusNode
  workers: readonly CitusNode[]
  stop(): Promise<void>
}

/** PostgreSQL refuses to run as root. This is nobody:nogroup on nearly every system. */
const unprivileged = { uid: 65_534, gid: 65_534 }
const database = 'assay'
const host = '127.0.0.1'
const signals = ['SIGINT', 'SIGTERM'] as const

export interface CitusOptions {
  workers: number
  /** For postgresql.conf of every node. */
  settings?: Readonly<Record<string, string>>
}

export async function startCitus({ workers, settings = {} }: CitusOptions): Promise<Citus> {
  const programs = findPrograms()
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-citus-'))
  await chmod(directory, 0o755)
  const ends: (() => unknown)[] = [() => rm(directory, { recursive: true, force: true })]
  // An interrupted campaign leaves no server behind.
  const leave = (): void => process.exit(130)
  const killAll = (): void => {
    for (const file of globSync(path.join(directory, '*/postmaster.pid'))) {
      const pid = readPid(readFileSync(file, 'utf8'))
      if (isAlive(pid)) process.kill(pid, 'SIGKILL')
    }
    rmSync(directory, { recursive: true, force: true })
  }
  process.once('exit', killAll)
  for (const signal of signals) process.once(signal, leave)
  const stop = async (): Promise<void> => {
    for (const end of ends.toReversed()) await end()
    process.removeListener('exit', killAll)
    for (const signal of signals) process.removeListener(signal, leave)
  }
  try {
    const nodes: (CitusNode & NodeAddress)[] = []
    for (let number = 0; number <= workers; number += 1) {
      const name = number === 0 ? 'coordinator' : `worker ${number}`
      const port = await reservePort({ after: (end) => void ends.push(end as () => unknown) })
      const own = path.join(directory, name.replace(' ', '-'))
      await makeNode(programs, own, { ...settings, port: String(port) })
      const control = toControl(programs, name, own)
      await control.start()
      ends.push(() => control.stop())
      nodes.push({ name, host, port, address: `${host}:${port}`, ...control })
    }
    const [coordinator, ...others] = nodes
    if (coordinator === undefined) throw new Error('a cluster has a coordinator')
    return { url: await join(coordinator, others), coordinator, workers: others, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The directory of the newest PostgreSQL that has Citus. */
function findPrograms(): string {
  const libraries = globSync('/usr/lib/postgresql/*/lib/citus.so').toSorted()
  const newest = libraries.at(-1)
  if (newest === undefined) throw new Error('Citus is missing: /usr/lib/postgresql/*/lib/citus.so. Install it first.')
  return path.join(path.dirname(path.dirname(newest)), 'bin')
}

/** Runs a program of PostgreSQL to its end. */
async function run(program: string, words: readonly string[]): Promise<void> {
  const identity = process.getuid?.() === 0 ? unprivileged : {}
  // A server of another user must not look for certificates in our home.
  const env = { PATH: '/usr/bin:/bin', HOME: '/' }
  const child = spawn(program, words, { ...identity, env, cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] })
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit') as Promise<[number | null]>])
  if (code !== 0) throw new Error(`${program} ${words.join(' ')} ended with ${code}: ${said}`)
}

async function makeNode(programs: string, own: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const parent = path.dirname(own)
  if (process.getuid?.() === 0) await chown(parent, unprivileged.uid, unprivileged.gid)
  await run(path.join(programs, 'initdb'), ['-D', own, '-A', 'trust', '-U', 'postgres', '--locale=C.UTF-8'])
  const all = {
    ...{ listen_addresses: host, unix_socket_directories: '', shared_preload_libraries: 'citus' },
    ...{ max_connections: '200', max_prepared_transactions: '200', wal_level: 'logical' },
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'\n`)
  await appendFile(path.join(own, 'postgresql.conf'), lines.join(''))
}

interface Control extends Pick<CitusNode, 'kill' | 'start'> {
  stop(): Promise<void>
}

function toControl(programs: string, name: string, own: string): Control {
  const control = (...words: string[]): Promise<void> => run(path.join(programs, 'pg_ctl'), ['-D', own, ...words])
  return {
    kill: () => killPostmaster(own),
    // The children of a postmaster that was killed have to end before another one may start.
    start: () =>
      until(`${name} to start`, () =>
        control('-l', `${own}.log`, '-w', 'start').then(
          () => true,
          () => undefined,
        ),
      ).then(() => undefined),
    async stop() {
      if (existsSync(path.join(own, 'postmaster.pid'))) await control('-m', 'immediate', 'stop').catch(() => undefined)
    },
  }
}

/** Of the server whose data is in this directory. Resolves when it is gone. */
async function killPostmaster(dataDirectory: string): Promise<void> {
  const pid = readPid(await readFile(path.join(dataDirectory, 'postmaster.pid'), 'utf8'))
  process.kill(pid, 'SIGKILL')
  await until(`the end of ${pid}`, () => (isAlive(pid) ? undefined : true))
}

/** The first line of postmaster.pid. */
function readPid(file: string): number {
  return Number(file.split('\n')[0])
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

async function join(coordinator: NodeAddress, workers: readonly NodeAddress[]): Promise<string> {
  const toUrl = ({ port }: NodeAddress, name: string): string => `postgres://postgres@${host}:${port}/${name}`
  for (const node of [coordinator, ...workers]) {
    await administer(toUrl(node, 'postgres'), (db) => db.execute(`create database ${database}`))
    await administer(toUrl(node, database), (db) => db.execute('create extension citus'))
  }
  const url = toUrl(coordinator, database)
  await administer(url, async (db) => {
    await db.execute('select citus_set_coordinator_host($1, $2)', [host, coordinator.port])
    for (const { port } of workers) await db.execute('select citus_add_node($1, $2)', [host, port])
  })
  return url
}
