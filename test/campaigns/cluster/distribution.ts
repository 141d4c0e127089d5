/**
 * `npm run campaign -- distribution --database-url postgres://…`: the service on a Citus cluster.
 *
 * The hot paths run on a separate PostgreSQL first, with every statement that the service sends. The schema is
 * then distributed by `user_key` on the cluster, with the rows of that walk, and there
 *
 * - each statement has to be planned: one that names its user goes to one shard, in one task or in several steps;
 * - each statement runs so often that PostgreSQL has made its generic plan, which Citus has to route as well, and in
 *   transactions that allow the plans that its own allowed; a read has to find what it found on one node;
 * - the API itself answers reads and the token endpoint.
 *
 * The database has to be empty; `--reset` empties it, so that the campaign can be run again.
 */
import { isDeepStrictEqual, parseArgs } from 'node:util'
import { createLog } from '@assay/server/log'
import { createDatabase, migrate, type Database } from '../../../apps/server/src/db/index.ts'
import {
  DatabaseError,
  connectClient,
  escapeLiteral,
  type TestClient,
} from '../../../apps/server/src/db/test-client.ts'
import type { SentStatement } from '../../../apps/server/src/db/test-statements.ts'
import { installQueue } from '../../../apps/server/src/jobs/index.ts'
import { distribute, listTables, toPlan } from '../../../apps/server/src/cluster/index.ts'
import { emptyDatabase, copyRows } from '../../cluster/cluster-database.ts'
import { walkHotPaths, type HotPaths } from '../../cluster/hot-paths.ts'
import { silentLog, startTestPostgres, testDatabase, toDatabaseUrl } from '../../postgres.ts'
import { patienceMs } from '../../until.ts'
import { findUnnamedTables, isPlannable, listUserTables } from '../../cluster/user-keys.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)

/** PostgreSQL plans a prepared statement five times for its values before it considers a generic plan. */
const executions = 7

interface Walked extends SentStatement {
  paths: string[]
  /**
   * What it returned on one node; undefined for a statement that writes, or that was sent after the rows were copied.
   */
  rows: unknown[] | undefined
  /** User tables that it reaches without naming one user. */
  unnamed: string[]
}

interface Verdict extends Walked {
  /** How many shards each step asks, such as '1 + 1'; 'local' without a distributed table. */
  tasks: string
  faults: string[]
}

export async function run(words: string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: words,
    options: { 'database-url': { type: 'string' }, reset: { type: 'boolean', default: false } },
  })
  const url = values['database-url']
  if (url === undefined) throw new Error('--database-url is needed: a database on the coordinator of a Citus cluster')
  const cluster = open(url)
  try {
    if (values.reset) await emptyDatabase(cluster)
    await migrate(cluster, { log: silentLog })
    await installQueue({ url }, createLog({ level: 'silent' }))
    const tables = toPlan(await listTables(cluster), [])
    await distribute(cluster, tables)
    const count = (where: string): number => tables.filter(({ place }) => place === where).length
    say(
      `${count('distributed')} tables distributed by user_key, ${count('reference')} on every node, ${count('coordinator')} local`,
    )
    const walked = await walkOnOneNode(cluster)
    const verdicts = await judge(url, walked)
    report(verdicts)
    const failed = verdicts.filter(({ faults }) => faults.length > 0)
    const isServed = await serveOn(url, cluster)
    const isFine = failed.length === 0 && isServed
    say(
      isFine
        ? '✓ every statement runs, and one that names its user goes to one shard'
        : `✗ ${failed.length} statements failed`,
    )
    return isFine
  } finally {
    await cluster.close()
  }
}

function open(url: string): Database {
  const patience = { statementTimeoutMs: patienceMs, acquireTimeoutMs: patienceMs }
  return createDatabase({
    ...{ connection: { url }, pooler: 'none', poolSizeMax: 5, log: silentLog, trustMachineClock: true },
    ...patience,
  })
}

