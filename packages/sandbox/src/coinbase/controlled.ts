/**
 * What the control API can see and change of a simulated Coinbase account. Permissions are those of a key: `view`,
 * `trade`, `transfer`, and `other-portfolio` for a key that belongs to a portfolio with nothing in it. How they act on
 * sign-ins is described in `authentication.ts`.
 */
import type { Controlled, NewEntry, RecordChange } from '../control.ts'
import { changeKeys, describeKey } from '../core/accounts.ts'
import { toShortText, toUnits } from '../core/units.ts'
import { userIdOf } from './api/user.ts'
import { describeForControl, transactionIdOf } from './api/transactions.ts'
import { describeWallet } from './api/wallets.ts'
import { toCurrency, unitDecimals } from './assets.ts'
import type { CoinbaseAccount } from './authentication.ts'
import { balanceOf, toTicks, withChangedRow, withEvents, type TransactionRow } from './history.ts'
import { decodeUuid } from './ids.ts'
import type { Coinbase } from './index.ts'
import { currencyCodeOf, type Detail, type Status, type StoryRow } from './story.ts'

const statuses: readonly Status[] = ['completed', 'pending', 'canceled', 'expired', 'failed', 'waiting_for_clearing']

export function controlCoinbase(
  { accounts, families, keyring, tokens }: Coinbase,
  url: string,
  nowMs: () => number,
): Controlled {
  return {
    providerId: 'coinbase',
    url,
    scenarios: accounts.scenarios,
    mint(scenario, text) {
      const account = accounts.mint(scenario, text)
      if (account === undefined) return undefined
      // `account`: what to choose on the sign-in page.
      return { account_id: account.id, credentials: { ...keysOf(account), account: `${scenario}:${text}` } }
    },
    addKey(id, text) {
      const account = accounts.addKey(id, text)
      return account && { account_id: account.id, credentials: keysOf(account) }
    },
    findSignedIn: (token) =>
      (tokens.open('refresh', token) ?? tokens.open('access', token) ?? tokens.open('code', token))?.account,
    state(id) {
      const account = accounts.findById(id)
      return account && stateOf(account, nowMs())
    },
    addEntries(id, entries, atMs, refid) {
      if (refid !== undefined) throw new RangeError('the records of Coinbase have no reference of their own')
      const account = accounts.findById(id)
      return account && addEntries(account, entries, atMs)
    },
    withdraw(id, recordIds) {
      const account = accounts.findById(id)
      return account && withdraw(account, recordIds)
    },
    changeRecord(id, change) {
      const account = accounts.findById(id)
      return account && changeRecord(account, change, nowMs())
    },
    changeKey(id, change) {
      // Ended tokens stay ended. A later sign-in starts fresh.
      if (change.revoked === true) families.endAll(id)
      return changeKeys(accounts.listKeys(id), change)
    },
  }

  function keysOf({ scenario, keyNumber }: CoinbaseAccount): Record<string, string> {
    const ecdsa = keyring.keyOf('ES256', scenario.name, keyNumber)
    const ed25519 = keyring.keyOf('EdDSA', scenario.name, keyNumber)
    return {
      api_key: ecdsa.name,
      secret_key: ecdsa.secret,
      ed25519_api_key: ed25519.name,
      ed25519_secret_key: ed25519.secret,
    }
  }
}

/** `balances` adds up the wallets of a currency; `wallets` has each of them, and `transactions` the oldest first. */
function stateOf(account: CoinbaseAccount, nowMs: number): object {
  const { wallets, unused } = account.world()
  const sums = new Map<string, bigint>()
  for (const wallet of wallets) {
    const { code } = wallet.currency
    sums.set(code, (sums.get(code) ?? 0n) + balanceOf(wallet, nowMs))
  }
  return {
    account_id: account.id,
    provider_id: 'coinbase',
    scenario: account.scenario.name,
    public_account_id: userIdOf(account),
    key: describeKey(account),
    balances: Object.fromEntries([...sums].map(([code, units]) => [code, toShortText(units, unitDecimals)])),
    wallets: [...wallets, ...unused].map((one) => describeWallet(account, one, nowMs)),
    transactions: wallets
      .flatMap((wallet) => wallet.rows.rows.map((row) => ({ wallet, row })))
      .toSorted((a, b) => a.row.atTicks - b.row.atTicks || a.row.number - b.row.number)
      .map(({ wallet, row }) => describeForControl(account, wallet, row, nowMs)),
  }
}

