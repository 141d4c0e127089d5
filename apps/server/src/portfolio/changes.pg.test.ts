/**
 * A copy that is kept through the feed equals the list whenever no commit is running, however commits overlapped. The
 * commits here use the service's own stores, and are held open between taking their numbers and writing.
 */
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { acceptRepair, insertPending } from '../connections/adding/pending-store.ts'
import { hideConnection, lockConnection } from '../connections/removal-store.ts'
import { lockInSession, settle } from '../connections/adding/session-store.ts'
import type { Database, Sql } from '../db/index.ts'
import { takeChangeNumbers } from '../ledger/changes-store.ts'
import { deleteTransactions } from '../ledger/destroy-store.ts'
import { ConnectionGone, holdConnection } from '../ledger/locks-store.ts'
import {
  insertTransactions,
  numbersAfter,
  removeTransactions,
  updateTransactions,
  type RenderedRow,
} from '../ledger/store.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { ConnectionRef } from '../owner.ts'
import { feedStart, listUserChanges, readChanges, type FeedPoint } from './changes-store.ts'
import type { TransactionPoint } from './pages-query-store.ts'
import { readTransactions } from './pages-store.ts'
import { addConnection, addUser, type TestUser } from './test-portfolio.ts'

type Take = (tx: Sql, userKey: string, count: number) => ReturnType<typeof takeChangeNumbers>

type Step =
  | { op: 'write'; connection: number; inserts: number; updates: number; removals: number; revivals: number }
  | { op: 'show' | 'hide' | 'repair'; connection: number }
  | { op: 'destroy'; connection: number; rows: number }

type Command =
  | { do: 'start'; slot: number; step: Step }
  | { do: 'finish'; slot: number }
  | { do: 'poll'; limit: number; pages: number }

/** Three connections are shown from the start; three are created in a session. */
const connections = [1, 2, 3, 4, 5, 6]
const slots = [0, 1, 2]

let users = 0
let transactions = 0

interface World {
  db: Database
  user: TestUser
  refs: ConnectionRef[]
  /** Verified replacement credentials for each of them. */
  pending: ConnectionRef[]
  take: Take
}

async function openWorld(db: Database, take: Take): Promise<World> {
  users += 1
  const user = await addUser(db, `feed_${users}`)
  const refs: ConnectionRef[] = []
  const pending: ConnectionRef[] = []
  for (const key of connections) {
    const connectSessionId = key > 3 ? `session_${users}_${key}` : undefined
    const id = `con_${users}_${key}`
    refs.push(
      await addConnection(db, user, connectSessionId === undefined ? { key, id } : { key, id, connectSessionId }),
    )
  }
  for (const ref of refs) {
    const connectionId = `con_repair_${ref.connectionId}`
    const stored = { sealedCredentials: 'x', address: null, networks: null }
    const credentials = { providerId: 'kraken', connectionType: 'api_key', stored, keyLane: 'x' }
    const row = { ...credentials, connectionId, displayLabel: null, connectSessionId: null, repairOf: ref.connectionId }
    pending.push({ ...ref, connectionId, connectionKey: await insertPending(db, user, row) })
  }
  return { db, user, refs, pending, take }
}

const refAt = ({ refs }: World, key: number): ConnectionRef => {
  const ref = refs[key - 1]
  assert.ok(ref)
  return ref
}

function render(id: string): RenderedRow {
  transactions += 1
  const document = `"type":"send","version":${transactions}}`
  const occurredAt = new Date(Date.UTC(2026, 0, 1) + (transactions % 7) * 1_000).toISOString()
  const kind = { type: 'send', category: 'withdrawal', isPending: false, stakedLegs: 0 }
  return { id, groupKey: id, occurredAt, ...kind, document }
}

const newId = (): string => `00000000-0000-4000-8000-${String((transactions += 1)).padStart(12, '0')}`

/**
 * What a step does in its transaction: first it takes the numbers, then, when released, it writes the rows for them.
 */
