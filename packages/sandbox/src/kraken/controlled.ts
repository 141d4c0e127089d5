/**
 * What the control API can see and change of a simulated Kraken account. Amounts are decimal text, and ids are those on
 * the wire.
 */
import type { Controlled, Minted, NewEntry } from '../control.ts'
import { changeKeys, describeKey } from '../core/accounts.ts'
import { ticksPerSecond } from '../core/timeline.ts'
import { toShortText } from '../core/units.ts'
import { allocationsOf, publicAccountId } from './api/account-data.ts'
import { findAsset, getAsset, inventAsset } from './assets.ts'
import type { KrakenAccount } from './authentication.ts'
import { entryNumber } from './controls.ts'
import { describeFunding } from './api/funding.ts'
import { withEntries } from './history.ts'
import { ledgerId } from './rows.ts'
import type { Kraken } from './index.ts'
import { describeEntry, describeTrade, tradeId } from './api/ledgers.ts'
import { withHoldsEnded, withoutEntries } from './revisions.ts'

export function controlKraken({ accounts }: Kraken, url: string, nowMs: () => number): Controlled {
  return {
    providerId: 'kraken',
    url,
    scenarios: accounts.scenarios,
    mint(scenario, text) {
      const account = accounts.mint(scenario, text)
      return account && toMinted(account)
    },
    addKey(id, text) {
      const account = accounts.addKey(id, text)
      return account && toMinted(account)
    },
    state(id) {
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      account.setWorld(withHoldsEnded(account.world(), nowMs()))
      return stateOf(account, nowMs())
    },
    addEntries(id, entries, atMs, refid) {
      const account = accounts.findById(id)
      return account && addEntries(account, entries, atMs, refid)
    },
    withdraw(id, ids) {
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      account.setWorld(withoutEntries(account.world(), new Set(ids.map((one) => entryNumber(account, one)))))
      return { withdrawn: ids }
    },
    changeKey: (id, change) => changeKeys(accounts.listKeys(id), change),
  }
}

function toMinted({ id, credentials: { apiKey, secret } }: KrakenAccount): Minted {
  return { account_id: id, credentials: { api_key: apiKey, secret_key: secret } }
}

function stateOf(account: KrakenAccount, nowMs: number): object {
  const world = account.world()
  const short = (units: bigint, code: string): string => toShortText(units, getAsset(code).decimals)
  return {
    account_id: account.id,
    provider_id: 'kraken',
    scenario: account.scenario.name,
    public_account_id: publicAccountId(account.id),
    key: describeKey(account),
    balances: Object.fromEntries([...world.balances].map(([code, units]) => [code, short(units, code)])),
    ledger: world.ledger.rows.map((row) => ({ id: ledgerId(account.id, row.number), ...describeEntry(account, row) })),
    trades: world.trades.rows.map((row) => ({ id: tradeId(account, row), ...describeTrade(account, row, true) })),
    deposits: world.deposits.rows.map((row) => describeFunding(account, row)),
    withdrawals: world.withdrawals.rows.map((row) => describeFunding(account, row)),
    earn_allocations: allocationsOf(world, nowMs).map(({ strategy, units, rewarded }) => ({
      strategy_id: strategy.id,
      asset: strategy.asset,
      code: strategy.code,
      amount: short(units, strategy.code),
      rewarded: short(rewarded, strategy.code),
    })),
  }
}

/** One reference for all of them, and the time of the first: they are one event. */
function addEntries(account: KrakenAccount, entries: readonly NewEntry[], nowMs: number, refid?: string): string[] {
  const before = account.world()
  const [first] = entries
  const atMs = first?.time === undefined ? nowMs : Date.parse(first.time)
  const legs = entries.map((entry) => {
    const asset = findAsset(entry.asset) ?? inventAsset(entry.asset)
    const { type, amount } = entry
    return { code: asset.code, type, amount, subtype: entry.subtype ?? '', fee: entry.fee ?? '0' }
  })
  const atTicks = Math.floor((atMs / 1000) * ticksPerSecond)
  const after = withEntries(before, { type: first?.type ?? '', legs }, atTicks, refid)
  account.setWorld(after)
  return after.ledger.rows.filter((row) => row.number >= before.next).map((row) => ledgerId(account.id, row.number))
}
