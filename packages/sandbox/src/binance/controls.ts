/**
 * The controls of a simulated Binance account. A record's id is the kind of what happened and its number on the
 * account: Binance's own ids are unique only within a list. Balances are named as /api/v3/account names them (LDBTC:
 * bitcoin that earns), and coins in locked positions "locked DOT".
 */
import type { AccountContents, RecordChange, SimulatorControls, SimulatorRecord } from '../core/controls.ts'
import { toShortText } from '../core/units.ts'
import type { BinanceAccount, BinanceAccounts } from './authentication.ts'
import { describeRedemption, describeReward, describeSubscription } from './api/earn.ts'
import { describeConvert, describeFiatOrder, describePayment } from './api/exchanges.ts'
import { toRow, toWorld, withEvent, type World } from './history.ts'
import type { Row, RowOf } from './rows.ts'
import { describeTrade } from './api/spot.ts'
import type { AccountEvent } from './story.ts'
import { decimals, ensureAsset } from './api/symbols.ts'
import { describeDeposit, describeDividend, describeDust, describeWithdrawal } from './api/wallet.ts'

export function createBinanceControls(accounts: BinanceAccounts): SimulatorControls {
  function open(id: string): BinanceAccount {
    const account = accounts.findById(id)
    if (account === undefined) throw new RangeError(`no simulated Binance account ${id}`)
    return account
  }

  return {
    readAccount: (accountId) => readingOf(open(accountId)),
    withdrawRecord(accountId, recordId) {
      withdrawRecords(open(accountId), [recordId])
    },
    addLateRecord(accountId, { time, asset, amount }) {
      const account = open(accountId)
      ensureAsset(asset)
      const event = { kind: 'deposit', coin: asset, amount, network: asset, status: 1 } as const
      const after = withEvent(account.world(), event, toMs(time))
      account.setWorld(after)
      return `deposit ${after.next - 1}`
    },
    correctRecord(accountId, recordId, change) {
      const account = open(accountId)
      const wrong = getRow(account.world(), recordId)
      const atMs = change.time === undefined ? wrong.atMs : toMs(change.time)
      const right = toRow(wrong.number, atMs, corrected(wrong.event, change))
      setRows(
        account,
        account.world().rows.map((row) => (row === wrong ? right : row)),
      )
    },
  }
}

/** Withdraws all records or none. Throws a RangeError when an id is unknown or a balance would become negative. */
export function withdrawRecords(account: BinanceAccount, ids: readonly string[]): void {
  const gone = new Set(ids.map((id) => getRow(account.world(), id)))
  setRows(
    account,
    account.world().rows.filter((row) => !gone.has(row)),
  )
}

export function recordIdOf({ event, number }: Row): string {
  return `${event.kind} ${number}`
}

function getRow(world: World, recordId: string): Row {
  const row = world.rows.find((one) => recordIdOf(one) === recordId)
  if (row === undefined) throw new RangeError(`no record ${recordId}`)
  return row
}

function setRows(account: BinanceAccount, rows: readonly Row[]): void {
  const { inOrders, next } = account.world()
  account.setWorld(toWorld(rows, inOrders, next))
}

/** Only an event with a single amount can be corrected: a trade, a conversion or a dust sweep has several. */
function corrected(event: AccountEvent, { amount, fee }: RecordChange): AccountEvent {
  if (amount === undefined && fee === undefined) return event
  if (!('amount' in event)) throw new RangeError(`a ${event.kind} has no single amount to correct`)
  if (fee !== undefined && !('fee' in event)) throw new RangeError(`a ${event.kind} has no fee to correct`)
  return { ...event, ...(amount !== undefined && { amount }), ...(fee !== undefined && { fee }) }
}

function toMs(time: string): number {
  const ms = Date.parse(time)
  if (Number.isNaN(ms)) throw new RangeError(`not a time: ${time}`)
  return ms
}

function readingOf(account: BinanceAccount): AccountContents {
  const world = account.world()
  const records: Record<string, SimulatorRecord[]> = {}
  for (const row of world.rows) {
    const record = { id: recordIdOf(row), body: describeRow(account.id, row) }
    const list = records[endpointOf(row)]
    if (list === undefined) records[endpointOf(row)] = [record]
    else list.push(record)
  }
  return { accountId: account.id, balances: balancesOf(world), records }
}

export function balancesOf(world: World): Record<string, string> {
  const balances: Record<string, bigint> = {}
  for (const [wallet, held] of world.balances) {
    const prefix = wallet === 'spot' ? '' : wallet === 'flexible' ? 'LD' : 'locked '
    for (const [asset, units] of held) balances[prefix + asset] = (balances[prefix + asset] ?? 0n) + units
  }
  return Object.fromEntries(Object.entries(balances).map(([name, units]) => [name, toShortText(units, decimals)]))
}

const endpointOfKind: Readonly<Record<AccountEvent['kind'], string>> = {
  trade: 'myTrades',
  deposit: 'capital/deposit/hisrec',
  withdrawal: 'capital/withdraw/history',
  convert: 'convert/tradeFlow',
  fiatOrder: 'fiat/orders',
  payment: 'fiat/payments',
  dividend: 'asset/assetDividend',
  dust: 'asset/dribblet',
  subscription: 'history/subscriptionRecord',
  redemption: 'history/redemptionRecord',
  reward: 'history/rewardsRecord',
}

function endpointOf({ event }: Row): string {
  const name = endpointOfKind[event.kind]
  return 'product' in event ? `simple-earn/${event.product}/${name}` : name
}

/** The record as it goes over the wire, except that the ids of conversions are bigints here. */
export function describeRow(accountId: string, row: Row): object {
  const describe: { [Kind in AccountEvent['kind']]: (accountId: string, row: RowOf<Kind>) => object } = {
    trade: describeTrade,
    deposit: describeDeposit,
    withdrawal: describeWithdrawal,
    convert: describeConvert,
    fiatOrder: describeFiatOrder,
    payment: describePayment,
    dividend: describeDividend,
    dust: describeDust,
    subscription: describeSubscription,
    redemption: describeRedemption,
    reward: (_, reward) => describeReward(reward),
  }
  const one = describe[row.event.kind] as (accountId: string, row: Row) => object
  return one(accountId, row)
}