async function take(world: World, tx: Sql, step: Step): Promise<() => Promise<void>> {
  const ref = refAt(world, step.connection)
  const numbers = (count: number) => world.take(tx, world.user.userKey, count)
  switch (step.op) {
    case 'write': {
      await holdConnection(tx, ref)
      const taken = await numbers(step.inserts + step.updates + step.removals + step.revivals)
      return () => write(tx, ref, taken, step)
    }
    case 'show': {
      const found = await lockInSession(tx, ref, `session_${ref.connectionId.split('_')[1]}_${step.connection}`)
      if (found.length === 0) return async () => undefined
      const { first: seq, updatedAt: at } = await numbers(1)
      return () => settle(tx, ref, { seq, at })
    }
    case 'hide': {
      await lockConnection(tx, ref)
      const row = await tx.maybeRow('select from readable_connections where user_key = $1 and connection_key = $2', [
        ...[ref.userKey, ref.connectionKey],
      ])
      if (row === undefined) return async () => undefined
      const { first } = await numbers(1)
      return () => hideConnection(tx, ref, first)
    }
    case 'repair': {
      const pending = world.pending[step.connection - 1]
      assert.ok(pending)
      const to = { connectionId: ref.connectionId, fingerprint: ref.connectionId }
      return async () => void (await acceptRepair(tx, pending, to))
    }
    case 'destroy':
      return async () => {
        const row = await tx.maybeRow<{ hidden_seq: string }>(
          'select hidden_seq from removed_connections where user_key = $1 and connection_key = $2',
          [ref.userKey, ref.connectionKey],
        )
        if (row === undefined) return
        await deleteTransactions(tx, ref, { hiddenSeq: row.hidden_seq }, { after: undefined, limit: step.rows })
      }
  }
}

async function write(
  tx: Sql,
  ref: ConnectionRef,
  numbers: Awaited<ReturnType<Take>>,
  step: Step & { op: 'write' },
): Promise<void> {
  const pick = async (table: string, count: number): Promise<string[]> => {
    const rows = await tx.rows<{ id: string }>(
      `select id from ${table} where user_key = $1 and connection_key = $2 order by md5(id::text || $4) limit $3`,
      [ref.userKey, ref.connectionKey, count, String(transactions)],
    )
    return rows.map(({ id }) => id)
  }
  const [gone, revived] = [await pick('transactions', step.removals), await pick('removed_transactions', step.revivals)]
  const changed = (await pick('transactions', step.removals + step.updates)).filter((id) => !gone.includes(id))
  const fresh = [...Array.from({ length: step.inserts }, newId), ...revived.filter((id) => !gone.includes(id))]
  await removeTransactions(tx, ref, numbers, gone)
  await insertTransactions(tx, ref, 'kraken', numbersAfter(numbers, gone.length), fresh.map(render))
  const left = numbersAfter(numbers, gone.length + fresh.length)
  await updateTransactions(tx, ref, 'kraken', left, changed.slice(0, step.updates).map(render))
}

interface Running {
  /** Lets the transaction write and commit; returns when it has, or when it waits for another's lock. */
  release(): Promise<void>
  isReleased(): boolean
  isDone(): boolean
  done: Promise<void>
}

/** Begins the step in its own transaction, and returns when it has its numbers or waits for another's lock. */
async function start(world: World, step: Step): Promise<Running> {
  const gate = Promise.withResolvers<void>()
  let pid: number | undefined
  let state: 'begun' | 'ready' | 'done' = 'begun'
  let isReleased = false
  const done = world.db
    .transaction(async (tx) => {
      pid = (await tx.row<{ pid: number }>('select pg_backend_pid() as pid')).pid
      const goOn = await take(world, tx, step)
      state = 'ready'
      await gate.promise
      await goOn()
    })
    .catch((error: unknown) => {
      if (!(error instanceof ConnectionGone)) throw error
    })
    .finally(() => (state = 'done'))
  const isBlocked = async (): Promise<boolean> => {
    const waits = 'select from pg_stat_activity where pid = $1 and wait_event_type = $2'
    return pid !== undefined && (await world.db.maybeRow(waits, [pid, 'Lock'])) !== undefined
  }
  const until = async (isReached: () => boolean): Promise<void> => {
    while (!isReached() && !(await isBlocked())) await new Promise(setImmediate)
  }
  await until(() => state !== 'begun')
  return {
    async release() {
      isReleased = true
      gate.resolve()
      await until(() => state === 'done')
    },
    isReleased: () => isReleased,
    isDone: () => state === 'done',
    done,
  }
}

type Wire = { id: string }
type Change = { op: 'upsert'; transaction: Wire } | { op: 'remove'; id: string }

/** An application's copy, and its point in the feed. */
class Copy {
  readonly rows = new Map<string, Wire>()
  after: FeedPoint = feedStart
  removedAfterSeq: string | undefined

  /** True when nothing is left to read. */
  async poll({ db, user }: World, limit: number): Promise<boolean> {
    const { after, removedAfterSeq } = this
    const reading = await readChanges(db, user.access, { after, removedAfterSeq, limit })
    assert.ok(reading !== undefined)
    const { items, end, isLast, newestSeq } = reading.result
    for (const change of JSON.parse(`[${items}]`) as Change[]) {
      if (change.op === 'upsert') this.rows.set(change.transaction.id, change.transaction)
      else this.rows.delete(change.id)
    }
    this.after = end
    this.removedAfterSeq = isLast ? newestSeq : (removedAfterSeq ?? newestSeq)
    return isLast
  }