/** One event, at the time of the first entry. `asset` names a wallet: "BTC", or "SOL/staked". */
function addEntries(account: CoinbaseAccount, entries: readonly NewEntry[], nowMs: number): string[] {
  const before = account.world()
  const at = entries[0]?.time ?? new Date(nowMs).toISOString()
  const after = withEvents(before, [{ at, rows: entries.map(toStoryRow) }])
  account.setWorld(after)
  return after.wallets
    .flatMap(({ rows }) => rows.rows.filter(({ number }) => number >= before.next))
    .toSorted((a, b) => a.number - b.number)
    .map((row) => transactionIdOf(account, row))
}

/** A fee is inside the amount here, as at Coinbase. The names that other simulators use are accepted, too. */
function toStoryRow({ type, asset, amount, fee = '0', hash, address }: NewEntry): StoryRow {
  const currency = toCurrency(currencyCodeOf(asset))
  const own: Readonly<Record<string, string>> = {
    deposit: currency.isFiat ? 'fiat_deposit' : 'send',
    withdrawal: currency.isFiat ? 'fiat_withdrawal' : 'send',
    reward: 'staking_reward',
    swap: 'trade',
  }
  const named = own[type] ?? type
  const moved = toUnits(amount, unitDecimals) - toUnits(fee, unitDecimals)
  return {
    wallet: asset,
    type: named,
    amount: toShortText(moved, unitDecimals),
    ...detailOf(named, currency, {
      fee,
      ...(hash !== undefined && { hash }),
      ...(address !== undefined && { address }),
    }),
  }
}

function detailOf(
  type: string,
  { network, code }: { network: string; code: string },
  { fee, ...chain }: { fee: string; hash?: string; address?: string },
): { detail?: Detail } {
  if (type === 'trade') return { detail: { kind: 'trade', method: `${code} Wallet` } }
  if (type === 'fiat_deposit' || type === 'fiat_withdrawal') return { detail: { kind: 'bank' } }
  if (type !== 'send' && type !== 'receive') return {}
  return { detail: { kind: 'chain', network, ...chain, ...(fee !== '0' && { fee }) } }
}

/** All of them or none: throws a RangeError when one is unknown, or when a wallet would become negative. */
function withdraw(account: CoinbaseAccount, ids: readonly string[]): object {
  let world = account.world()
  for (const id of ids) {
    const number = decodeUuid(account.id, 'transaction', id)
    const after =
      number === undefined ? undefined : withChangedRow(world, number, (row) => ({ ...row, isWithdrawn: true }))
    if (after === undefined) throw new RangeError(`no transaction ${id}`)
    world = after
  }
  account.setWorld(world)
  return { withdrawn: ids }
}

/** Throws a RangeError when a wallet would become negative. */
function changeRecord(account: CoinbaseAccount, change: RecordChange, nowMs: number): object | undefined {
  const number = decodeUuid(account.id, 'transaction', change.id)
  if (number === undefined) return undefined
  const status = statuses.find((one) => one === change.status)
  if (change.status !== undefined && status === undefined) throw new RangeError(`no status ${change.status}`)
  const correct = (row: TransactionRow): TransactionRow => ({
    ...row,
    isWithdrawn: change.withdrawn ?? row.isWithdrawn,
    amount: change.amount === undefined ? row.amount : toUnits(change.amount, unitDecimals),
    type: change.type ?? row.type,
    atTicks: change.time === undefined ? row.atTicks : toTicks(change.time),
    status: status ?? row.status,
    // A status that is set here is final.
    settles: status === undefined ? row.settles : undefined,
  })
  const after = withChangedRow(account.world(), number, correct)
  if (after === undefined) return undefined
  account.setWorld(after)
  const wallet = after.wallets.find(({ rows }) => rows.find(number) !== undefined)
  const row = wallet?.rows.find(number)
  return wallet && row && describeForControl(account, wallet, row, nowMs)
}
