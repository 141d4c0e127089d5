/** One account of every simulated provider, connected and read until its balances are judged. */
import type { AddResult } from '../../../apps/server/src/connections/index.ts'
import type { ConnectionRef, Owner } from '../../../apps/server/src/owner.ts'
import type { TestEngine } from '../../../apps/server/src/test-engine.ts'
import { createSandboxSimulator, type SandboxDialect } from '../../contract-suite/sandbox-simulator.ts'
import type { SimulatedAccount, SimulatorUnderTest } from '../../contract-suite/simulator.ts'
import { until } from '../../until.ts'

interface Choice extends Pick<SandboxDialect, 'providerId' | 'signIn'> {
  /** This provider forgets, so a proof covers only what happens after the first read, which is done here. */
  forgets?: true
}

const choices: Readonly<Record<string, Choice>> = {
  kraken: { providerId: 'kraken' },
  'coinbase-key': { providerId: 'coinbase' },
  'coinbase-sign-in': { providerId: 'coinbase', signIn: true },
  binance: { providerId: 'binance' },
  bybit: { providerId: 'bybit', forgets: true },
  okx: { providerId: 'okx', forgets: true },
  bitfinex: { providerId: 'bitfinex' },
  bitcoin: { providerId: 'bitcoin' },
  evm: { providerId: 'evm' },
  solana: { providerId: 'solana' },
}

export const accountNames = Object.keys(choices)

export interface ProofAccount {
  name: string
  providerId: string
  ref: ConnectionRef
  /** In ms. A record that is older is in the opening balance. */
  provableSince: number
}

const minuteMs = 60_000
/** Every chain is final after this, and every list has what happened before it. */
const settledMs = 40 * minuteMs
const rounds = 4

function getChoice(name: string): Choice {
  const choice = choices[name]
  if (choice === undefined) throw new RangeError(`no account ${name}: one of ${accountNames.join(', ')}`)
  return choice
}

/** The simulator of a named account. Its books cannot be read: each provider has its own way to write them. */
export function openSimulator(engine: TestEngine, name: string): SimulatorUnderTest & Pick<Choice, 'providerId'> {
  const choice = getChoice(name)
  const dialect = { ...choice, toHeld: () => ({ records: [], balances: [] }) }
  return { ...createSandboxSimulator(engine.sandbox, dialect), providerId: choice.providerId }
}

export async function openAccount(engine: TestEngine, name: string): Promise<ProofAccount> {
  const { providerId, forgets } = getChoice(name)
  const account = await openSimulator(engine, name).newAccount('default')
  const ref = await connect(engine, providerId, account)
  const firstReadAt = engine.clock.now()
  await readAgain(engine, ref)
  if (forgets === true) {
    for (let round = 1; round <= rounds; round += 1) await bookRound(engine, account, ref, round)
    // A balance is judged by the read after the one that saw it.
    await readAgain(engine, ref)
  }
  return { name, providerId, ref, provableSince: forgets === true ? firstReadAt : 0 }
}

/** Added and verified, or refused; not yet read. */
export async function add(
  engine: TestEngine,
  providerId: string,
  account: SimulatedAccount,
  owner: Owner,
  more: { repairOf?: string } = {},
): Promise<AddResult> {
  const { db } = engine
  const credentials = await account.authorize((request) => engine.connections.toSignInUrl(providerId, request))
  const request = { providerId, displayLabel: null, credentials, connectSessionId: null, ...more }
  const adding = engine.connections.add(owner, request)
  const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
  await until('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
  await engine.drain({ delayed: true, enough: async () => (await db.rows(verifying)).length === 0 })
  return adding
}

export async function connect(
  engine: TestEngine,
  providerId: string,
  account: SimulatedAccount,
  read: (ref: ConnectionRef) => Promise<void> = () => engine.drain({ delayed: true }),
): Promise<ConnectionRef> {
  const owner = await engine.newOwner()
  const { connectionId, errors } = await add(engine, providerId, account, owner)
  if (connectionId === null) throw new Error(`${providerId}: ${JSON.stringify(errors)}`)
  const ref = await engine.toRef(owner, connectionId)
  await read(ref)
  return ref
}

/** All of them at one time: what an account earns in between would otherwise be in some of them only. */
export async function readAgain(engine: TestEngine, ...refs: ConnectionRef[]): Promise<void> {
  await engine.moveClock(settledMs)
  for (const ref of refs) {
    const row = await engine.db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
      ref.connectionId,
    ])
    await engine.sync.beginReading(engine.db, ref, row.key_lane)
  }
  await engine.drain({ delayed: true })
}

/** Books coins in and out, then reads. The next read begins another interval. */
async function bookRound(engine: TestEngine, account: SimulatedAccount, ref: ConnectionRef, round: number) {
  const size = (parts: number): string => `0.0${round}${parts}`
  for (const entry of [
    { type: 'deposit', code: 'BTC', amount: size(1) },
    { type: 'deposit', code: 'ETH', amount: size(2) },
    { type: 'withdrawal', code: 'ETH', amount: `-${size(1)}`, fee: '0.0016' },
    { type: 'deposit', code: 'SOL', amount: size(3) },
  ]) {
    await engine.moveClock(minuteMs)
    await account.book({ entries: [entry] })
  }
  await readAgain(engine, ref)
}