  async pollToEnd(world: World, limit: number): Promise<void> {
    while (!(await this.poll(world, limit))) await Promise.resolve()
  }
}

async function listAll({ db, user }: World): Promise<Map<string, Wire>> {
  const all = new Map<string, Wire>()
  for (let after: TransactionPoint | undefined; ;) {
    const reading = await readTransactions(db, user.access, { shape: 'v2', filters: {}, limit: 100, after })
    const { items, end } = reading?.result.page ?? { items: '', end: undefined }
    for (const row of JSON.parse(`[${items}]`) as Wire[]) all.set(row.id, row)
    if (end === undefined) return all
    after = end
  }
}

/** The same through the queries that a tenant's feed uses for one user. */
async function listByRange({ db, user }: World, limit: number): Promise<Set<string>> {
  const ids = new Set<string>()
  const { change_seq: newest } = await db.row<{ change_seq: string }>(
    'select change_seq from user_changes where user_key = $1',
    [user.userKey],
  )
  for (let after = feedStart; ;) {
    const changes = await listUserChanges(db, user.userKey, after, newest, limit)
    for (const { op, id } of changes) {
      if (op === 'upsert') ids.add(id)
      else ids.delete(id)
    }
    const last = changes.at(-1)
    if (last === undefined || changes.length < limit) return ids
    after = last.point
  }
}

/** Runs the commands; whenever no commit is running, it brings the copy up to date and compares it with the list. */
async function play(world: World, commands: readonly Command[]): Promise<void> {
  const running = new Map<number, Running>()
  const copy = new Copy()
  const compare = async (): Promise<void> => {
    await copy.pollToEnd(world, 3)
    const listed = await listAll(world)
    assert.deepEqual(new Map([...copy.rows].toSorted()), new Map([...listed].toSorted()))
    assert.deepEqual((await listByRange(world, 4)).symmetricDifference(new Set(listed.keys())), new Set())
  }
  const finish = async (slot: number): Promise<void> => {
    await running.get(slot)?.release()
    // Transactions that waited for this one's lock may have continued.
    for (const [other, one] of running) {
      if (one.isReleased()) await one.release()
      if (!one.isDone()) continue
      running.delete(other)
      await one.done
    }
    if (running.size === 0) await compare()
  }
  try {
    for (const command of commands) {
      if (command.do === 'start' && !running.has(command.slot)) {
        running.set(command.slot, await start(world, command.step))
      }
      if (command.do === 'finish') await finish(command.slot)
      if (command.do === 'poll') {
        for (let page = 0; page < command.pages && !(await copy.poll(world, command.limit)); page += 1);
      }
    }
  } finally {
    await Promise.all([...running.values()].flatMap((one) => [one.release(), one.done]))
  }
  await compare()
}

const connection = fc.constantFrom(...connections)
const few = fc.integer({ min: 0, max: 3 })
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('write' as const),
      connection,
      inserts: fc.integer({ min: 1, max: 6 }),
      updates: few,
      removals: few,
      revivals: fc.integer({ min: 0, max: 1 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ op: fc.constantFrom('show' as const, 'hide' as const, 'repair' as const), connection }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constant('destroy' as const), connection, rows: few.map((n) => n + 1) }) },
)
const slot = fc.constantFrom(...slots)
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('start' as const), slot, step }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('finish' as const), slot }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('poll' as const),
      limit: fc.integer({ min: 1, max: 5 }),
      pages: fc.integer({ min: 1, max: 4 }),
    }),
  },
)
const commands = fc.array(command, { minLength: 1, maxLength: 60, size: 'max' })

const insert = (connection: number): Step => ({
  ...{ op: 'write', connection, inserts: 3, updates: 0, removals: 0, revivals: 0 },
})
/** The second commit to take its numbers commits first, and the reader comes in between. */
const overtaking: Command[] = [
  { do: 'start', slot: 0, step: insert(1) },
  { do: 'start', slot: 1, step: insert(2) },
  { do: 'finish', slot: 1 },
  { do: 'poll', limit: 5, pages: 9 },
  { do: 'finish', slot: 0 },
]

describe('a copy that is kept through the feed', async () => {
  const { db } = await testDatabase(ownedBySuite())

  it('equals the list after any commits, overlapping or not, of connections that come and go', async () => {
    const property = fc.asyncProperty(commands, async (given) => play(await openWorld(db, takeChangeNumbers), given))
    await fc.assert(property, { numRuns: 60, examples: [[overtaking]] })
  })

  describe('would miss changes if numbers were taken without the lock', () => {
    // The counter moves in its own transaction, as a sequence would.
    const unlocked: Take = (_, userKey, count) => takeChangeNumbers(db, userKey, count)

    it('as an overtaking commit shows', async () => {
      await play(await openWorld(db, takeChangeNumbers), overtaking)
      await assert.rejects(play(await openWorld(db, unlocked), overtaking), assert.AssertionError)
    })

    it('as random commits show', async () => {
      const property = fc.asyncProperty(commands, async (given) => play(await openWorld(db, unlocked), given))
      const { failed } = await fc.check(property, { numRuns: 200, endOnFailure: true })
      assert.ok(failed)
    })
  })
})

