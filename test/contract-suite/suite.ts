/**
 * What every provider has to keep to, checked through the real engine, the provider's simulator and a real PostgreSQL.
 * A provider's own test file declares its peculiarities (`ProviderUnderTest`) and calls `describeContract`.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  getDefinition,
  loadConnector,
  type ConnectorState,
  type Page,
  type RawRecord,
  type AccountReader,
  type Stream,
  type Window,
} from '@assay/connectors'
import { type Fault, minuteMs, SourceError, transactionTypes, type TransactionType } from '@assay/core'
import { cleanField, examineFields, isReady } from '@assay/core/credentials'
import type { ConnectionRef } from '../../apps/server/src/owner.ts'
import { ownedBySuite } from '../../apps/server/src/oauth/test-oauth.ts'
import { openEngine, type TestEngine } from '../../apps/server/src/test-engine.ts'
import { toUnits } from '../reconciler.ts'
import { until } from '../until.ts'
import {
  explained,
  heldBalances,
  heldChanges,
  heldKeys,
  listTransactions,
  storedBalances,
  storedKeys,
} from './books/reckoning.ts'
import { createSandboxSimulator, type SandboxDialect } from './sandbox-simulator.ts'
import { refusalsOf, scenariosOf } from './scenario-table.ts'
import { assertVerdict, listVerdicts, type Reading } from './verdict.ts'
import type { ArmedFault, Booking, SimulatedAccount, SimulatorUnderTest } from './simulator.ts'

/** `symbolOf`: by the provider's own document; an unknown code is its own symbol. */
export interface ProviderUnderTest extends Omit<Reading, 'by'> {
  providerId: string
  /** A simulator of packages/sandbox, or one that is started here. */
  simulator: SandboxDialect | { start(): Promise<SimulatorUnderTest> }
  /** A deposit as the provider books it. */
  deposit(code: string, amount: string): Booking['entries'][number]
  /** A code that the connector knows, an unknown one, and one with an unknown suffix where suffixes exist. */
  codes: { known: string; unknown: string; suffixed?: string }
  /** How many decimals the provider's amounts can have; 18 by default. */
  decimals?: number
  /** An invented type of record; omitted where each list has records of one type. */
  unknownType?: Booking['entries'][number]
  /** The fault that each of the simulator's failures must be reported as. */
  faults: Readonly<Record<string, { arm: ArmedFault; expects: Fault }>>
  /**
   * How far back every page mark is resumed; all of history by default. For lists that are read in hundreds of pieces.
   */
  resumedMs?: number
  /** How late new records appear in the provider's lists; two minutes by default. */
  settleMs?: number
  /** Words that a refusal has to name; null for wallets, which have no rights. */
  rights: { excess: string; missing: string } | null
  /** How many records make a history of several pages; 100 by default. */
  recordsMin?: number
  /**
   * What is compared of a stored record, where the simulator's books do not have the provider's ids; undefined for a
   * record that the books do not have. All of it by default.
   */
  identify?(stream: string, partition: string, key: string): string | undefined
  /** Types that no transaction of the default account has: none by default. */
  neverShown?: readonly TransactionType[]
  /** What the provider holds but shows in no list that is read: the reason why its balances are not fully explained. */
  unexplained?: string
  /** An amount that the provider credits but shows in no list that is read. */
  untold?: Booking['entries'][number]
}

interface Connected {
  ref: ConnectionRef
  account: SimulatedAccount
}

const parts = {
  reading: checkReading,
  resuming: checkResuming,
  faults: checkFaults,
  strange_records: checkStrangeRecords,
  withdrawn: checkWithdrawn,
  keys: checkKeys,
  scenarios: checkScenarios,
} as const
type Part = keyof typeof parts

/** `only` is for a provider whose limits make the whole contract too slow for one file. */
export function describeContract(provider: ProviderUnderTest, only = Object.keys(parts) as readonly Part[]): void {
  describe(`the contract of a provider: ${provider.providerId}`, async () => {
    const world = await openWorld(provider)
    checkForm(world)
    for (const part of only) parts[part](world)
  })
}

