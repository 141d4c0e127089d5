/**
 * Two PostgreSQL servers under Patroni, with etcd as its memory, on loopback: a primary, a standby that follows it, and
 * a judge that promotes the standby when the primary is lost. From Debian: `apt-get install patroni etcd-server
 * postgresql`. https://patroni.readthedocs.io/en/latest/patroni_configuration.html
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createDatabase, type Database } from '../../../apps/server/src/db/index.ts'
import { silentLog } from '../../postgres.ts'
import { reservePort } from '../../reserve-port.ts'
import { patienceMs, until } from '../../until.ts'

export interface Patroni {
  /** For DATABASE_URL: both hosts. */
  url: string
  /** Resolves to the name of the primary, once it has a standby that has everything it acknowledged. */
  untilSafe(): Promise<string>
  /** `postgres`: the postmaster alone. `machine`: its Patroni as well, so that the primary's lease has to run out. */
  kill(node: string, what: Loss): Promise<void>
  /** Resolves to the name of the new primary. */
  untilFailedOver(from: string): Promise<string>
  /** Starts what `kill` ended for the loss of a machine. */
  revive(node: string): void
  stop(): Promise<void>
}

export type Loss = 'postgres' | 'machine'

interface Node {
  name: string
  directory: string
  port: number
  apiPort: number
  child: ChildProcess | undefined
}

interface Member {
  name: string
  role: string
  state: string
}

/** Used when we are root, because PostgreSQL refuses to run as root. This is nobody:nogroup on nearly every system. */
const unprivileged = { uid: 65_534, gid: 65_534 }
/** Seconds. Patroni asks for ttl ≥ loop_wait + 2 × retry_timeout, and its lease is at least 20. */
const times = { ttl: 20, loop_wait: 2, retry_timeout: 5 }
const pollMs = 200

export async function startPatroni(directory: string, { synchronous }: { synchronous: boolean }): Promise<Patroni> {
  const ends: (() => unknown)[] = []
  const reserve = (): Promise<number> => reservePort({ after: (end) => void ends.push(end as () => unknown) })
  const [etcdPort, peerPort] = [await reserve(), await reserve()]
  const passwords = { superuser: newPassword(), replication: newPassword(), assay: newPassword() }
  const nodes: Node[] = []
  for (const name of ['a', 'b']) {
    const own = path.join(directory, name)
    nodes.push({ name, directory: own, port: await reserve(), apiPort: await reserve(), child: undefined })
    await makeOwn(own)
  }
  await makeOwn(path.join(directory, 'etcd'))
  const etcd = launch('/usr/bin/etcd', toEtcdWords(path.join(directory, 'etcd'), etcdPort, peerPort))
  const start = (node: Node): void => void (node.child = launch('/usr/bin/patroni', [path.join(node.directory, 'yml')]))
  for (const node of nodes) {
    const settings = toSettings(node, { etcdPort, passwords, synchronous })
    await writeFile(path.join(node.directory, 'yml'), JSON.stringify(settings), { mode: 0o644 })
    start(node)
  }
  const get = (name: string): Node => {
    const node = nodes.find((candidate) => candidate.name === name)
    if (node === undefined) throw new Error(`the cluster has no node ${name}`)
    return node
  }
  const untilLeader = (isIt: (members: readonly Member[], leader: string) => boolean): Promise<string> =>
    until('a primary', () => findLeader(nodes, isIt), pollMs)
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')
  await untilLeader((members) => members.some(isReplica))
  await createOwnDatabase(`postgres://postgres:${passwords.superuser}@${hosts}/postgres`, passwords.assay)
  return {
    url: `postgres://assay:${passwords.assay}@${hosts}/assay?target_session_attrs=read-write`,
    untilSafe: () => untilLeader((members) => members.some((one) => isSafe(one, synchronous))),
    async kill(name, what) {
      const node = get(name)
      if (what === 'machine') await end(node.child)
      const file = await readFile(path.join(node.directory, 'data/postmaster.pid'), 'utf8')
      process.kill(Number(file.split('\n')[0]), 'SIGKILL')
    },
    untilFailedOver: (from) => untilLeader((_, leader) => leader !== from),
    revive: (name) => start(get(name)),
    async stop() {
      for (const { child, directory: own } of nodes) {
        await end(child)
        await endPostgres(path.join(own, 'data/postmaster.pid'))
      }
      await end(etcd)
      for (const release of ends) await release()
    },
  }
}

function newPassword(): string {
  return randomBytes(16).toString('hex')
}

