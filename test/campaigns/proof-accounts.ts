/** One account of every simulated provider, connected and read until its balances are judged. */
import type { ConnectionRef } from '../../apps/server/src/owner.ts'
import type { TestEngine } from '../../apps/server/src/test-engine.ts'
import { createSandboxSimulator, type SandboxDialect } from '../contract-suite/sandbox-simulator.ts'
import type { SimulatedAccount } from '../contract-suite/simulator.ts'
import { until } from '../until.ts'

interface Choice extends Pick<SandboxDialect, 'providerId' | 'signIn'> {
  /** The provider forgets, so that a proof covers only what happened after the first look: it happens here. */
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

export async function openAccount(engine: TestEngine, name: string): Promise<ProofAccount> {
  const choice = choices[name]
  if (choice === undefined) throw new RangeError(`no account ${name}: one of ${accountNames.join(', ')}`)
  const { providerId, forgets } = choice
  const dialect = { ...choice, toHeld: () => ({ records: [], balances: [] }) }
  const account = await createSandboxSimulator(engine.sandbox, dialect).newAccount('default')
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

async function connect(engine: TestEngine, providerId: string, account: SimulatedAccount): Promise<ConnectionRef> {
  const { db } = engine
  const owner = await engine.newOwner()
  const credentials = await account.authorize((request) => engine.connections.toSignInUrl(providerId, request))
  const adding = engine.connections.add(owner, { providerId, displayLabel: null, credentials, sessionId: null })
  const verifying = "select from graphile_worker.jobs where task_identifier = 'verify'"
  await until('the verification', async () => ((await db.rows(verifying)).length > 0 ? true : undefined))
  await engine.drain({ delayed: true, enough: async () => (await db.rows(verifying)).length === 0 })
  const { connectionId, errors } = await adding
  if (connectionId === null) throw new Error(`${providerId}: ${JSON.stringify(errors)}`)
  await engine.drain({ delayed: true })
  return engine.toRef(owner, connectionId)
}

async function readAgain(engine: TestEngine, ref: ConnectionRef): Promise<void> {
  await engine.moveClock(settledMs)
  const row = await engine.db.row<{ key_lane: string }>('select key_lane from connections where id = $1', [
    ref.connectionId,
  ])
  await engine.sync.begin(engine.db, ref, row.key_lane)
  await engine.drain({ delayed: true })
}

/** Coins that come and go, then a look: the next look is another interval. */
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