interface World extends ProviderUnderTest {
  engine: TestEngine
  simulatorUnderTest: SimulatorUnderTest
  streams: readonly Stream[]
  /** Adds, verifies and, by default, reads to the end. */
  connect(choices?: { account?: SimulatedAccount; read?: boolean }): Promise<Connected>
  /**
   * One account with a history that checks share, because a first read is most of their time. None of them spoils it.
   */
  shared(): Promise<Connected>
  readAgain(ref: ConnectionRef): Promise<void>
  moveClock(ms: number): Promise<void>
  /** A reader of the suite's own; the engine does not read the connection afterwards. */
  open(ref: ConnectionRef): Promise<AccountReader>
  /** Everything that is stored equals everything that the simulator holds, to the last digit. */
  assertSame(connected: Connected): Promise<void>
}

async function openWorld(provider: ProviderUnderTest): Promise<World> {
  const { simulator: choice, providerId } = provider
  const own = 'start' in choice ? await choice.start() : undefined
  if (own !== undefined) ownedBySuite().after(() => own.close())
  const engine = await openEngine(
    // Limits are tested elsewhere. Here every list is read many times, and some allow only two requests a minute.
    { ASSAY_SANDBOX_PACE: 'fastest' },
    own === undefined
      ? {}
      : {
          providerUrls: { [providerId]: own.url },
          ...(own.client === undefined ? {} : { providerClients: { [providerId]: own.client } }),
        },
  )
  const simulator = 'start' in choice ? (own as SimulatorUnderTest) : createSandboxSimulator(engine.sandbox, choice)
  // The engine's clock begins at noon, and new bookings have the time of that clock.
  await simulator.setClock(await engine.clock.advance(0))
  const { db } = engine

  async function add(account: SimulatedAccount, owner: Awaited<ReturnType<TestEngine['newOwner']>>) {
    const credentials = await account.authorize((request) => engine.connections.toSignInUrl(providerId, request))
    const request = { providerId, displayLabel: null, credentials, connectSessionId: null }
    const adding = engine.connections.add(owner, request)
    const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
    await until('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
    await engine.drain({ delayed: true, enough: async () => (await db.rows(verifying)).length === 0 })
    return adding
  }

  let nonceLast = 1_000_000_000n
  let shared: Promise<Connected> | undefined
  const world: World = {
    ...provider,
    engine,
    simulatorUnderTest: simulator,
    streams: getDefinition(providerId).streams,
    async connect({ account: given, read = true } = {}) {
      const account = given ?? (await simulator.newAccount('default'))
      const owner = await engine.newOwner()
      const { connectionId, errors } = await add(account, owner)
      if (connectionId === null) throw new Error(JSON.stringify(errors))
      const ref = await engine.toRef(owner, connectionId)
      if (read) await engine.drain({ delayed: true })
      return { ref, account }
    },
    shared: () => (shared ??= world.connect()),
    async readAgain(ref) {
      const { key_lane: lane } = await db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
        ref.connectionId,
      ])
      await engine.sync.beginReading(db, ref, lane)
      await engine.drain({ delayed: true })
    },
    async moveClock(ms) {
      await engine.moveClock(ms)
      await simulator.setClock(await engine.clock.advance(0))
    },
    async open(ref) {
      const opened = await engine.connections.open(ref)
      if (opened === undefined) throw new Error(`${ref.connectionId} cannot be opened`)
      // The engine reserves nonces in its ledger of budgets, which this reader goes around: these are far above its
      // own.
      nonceLast += 1_000_000n
      opened.nonces.use(BigInt(engine.clock.now()) * 1_000n + nonceLast)
      return opened.reader
    },
    async assertSame({ ref, account }) {
      const held = await account.hold()
      assert.deepEqual(await storedKeys(db, ref, provider.identify), heldKeys(held, provider.identify))
      assert.deepEqual(await storedBalances(db, ref), heldBalances(held, provider.symbolOf))
      assert.deepEqual(await explained(db, ref), heldChanges(held, provider.symbolOf))
    },
  }
  return world
}

