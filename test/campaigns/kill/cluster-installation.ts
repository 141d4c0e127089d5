/**
 * An installation (installation.ts) on a Citus cluster. Its victim `postgres` is one node after the other, the
 * coordinator among them. Citus cannot clone a database, so a clone is a new one with the same rows and the same jobs.
 */
import { startSandbox } from '@assay/sandbox'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { listTables } from '../../../apps/server/src/cluster/index.ts'
import type { Database } from '../../../apps/server/src/db/index.ts'
import { startCitus, type Citus } from '../../cluster/citus.ts'
import { administer, createClusterDatabase, openUrl, copyRows } from '../../cluster/cluster-database.ts'
import { firstDatabase, runProcesses, toEnvironment, type Installation } from '../installation.ts'
import { liftBudgets } from '../prepared-account.ts'

const workerCount = 2

export async function openClusterInstallation(): Promise<Installation> {
  const citus = await startCitus({ workers: workerCount, settings: { fsync: 'off' } })
  const ends: (() => unknown)[] = [() => citus.stop()]
  try {
    return await install(citus, ends)
  } catch (error) {
    for (const end of ends.toReversed()) await end()
    throw error
  }
}

async function install(citus: Citus, ends: (() => unknown)[]): Promise<Installation> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-campaign-'))
  ends.push(() => rm(directory, { recursive: true, force: true }))
  const sandbox = await startSandbox({ seed: 'campaign', pace: 'fast', log: () => undefined })
  ends.push(() => sandbox.close())
  const databases = new Map([[firstDatabase, await createClusterDatabase(citus.url)]])
  const get = (name: string): { url: string; drop(): Promise<void> } => {
    const found = databases.get(name)
    if (found === undefined) throw new Error(`there is no database ${name}`)
    return found
  }
  const killNext = createKills(citus)
  return {
    sandbox,
    run: (name, { hook, settings = {}, look } = {}) => {
      const { url } = get(name)
      const environment = { ...toEnvironment(directory, sandbox, url), ...settings }
      return runProcesses({ environment, hook, look, db: openUrl(url), killPostgres: killNext })
    },
    async clone(from, to) {
      databases.set(to, await createClusterDatabase(citus.url))
      await administer(get(from).url, (source) => administer(get(to).url, (target) => copyAll(source, target)))
    },
    async drop(name) {
      await get(name).drop()
      databases.delete(name)
    },
    async close() {
      for (const end of ends.toReversed()) await end()
    },
  }
}

/** Each node has a turn before the first has a second one. */
function createKills({ coordinator, workers }: Citus): () => Promise<void> {
  const nodes = [...workers, coordinator]
  let turn = 0
  return async () => {
    const node = nodes[turn++ % nodes.length] ?? coordinator
    await node.kill()
    await node.start()
  }
}

/** Each table after those that it refers to. Moving tables to nodes recreates them, so their own order is lost. */
async function listInOrder(db: Database): Promise<string[]> {
  const keys = await db.rows<{ table: string; refersTo: string }>(
    `select conrelid::regclass::text as table, confrelid::regclass::text as "refersTo" from pg_constraint
     where contype = 'f' and connamespace = 'public'::regnamespace and conrelid <> confrelid`,
  )
  const ordered = new Set<string>()
  const add = (table: string): void => {
    for (const key of keys) if (key.table === table) add(key.refersTo)
    ordered.add(table)
  }
  for (const table of await listTables(db)) add(table)
  return [...ordered]
}

interface Job {
  task: string
  payload: string
  lane: string | null
  key: string
  priority: number
}

async function copyAll(source: Database, target: Database): Promise<void> {
  await copyRows(source, target, await listInOrder(source))
  await target.execute(liftBudgets)
  const jobs = await source.rows<Job>(
    `select t.identifier as task, j.payload::text as payload, q.queue_name as lane, j.key, j.priority
     from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
     left join graphile_worker._private_job_queues q on q.id = j.job_queue_id where j.key is not null`,
  )
  for (const { task, payload, lane, key, priority } of jobs) {
    await target.execute(
      `select graphile_worker.add_job($1::text, $2::json, queue_name => $3::text, job_key => $4::text,
         priority => $5::integer)`,
      [task, payload, lane, key, priority],
    )
  }
}