async function makeOwn(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true })
  if (process.getuid?.() === 0) await chown(directory, unprivileged.uid, unprivileged.gid)
  else await chmod(directory, 0o700)
}

function launch(program: string, words: readonly string[]): ChildProcess {
  if (!existsSync(program))
    throw new Error(`${program} is missing. Run: apt-get install patroni etcd-server postgresql`)
  const identity = process.getuid?.() === 0 ? unprivileged : {}
  const child = spawn(program, words, { ...identity, stdio: 'ignore', env: { PATH: '/usr/bin:/bin', HOME: '/' } })
  const endWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', endWithUs)
  child.once('exit', () => process.removeListener('exit', endWithUs))
  return child
}

async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** A postmaster outlives its Patroni. */
async function endPostgres(file: string): Promise<void> {
  const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0])
  if (pid === 0) return
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It was killed before and its file was left.
  }
}

function toEtcdWords(directory: string, port: number, peerPort: number): string[] {
  const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`]
  const clients = ['--listen-client-urls', client, '--advertise-client-urls', client]
  const peers = ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer]
  const timing = ['--heartbeat-interval', '500', '--election-timeout', '5000', '--unsafe-no-fsync']
  return ['--name', 'one', '--data-dir', directory, ...clients, ...peers, '--initial-cluster', `one=${peer}`, ...timing]
}

interface ClusterSettings {
  etcdPort: number
  passwords: { superuser: string; replication: string }
  synchronous: boolean
}

/** As JSON, which is YAML too. */
function toSettings(node: Node, { etcdPort, passwords, synchronous }: ClusterSettings): object {
  const [address, api] = [`127.0.0.1:${node.port}`, `127.0.0.1:${node.apiPort}`]
  const { superuser, replication } = passwords
  // A killed process leaves its writes to the kernel, so nothing here has to wait for the disk.
  const parameters = { fsync: 'off', synchronous_commit: 'on', wal_log_hints: 'on', max_connections: 100 }
  return {
    scope: 'assay',
    name: node.name,
    restapi: { listen: api, connect_address: api },
    etcd3: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      // primary_start_timeout 0: a primary that crashed is not waited for, the standby takes over at once.
      dcs: {
        ...times,
        ...{ primary_start_timeout: 0, synchronous_mode: synchronous },
        postgresql: { use_pg_rewind: true, parameters },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: path.join(node.directory, 'data'),
      bin_dir: findPrograms(),
      pgpass: path.join(node.directory, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password: superuser },
        replication: { username: 'replicator', password: replication },
      },
      parameters: { unix_socket_directories: node.directory },
      pg_hba: ['local all all scram-sha-256', 'host all all 127.0.0.1/32 scram-sha-256'].concat(
        'host replication replicator 127.0.0.1/32 scram-sha-256',
      ),
    },
  }
}

/** The newest PostgreSQL of Debian. */
function findPrograms(): string {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).map(Number) : []
  if (versions.length === 0) throw new Error(`${root} is missing. Run: apt-get install postgresql`)
  return path.join(root, String(Math.max(...versions)), 'bin')
}

async function createOwnDatabase(url: string, password: string): Promise<void> {
  const db = openDatabaseAt(url)
  try {
    await db.execute(`create role assay login password '${password}'`)
    await db.execute('create database assay owner assay')
  } finally {
    await db.close()
  }
}

/** The timeout allows for a busy machine. */
export function openDatabaseAt(url: string): Database {
  const options = { pooler: 'none', poolSizeMax: 3, log: silentLog, trustMachineClock: true } as const
  return createDatabase({ connection: { url }, ...options, statementTimeoutMs: patienceMs, acquireTimeoutMs: 10_000 })
}

const isLeader = ({ role, state }: Member): boolean => role === 'leader' && state === 'running'
const isReplica = ({ role, state }: Member): boolean => role !== 'leader' && /^(running|streaming)$/.test(state)
const isSafe = (member: Member, synchronous: boolean): boolean =>
  isReplica(member) && (!synchronous || member.role === 'sync_standby')

async function findLeader(
  nodes: readonly Node[],
  isIt: (members: readonly Member[], leader: string) => boolean,
): Promise<string | undefined> {
  for (const { apiPort } of nodes) {
    const response = await fetch(`http://127.0.0.1:${apiPort}/cluster`).catch(() => undefined)
    if (response === undefined) continue
    const { members } = (await response.json()) as { members: Member[] }
    const leader = members.find(isLeader)
    if (leader !== undefined && isIt(members, leader.name)) return leader.name
  }
  return undefined
}