/** Always checked, because nobody gets further without it. */
function checkForm(world: World): void {
  const { connection_types: ways, credential_fields: fields } = getDefinition(world.providerId).metadata
  const isSignIn = !('start' in world.simulator) && world.simulator.signIn === true
  if (!ways.includes('api_key') || isSignIn) return
  it('a key that the provider gave passes the form in which a person enters it', async () => {
    const account = await world.simulatorUnderTest.newAccount('default')
    const given = await account.authorize(() => assert.fail('a key needs no sign-in'))
    assert.ok(given.type === 'api_key')
    const values: Readonly<Record<string, string>> = {
      ...{ api_key: given.apiKey, secret_key: given.secretKey, passphrase: given.passphrase ?? '' },
    }
    const examined = fields.map((field) => ({ ...field, value: cleanField(field.name, values[field.name] ?? '') }))
    const remarks = examineFields(examined)
    assert.ok(isReady(remarks), JSON.stringify(remarks))
  })
}

/** "Some hundreds" are what an integrator sees of the scenario `default`, wherever it is read. */
const defaultTransactionsMin = 200

function checkReading(world: World): void {
  it('a full read stores every record, every balance and every change, to the last digit', async () => {
    const connected = await world.shared()
    assert.ok(
      (await connected.account.hold()).records.length > (world.recordsMin ?? 100),
      'the default account has a history of several pages',
    )
    await world.assertSame(connected)
    await assertVerdict(world.engine, connected, world)
  })

  const { simulator, neverShown = [] } = world
  if (!('start' in simulator) && simulator.scenario === undefined) {
    it('the default account shows some hundreds of transactions, of every type that it can have', async () => {
      const { ref } = await world.shared()
      const listed = await listTransactions(world.engine.db, ref)
      const types = new Set(listed.map(({ type }) => type))
      assert.ok(listed.length >= defaultTransactionsMin, `${listed.length} transactions`)
      assert.deepEqual(
        transactionTypes.filter((type) => !types.has(type)),
        neverShown,
      )
    })
  }

  const gap = world.unexplained
  it(`the sum of all transactions explains each balance${gap === undefined ? '' : `, except that ${gap}`}`, async () => {
    const { ref } = await world.shared()
    const [summed, stored] = [await explained(world.engine.db, ref), await storedBalances(world.engine.db, ref)]
    // A gap that is closed has to leave the description of its provider.
    if (gap === undefined) assert.deepEqual(summed, stored)
    else assert.notDeepEqual(summed, stored)
  })

  if (getDefinition(world.providerId).storiesStayInLists === true) {
    it('a story of two lists only leaves out what both of them have, as the definition says', async () => {
      const { ref } = await world.shared()
      const rows = await world.engine.db.rows<{
        group_key: string
        list: string
        key: string
        body: string
        at: string
      }>(
        `select group_key, stream || '/' || partition as list, source_key as key, body, occurred_at as at
         from raw_records where user_key = $1 and connection_key = $2`,
        [ref.userKey, ref.connectionKey],
      )
      const { toTransactions } = await loadConnector(world.providerId)
      const derive = (some: typeof rows): string[] => {
        const records = some.map(({ list, key, body, at }) => {
          const [stream = '', partition = ''] = list.split(/\/(.*)/s)
          return { stream, partition, key, body, occurredAtMs: Date.parse(at) }
        })
        return toTransactions(records, { addresses: new Set(), state: {} }).map((draft) => JSON.stringify(draft))
      }
      for (const group of Map.groupBy(rows, ({ group_key }) => group_key).values()) {
        const parts = [...Map.groupBy(group, ({ list }) => list).values()]
        if (parts.length === 1) continue
        const alone = parts.flatMap(derive)
        assert.deepEqual(
          derive(group).filter((draft) => !alone.includes(draft)),
          [],
        )
      }
    })
  }

  it('an account that never held anything is read without fault', async () => {
    const connected = await world.connect({ account: await world.simulatorUnderTest.newAccount('empty') })
    const { ref } = connected
    assert.deepEqual(await storedKeys(world.engine.db, ref), [])
    assert.equal((await world.engine.connections.find(ref, ref.connectionId))?.status, 'active')
    await assertVerdict(world.engine, connected, world)
  })

  it('reading again creates no duplicate, changes nothing, and adds new records exactly once', async () => {
    const { db } = world.engine
    const connected = await world.shared()
    const first = await connected.account.hold()
    const before = await listTransactions(db, connected.ref)
    await world.readAgain(connected.ref)
    assert.deepEqual(await listTransactions(db, connected.ref), before)
    await connected.account.book({ entries: [world.deposit(world.codes.known, '0.25')] })
    await world.moveClock(world.settleMs ?? 2 * minuteMs)
    await world.readAgain(connected.ref)
    assert.equal((await listTransactions(db, connected.ref)).length, before.length + 1)
    await world.assertSame(connected)
    await assertVerdict(world.engine, connected, world, first)
  })
}