describe('the feed', async () => {
  const { db } = await testDatabase(ownedBySuite())
  const never = { inserts: 0, updates: 0, removals: 0, revivals: 0 } as const

  async function run(world: World, given: Step): Promise<void> {
    const one = await start(world, given)
    await one.release()
    await one.done
  }

  it('shows everything from the start, each page full, and then nothing until something changes', async () => {
    const world = await openWorld(db, takeChangeNumbers)
    await run(world, { op: 'write', connection: 1, ...never, inserts: 7 })
    const first = await readChanges(db, world.user.access, { after: feedStart, removedAfterSeq: undefined, limit: 3 })
    assert.deepEqual([first?.result.items.split('\n').length, first?.result.isLast], [3, false])
    const copy = new Copy()
    await copy.pollToEnd(world, 3)
    assert.equal(copy.rows.size, 7)
    const { after } = copy
    assert.equal(await copy.poll(world, 3), true)
    assert.deepEqual(copy.after, after)
  })

  it('lists a transaction that changed several times once, in its current state', async () => {
    const world = await openWorld(db, takeChangeNumbers)
    await run(world, { op: 'write', connection: 1, ...never, inserts: 1 })
    for (let turn = 0; turn < 3; turn += 1) await run(world, { op: 'write', connection: 1, ...never, updates: 1 })
    const reading = await readChanges(db, world.user.access, { after: feedStart, removedAfterSeq: undefined, limit: 9 })
    const [change, ...more] = JSON.parse(`[${reading?.result.items ?? ''}]`) as Change[]
    assert.deepEqual(more, [])
    assert.ok(change?.op === 'upsert')
    assert.deepEqual(change.transaction, (await listAll(world)).get(change.transaction.id))
  })

  it('reports removals to a reader who had the rows, and not to one who started later', async () => {
    const world = await openWorld(db, takeChangeNumbers)
    await run(world, { op: 'write', connection: 1, ...never, inserts: 4 })
    const old = new Copy()
    await old.poll(world, 2)
    await run(world, { op: 'write', connection: 1, ...never, removals: 2 })
    await run(world, { op: 'hide', connection: 1 })
    const young = new Copy()
    const seen: string[] = []
    for (let isLast = false; !isLast;) {
      const reading = await readChanges(db, world.user.access, { ...young, limit: 9 })
      seen.push(reading?.result.items ?? '')
      isLast = await young.poll(world, 9)
    }
    assert.deepEqual(seen, [''])
    await old.pollToEnd(world, 2)
    assert.equal(old.rows.size, 0)
  })

  it('lists all rows of a connection together from the moment it is shown', async () => {
    const world = await openWorld(db, takeChangeNumbers)
    await run(world, { op: 'write', connection: 4, ...never, inserts: 5 })
    const copy = new Copy()
    await copy.pollToEnd(world, 2)
    assert.equal(copy.rows.size, 0)
    await run(world, { op: 'show', connection: 4 })
    const before = copy.after
    await copy.pollToEnd(world, 2)
    assert.equal(copy.rows.size, 5)
    const { newest_seq: seq } = await db.row<{ newest_seq: string }>(
      'select change_seq as newest_seq from user_changes where user_key = $1',
      [world.user.userKey],
    )
    const changes = await listUserChanges(db, world.user.userKey, before, seq, 9)
    assert.deepEqual(new Set(changes.map(({ point }) => point.seq)), new Set([seq]))
  })

  it('is read in one statement, even when nothing has changed', async () => {
    const world = await openWorld(db, takeChangeNumbers)
    await run(world, { op: 'write', connection: 1, ...never, inserts: 2 })
    let statements = 0
    const counting: Database = { ...db, maybeRow: (...given) => ((statements += 1), db.maybeRow(...given)) }
    const copy = new Copy()
    assert.equal(await copy.poll({ ...world, db: counting }, 9), true)
    assert.equal(await copy.poll({ ...world, db: counting }, 9), true)
    assert.equal(statements, 2)
  })

  it('needs the scope: without it a page has no items', async () => {
    const world = await openWorld(db, takeChangeNumbers)
    await run(world, { op: 'write', connection: 1, ...never, inserts: 2 })
    await db.execute(`update access_tokens set scopes = '{assets:read}' where user_key = $1`, [world.user.userKey])
    const reading = await readChanges(db, world.user.access, { after: feedStart, removedAfterSeq: '0', limit: 9 })
    assert.equal(reading?.result.items, '')
  })
})
