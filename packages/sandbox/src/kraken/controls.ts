/** The controls of a simulated Kraken account. A record's id is that of its ledger entry (L…). */
import type { AccountContents, SimulatorControls } from '../core/controls.ts'
import { ticksPerSecond } from '../core/timeline.ts'
import { toShortText } from '../core/units.ts'
import { findAsset, getAsset, inventAsset } from './assets.ts'
import type { KrakenAccount, KrakenAccounts } from './authentication.ts'
import { describeFunding } from './api/funding.ts'
import { withEntries } from './history.ts'
import { findNumber, idOf, ledgerId, type HoldEnd } from './rows.ts'
import { describeEntry, describeTrade, tradeId } from './api/ledgers.ts'
import { withCorrection, withHoldEnded, withHoldsEnded, withoutEntries, type EntryChange } from './revisions.ts'

export interface KrakenControls extends SimulatorControls {
  /** Ends the review of a withdrawal now, whatever the story says. `refid` as WithdrawStatus shows it. */
  endHold(accountId: string, refid: string, ends: HoldEnd): void
}

export function createKrakenControls(accounts: KrakenAccounts, nowMs: () => number): KrakenControls {
  function open(id: string): KrakenAccount {
    const account = accounts.findById(id)
    if (account === undefined) throw new RangeError(`no simulated Kraken account ${id}`)
    account.setWorld(withHoldsEnded(account.world(), nowMs()))
    return account
  }

  return {
    readAccount: (accountId) => readingOf(open(accountId)),
    withdrawRecord(accountId, recordId) {
      const account = open(accountId)
      account.setWorld(withoutEntries(account.world(), new Set([entryNumber(account, recordId)])))
    },
    addLateRecord(accountId, { time, asset, amount }) {
      const account = open(accountId)
      const legs = [{ code: codeOf(asset), amount }]
      const after = withEntries(account.world(), { type: 'deposit', legs }, ticksOf(time))
      account.setWorld(after)
      return ledgerId(account.id, after.next - 1)
    },
    correctRecord(accountId, recordId, { amount, fee, time }) {
      const account = open(accountId)
      const change: EntryChange = {
        ...(amount !== undefined && { amount }),
        ...(fee !== undefined && { fee }),
        ...(time !== undefined && { atTicks: ticksOf(time) }),
      }
      account.setWorld(withCorrection(account.world(), entryNumber(account, recordId), change))
    },
    endHold(accountId, refid, ends) {
      const account = open(accountId)
      const held = account.world().withdrawals.rows.find((row) => idOf(account.id, row.reference) === refid)
      if (held === undefined) throw new RangeError(`no withdrawal ${refid}`)
      const atTicks = Math.floor((nowMs() / 1000) * ticksPerSecond)
      account.setWorld(withHoldEnded(account.world(), held.number, ends, atTicks))
    },
  }
}

function readingOf(account: KrakenAccount): AccountContents {
  const world = account.world()
  return {
    accountId: account.id,
    balances: Object.fromEntries(
      [...world.balances].map(([code, units]) => [code, toShortText(units, getAsset(code).decimals)]),
    ),
    records: {
      Ledgers: world.ledger.rows.map((row) => ({
        id: ledgerId(account.id, row.number),
        body: describeEntry(account, row),
      })),
      TradesHistory: world.trades.rows.map((row) => ({
        id: tradeId(account, row),
        body: describeTrade(account, row, false),
      })),
      DepositStatus: world.deposits.rows.map((row) => ({
        id: idOf(account.id, row.reference),
        body: describeFunding(account, row),
      })),
      WithdrawStatus: world.withdrawals.rows.map((row) => ({
        id: idOf(account.id, row.reference),
        body: describeFunding(account, row),
      })),
    },
  }
}

export function entryNumber(account: KrakenAccount, id: string): number {
  const number = findNumber(account.id, 'L', id)
  if (number === undefined) throw new RangeError(`${id} is not the id of a ledger entry of this account`)
  return number
}

function codeOf(name: string): string {
  return (findAsset(name) ?? inventAsset(name)).code
}

function ticksOf(time: string): number {
  const ms = Date.parse(time)
  if (Number.isNaN(ms)) throw new RangeError(`not a time: ${time}`)
  return Math.floor((ms / 1000) * ticksPerSecond)
}