function checkScenarios(world: World): void {
  const { untold } = world
  if (untold !== undefined) {
    it('an amount that arrives between two reads and is in no list is a difference of exactly that amount', async () => {
      const account = await world.simulatorUnderTest.newAccount('empty')
      const connected = await world.connect({ account })
      const first = await account.hold()
      await account.book({ entries: [world.deposit(world.codes.known, '0.25')] })
      await account.book({ entries: [untold] })
      for (let reads = 0; reads < 2; reads += 1) {
        await world.moveClock(world.settleMs ?? 2 * minuteMs)
        await world.readAgain(connected.ref)
      }
      await world.assertSame(connected)
      await assertVerdict(world.engine, connected, world, first)
      const { verdicts } = await listVerdicts(world.engine, connected.ref)
      const difference = toUnits(untold.amount)
      assert.deepEqual(verdicts, {
        [world.symbolOf(untold.code)]: { grade: 'open', difference, cause: 'unexplained' },
      })
    })
  }
  if (!('start' in world.simulator)) checkTable(world, world.simulator)
}

/** The scenarios of the sandbox. Two of them are the accounts that the other checks read. */
function checkTable(world: World, { providerId: provider, scenario: usual = 'default' }: SandboxDialect): void {
  for (const scenario of scenariosOf(provider, 'suite').filter((name) => name !== usual && name !== 'empty')) {
    it(`${scenario}: everything is read, and the proof is right about it, even after the next record`, async () => {
      const account = await world.simulatorUnderTest.newAccount(scenario)
      const connected = await world.connect({ account })
      const first = await account.hold()
      await world.assertSame(connected)
      await assertVerdict(world.engine, connected, world)
      await account.book({ entries: [world.deposit(world.codes.known, '0.25')] })
      // A balance is judged by the read after the one that saw it.
      for (let reads = 0; reads < 2; reads += 1) {
        await world.moveClock(world.settleMs ?? 2 * minuteMs)
        await world.readAgain(connected.ref)
      }
      await world.assertSame(connected)
      await assertVerdict(world.engine, connected, world, first)
    })
  }
  for (const scenario of scenariosOf(provider, 'interrupted')) {
    it(`${scenario}: the data read so far stays, without a verdict`, async () => {
      const { ref } = await world.connect({ account: await world.simulatorUnderTest.newAccount(scenario) })
      const row = await world.engine.connections.find(ref, ref.connectionId)
      assert.deepEqual([row?.status, row?.proof_grade], ['needs_reauth', null])
      assert.deepEqual((await listVerdicts(world.engine, ref)).rows, [])
    })
  }
  for (const { scenario, cause } of refusalsOf(provider)) {
    it(`${scenario}: is not added, because of ${cause}`, async () => {
      const account = await world.simulatorUnderTest.newAccount(scenario)
      await assert.rejects(world.connect({ account }), new RegExp(`"cause":"${cause}"`))
    })
  }
}