/**
 * Its rows are copied to the cluster in the middle of the walk, when everything has been read and nothing has ended.
 */
async function walkOnOneNode(cluster: Database): Promise<Walked[]> {
  const postgres = await startTestPostgres()
  process.env['ASSAY_TEST_POSTGRES'] = postgres.address
  const ends: (() => unknown)[] = [() => postgres.stop()]
  try {
    const { db, connection } = await testDatabase({ after: (end) => void ends.push(end as () => unknown) })
    const url = toDatabaseUrl(connection)
    const client = await connectClient(url)
    ends.push(() => client.end())
    const found = new Map<string, unknown[]>()
    const paths = await walkHotPaths(url, db, {
      async onRead(read) {
        say(`${await copyRows(db, cluster, await listTables(db))} rows copied to the cluster`)
        for (const { text, values } of distinct(read).filter(({ text }) => isRead(text))) {
          found.set(text, (await client.query(text, [...values])).rows)
        }
      },
    })
    const tables = await listUserTables(client)
    const walked: Walked[] = []
    for (const statement of distinct(paths)) {
      const unnamed = await findUnnamedTables(client, tables, statement.text)
      walked.push({ ...statement, rows: found.get(statement.text), unnamed })
    }
    return walked
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}

/** Each text once, with the values of its first use. The queue's own statements are left out. */
function distinct(paths: HotPaths): (SentStatement & { paths: string[] })[] {
  const all = new Map<string, SentStatement & { paths: string[] }>()
  for (const [path, statements] of paths) {
    for (const statement of statements) {
      const { text, settings } = statement
      if (!isPlannable(text) || (/graphile_worker/.test(text) && !/add_job/.test(text))) continue
      const known = all.get(text)
      if (known === undefined) {
        all.set(text, { ...statement, paths: [path] })
        continue
      }
      if (!known.paths.includes(path)) known.paths.push(path)
      // A statement may be in several transactions: the one that restricts its plans is the harder one.
      if (settings.length > known.settings.length) known.settings = settings
    }
  }
  return [...all.values()]
}

function isRead(text: string): boolean {
  return !/\b(insert into|update|delete from|for (no key )?update|for (key )?share|add_job|pg_notify)\b/i.test(text)
}

async function judge(url: string, walked: readonly Walked[]): Promise<Verdict[]> {
  const client = await connectClient(url)
  try {
    const verdicts: Verdict[] = []
    for (const [index, statement] of walked.entries()) {
      const { tasks, fault } = await plan(client, statement)
      const isNamed = statement.unnamed.length === 0
      const isWide = isNamed && /\d/.test(tasks) && tasks.split(' + ').some((count) => count !== '1')
      // Data on the coordinator alone, such as the clock, has changed since.
      const compared = tasks === 'local' ? { ...statement, rows: undefined } : statement
      const faults = [fault, isWide ? `${tasks} tasks` : undefined, await repeat(client, compared, `walked_${index}`)]
      verdicts.push({ ...statement, tasks, faults: faults.filter((text) => text !== undefined) })
    }
    return verdicts.filter(({ tasks, faults }) => tasks !== 'local' || faults.length > 0)
  } finally {
    await client.end()
  }
}

/** With the values in its text: bound to an EXPLAIN, Citus cannot plan some of what it runs as a prepared statement. */
async function plan(client: TestClient, { text, values }: Walked): Promise<{ tasks: string; fault?: string }> {
  const filled = text.replaceAll(/\$(\d+)/g, (_, place: string) => toLiteral(values[Number(place) - 1]))
  try {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (costs off) ${filled}`)
    const counts = rows.flatMap((row) => /Task Count: (\d+)/.exec(row['QUERY PLAN'])?.[1] ?? [])
    return { tasks: counts.length === 0 ? 'local' : counts.join(' + ') }
  } catch (error) {
    return { tasks: 'none', fault: messageOf(error) }
  }
}

function toLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Buffer.isBuffer(value)) return `'\\x${value.toString('hex')}'`
  if (Array.isArray(value)) return escapeLiteral(toArrayText(value))
  return escapeLiteral(toText(value))
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** PostgreSQL's own form of an array: {"a","b"}. */
function toArrayText(values: readonly unknown[]): string {
  const items = values.map((item) => {
    if (item === null || item === undefined) return 'null'
    if (Array.isArray(item)) return toArrayText(item)
    return `"${toText(item).replaceAll(/["\\]/g, '\\$&')}"`
  })
  return `{${items.join(',')}}`
}

