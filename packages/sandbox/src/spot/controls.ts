/**
 * The controls of a simulated spot account, the same for every exchange: a record's id is the kind of what happened and
 * its number on the account. Balances are those of both wallets together.
 */
import type { AccountContents, RecordChange, SimulatorControls, SimulatorRecord } from '../core/controls.ts'
import { toMs, toText, withEvent, writeBooks, type Row, type World } from './books.ts'
import type { SpotAccount, SpotExchange } from './exchange.ts'
import type { AccountEvent } from './story.ts'

export function createSpotControls({ id, accounts }: SpotExchange): SimulatorControls {
  function open(accountId: string): SpotAccount {
    const account = accounts.findById(accountId)
    if (account === undefined) throw new RangeError(`no simulated ${id} account ${accountId}`)
    return account
  }

  return {
    readAccount: (accountId) => readingOf(open(accountId)),
    withdrawRecord(accountId, recordId) {
      withdrawRecords(open(accountId), [recordId])
    },
    addLateRecord(accountId, { time, asset, amount }) {
      const account = open(accountId)
      const event = { kind: 'deposit', asset, amount, network: 'ethereum', status: 'done' } as const
      account.setWorld(withEvent(account.world(), event, toMs(time)))
      return `deposit ${account.world().next - 1}`
    },
    correctRecord(accountId, recordId, change) {
      const account = open(accountId)
      const world = account.world()
      const wrong = getRow(world, recordId)
      const atMs = change.time === undefined ? wrong.atMs : toMs(change.time)
      const right = { ...wrong, atMs, event: corrected(wrong.event, change) }
      const rows = world.rows.map((row) => (row === wrong ? right : row))
      account.setWorld(writeBooks(rows, world))
    },
  }
}

/** Withdraws all records or none. Throws a RangeError when an id is unknown or a balance would become negative. */
export function withdrawRecords(account: SpotAccount, ids: readonly string[]): void {
  const world = account.world()
  const gone = new Set(ids.map((id) => getRow(world, id)))
  const rows = world.rows.filter((row) => !gone.has(row))
  account.setWorld(writeBooks(rows, world))
}

export function recordIdOf({ event, number }: Row): string {
  return `${event.kind} ${number}`
}

function getRow(world: World, recordId: string): Row {
  const row = world.rows.find((one) => recordIdOf(one) === recordId)
  if (row === undefined) throw new RangeError(`no record ${recordId}`)
  return row
}

/** Only an event with a single amount can be corrected: a trade or a conversion has several. */
function corrected(event: AccountEvent, { amount, fee }: RecordChange): AccountEvent {
  if (amount === undefined && fee === undefined) return event
  if (!('amount' in event)) throw new RangeError(`a ${event.kind} has no single amount to correct`)
  if (fee !== undefined && !('fee' in event)) throw new RangeError(`a ${event.kind} has no fee to correct`)
  return { ...event, ...(amount !== undefined && { amount }), ...(fee !== undefined && { fee }) }
}

function readingOf(account: SpotAccount): AccountContents {
  const world = account.world()
  const records: Record<string, SimulatorRecord[]> = {}
  for (const row of world.rows) {
    const record = { id: recordIdOf(row), body: bodyOf(row) }
    const list = records[row.event.kind]
    if (list === undefined) records[row.event.kind] = [record]
    else list.push(record)
  }
  return { accountId: account.id, balances: balancesOf(world), records }
}

/** In plain terms, because the exchanges tell one happening in several lists. */
export function bodyOf({ atMs, event }: Row): object {
  return { ...event, at: new Date(atMs).toISOString() }
}

/** Both wallets together. */
export function balancesOf({ balances }: World): Record<string, string> {
  const totals = new Map(balances.funding)
  for (const [asset, units] of balances.trading) totals.set(asset, (totals.get(asset) ?? 0n) + units)
  return Object.fromEntries([...totals].map(([asset, units]) => [asset, toText(units)]))
}