function checkResuming(world: World): void {
  it('every page mark of every list can be resumed by a new reader, and leads to the same end', async () => {
    const { ref } = await world.shared()
    const end = world.engine.clock.now()
    const window: Window = { unit: 'ms', start: Math.max(0, end - (world.resumedMs ?? end)), end }
    for (const stream of world.streams.filter(({ unit }) => unit === 'ms')) {
      for (const partition of await listPartitions(world, ref, stream)) {
        const pages = await walk(await world.open(ref), stream, partition, window)
        for (const [index, from] of pages.entries()) {
          const { pageMark } = from
          const rest = await walk(await world.open(ref), stream, partition, window, from)
          assert.deepEqual(keysOf(rest), keysOf(pages.slice(index)), `${stream.name} from ${pageMark ?? 'the start'}`)
        }
      }
    }
  })

  it('no record is lost or doubled when the provider fails after every single page', async () => {
    const connected = await world.connect({ read: false })
    const whole = (await connected.account.hold()).records.length
    let interruptions = 0
    for (let round = 0; round < 30; round += 1) {
      // A few calls are answered, and then none: the job ends wherever it is.
      await connected.account.arm({ ...outage(world), after: 2 + (Math.floor(round / 2) % 3) })
      await world.engine.drain({ delayed: true, enough: stopAfter(1) })
      await world.simulatorUnderTest.clearFaults()
      const stored = (await storedKeys(world.engine.db, connected.ref)).length
      if (stored > 0 && stored < whole) interruptions += 1
      await world.moveClock(10 * minuteMs)
    }
    assert.ok(interruptions > 0, 'the history was never read in part')
    await world.simulatorUnderTest.clearFaults()
    await world.readAgain(connected.ref)
    await world.assertSame(connected)
  })
}

function stopAfter(jobs: number): () => Promise<boolean> {
  let done = 0
  return async () => done++ === jobs
}

/** Any temporary fault. */
function outage({ faults }: World): ArmedFault {
  const passing = Object.values(faults).find(({ expects }) => expects === 'venue_down')
  if (passing === undefined) throw new Error('the simulator has no way to be down')
  return passing.arm
}

async function listPartitions(world: World, ref: ConnectionRef, { name, partitioned }: Stream): Promise<string[]> {
  if (!partitioned) return ['']
  const reader = await world.open(ref)
  const listed = (await reader.listPartitions?.({})) ?? []
  return listed.filter(({ stream }) => stream === name).map(({ partition }) => partition)
}

interface WalkedPage {
  pageMark: string | null
  /** As it was committed together with the page mark. */
  state: ConnectorState
  records: readonly RawRecord[]
}

const pagesMax = 1_000

async function walk(
  reader: AccountReader,
  { name: stream }: Stream,
  partition: string,
  window: Window,
  from: Pick<WalkedPage, 'pageMark' | 'state'> = { pageMark: null, state: {} },
): Promise<WalkedPage[]> {
  const pages: WalkedPage[] = []
  let { pageMark, state } = from
  do {
    const page: Page = await retried(() =>
      reader.fetchPage({ stream, partition, window, pageMark, lastingMark: null, state }),
    )
    pages.push({ pageMark, state, records: page.records })
    pageMark = page.next
    state = page.state ?? state
    assert.ok(pages.length < pagesMax, `${stream}: more than ${pagesMax} pages`)
  } while (pageMark !== null)
  return pages
}

/** The suite calls without the engine's budget here, so it waits when the provider reports a rate limit. */
async function retried<T>(ask: () => Promise<T>): Promise<T> {
  let notBefore = 0
  return until('an answer that is not a refusal', async () => {
    // A provider that bans callers for retrying must not be called in the meantime. Simulated limits pass within
    // seconds.
    if (performance.now() < notBefore) return undefined
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof SourceError) || error.fault !== 'rate_limited') throw error
      notBefore = performance.now() + Math.min(error.retryAfterMs ?? 0, 2_000)
      return undefined
    }
  })
}

function keysOf(pages: readonly WalkedPage[]): string[] {
  return [...new Set(pages.flatMap(({ records }) => records.map(({ key }) => key)))].toSorted()
}