/** Runs in transactions that are rolled back. Undefined when it succeeded and found what it found on one node. */
async function repeat(
  client: TestClient,
  { text, values, rows, settings }: Walked,
  name: string,
): Promise<string | undefined> {
  for (let turn = 1; turn <= executions; turn += 1) {
    await client.query('BEGIN')
    try {
      for (const setting of settings) await client.query(setting)
      const found = await client.query({ name, text, values: [...values] })
      const difference = rows === undefined ? undefined : compare(found.rows, rows)
      if (difference !== undefined) return `run ${turn}: ${difference}`
    } catch (error) {
      // What was added in the walk is there already: then the statement has reached its shard.
      if (!isConflict(error)) return `run ${turn}: ${messageOf(error)}`
    } finally {
      await client.query('ROLLBACK')
    }
  }
  return undefined
}

/** Compares in any order, because a statement without an order may return rows in any. */
function compare(found: readonly unknown[], expected: readonly unknown[]): string | undefined {
  const toTexts = (rows: readonly unknown[]): string[] => rows.map((row) => JSON.stringify(row)).toSorted()
  const [here, there] = [toTexts(found), toTexts(expected)]
  if (isDeepStrictEqual(here, there)) return undefined
  const added = here.find((row) => !there.includes(row))
  const missing = there.find((row) => !here.includes(row))
  return `${here.length} rows and not ${there.length} as on one node; ${added} and not ${missing}`.slice(0, 400)
}

/** Citus passes on some errors of a shard with their text alone. */
function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && /violates (unique|foreign key) constraint/.test(error.message)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function report(verdicts: readonly Verdict[]): void {
  const parts = [
    ['names its user: one shard', verdicts.filter(({ unnamed }) => unnamed.length === 0)],
    ['over many users', verdicts.filter(({ unnamed }) => unnamed.length > 0)],
  ] as const
  for (const [title, of] of parts) {
    say(`\n${title}: ${of.length} statements, ${of.filter(({ faults }) => faults.length > 0).length} failed`)
    for (const { paths, text, tasks, faults } of of) {
      say(`  ${faults.length === 0 ? '✓' : '✗'} ${tasks.padEnd(12)} ${(paths[0] ?? '').padEnd(24)} ${summarize(text)}`)
      for (const fault of new Set(faults)) say(`      ${fault}`)
    }
  }
}

/** One line that says what it does to which tables. */
function summarize(text: string): string {
  const one = text.replaceAll(/\s+/g, ' ').trim()
  const tables = [...one.matchAll(/\b(from|join|into|update|using) ([a-z_]+)\b/gi)].map(([, verb = '', table = '']) =>
    /into|update/i.test(verb) ? `${verb.toLowerCase()} ${table}` : table,
  )
  const known = new Set(tables.filter((table) => !/^(lateral|unnest|select|set|update (of|skip|set))$/.test(table)))
  return `${one.split(' ')[0]?.toLowerCase() ?? ''}: ${[...known].slice(0, 8).join(', ')}`
}

/** The API itself, on the copied rows. */
async function serveOn(url: string, cluster: Database): Promise<boolean> {
  try {
    const paths = await walkHotPaths(url, cluster, { apiOnly: true })
    say(`\n✓ the API answered on the cluster: ${[...paths.keys()].join('; ')}`)
    return true
  } catch (error) {
    say(`\n✗ the API on the cluster: ${messageOf(error)}`)
    return false
  }
}