function checkFaults(world: World): void {
  for (const [name, { arm, expects }] of Object.entries(world.faults)) {
    it(`${name} is ${expects}, and the stored data stays correct`, async () => {
      const connected = await world.shared()
      const reader = await world.open(connected.ref)
      // It works until the fault comes. A sign-in renews its token here, and does not lose the next one to the fault.
      await reader.fetchBalances({})
      await connected.account.arm(arm)
      await assert.rejects(reader.fetchBalances({}), (error) => {
        assert.ok(error instanceof SourceError, String(error))
        assert.equal(error.fault, expects)
        return true
      })
      await world.simulatorUnderTest.clearFaults()
      await world.assertSame(connected)
    })
  }
}

function checkStrangeRecords(world: World): void {
  const { codes, deposit, unknownType, decimals = 18 } = world
  const strange: Record<string, Booking['entries'][number]> = {
    'an unknown asset': deposit(codes.unknown, '12.5'),
    ...(codes.suffixed === undefined ? {} : { 'an unknown suffix': deposit(codes.suffixed, '3') }),
    ...(unknownType === undefined ? {} : { 'an unknown type': unknownType }),
    'the smallest amount': deposit(codes.unknown, `0.${'1'.padStart(decimals, '0')}`),
    'a very large amount': deposit(codes.unknown, '1000000000000000'),
    'a large amount with every digit behind the point': deposit(
      codes.unknown,
      `123456789012345.${'123456789012345678'.slice(0, decimals)}`,
    ),
  }
  for (const [name, entry] of Object.entries(strange)) {
    it(`${name} survives to the last digit`, async () => {
      const account = await world.simulatorUnderTest.newAccount('empty')
      await account.book({ entries: [entry] })
      await world.moveClock(world.settleMs ?? 2 * minuteMs)
      const connected = await world.connect({ account })
      await world.assertSame(connected)
      assert.equal((await listTransactions(world.engine.db, connected.ref)).length, 1)
    })
  }
}

function checkWithdrawn(world: World): void {
  it('a record that the provider takes back disappears after two complete reads, with its transaction', async () => {
    const { db } = world.engine
    const connected = await world.connect()
    const { ref, account } = connected
    const before = await listTransactions(db, ref)
    const keys = await account.book({ entries: [world.deposit(world.codes.known, '0.125')] })
    await world.moveClock(world.settleMs ?? 2 * minuteMs)
    await world.readAgain(ref)
    assert.equal((await listTransactions(db, ref)).length, before.length + 1)
    await account.withdraw(keys)
    await world.readAgain(ref)
    assert.equal((await listTransactions(db, ref)).length, before.length + 1, 'one read alone retires nothing')
    await world.moveClock(11 * minuteMs)
    await world.readAgain(ref)
    assert.deepEqual(
      (await listTransactions(db, ref)).map(({ id }) => id),
      before.map(({ id }) => id),
    )
    await world.assertSame(connected)
  })
}

function checkKeys(world: World): void {
  it('two connections of one account are read without conflict', async () => {
    const account = await world.simulatorUnderTest.newAccount('default')
    const first = await world.connect({ account, read: false })
    const second = await world.connect({ account, read: false })
    // Two jobs with one key at once, which the queue's lanes prevent: one overtakes the other, which comes back after a
    // pause. The pauses are kept at first, or the two would overtake each other forever.
    await Promise.all([world.engine.drain(), world.engine.drain()])
    await world.engine.drain({ delayed: true })
    for (const connected of [first, second]) {
      await world.assertSame(connected)
      const row = await world.engine.connections.find(connected.ref, connected.ref.connectionId)
      assert.deepEqual([row?.status, row?.status_cause], ['active', null])
    }
  })

  const words = world.rights
  if (words === null) return
  for (const rights of ['excess', 'missing'] as const) {
    it(`a key with ${rights === 'excess' ? 'too many' : 'too few'} rights is refused, and the refusal names them`, async () => {
      const account = await world.simulatorUnderTest.newAccount('default')
      await account.setRights(rights)
      await assert.rejects(world.connect({ account }), (error: Error) => {
        assert.match(error.message, new RegExp(`"cause":"${rights}_permission"`))
        assert.ok(error.message.includes(words[rights]), error.message)
        return true
      })
      await account.setRights('read_only')
      await world.connect({ account })
    })
  }
}
