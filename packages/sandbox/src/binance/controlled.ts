/**
 * What the control API can see and change of a simulated Binance account. Plain terms: decimal text, ids as on the
 * wire.
 */
import type { Controlled, Minted, NewEntry } from '../control.ts'
import { changeKeys, describeKey } from '../core/accounts.ts'
import { toBinanceKey, type BinanceAccount } from './authentication.ts'
import { balancesOf, describeRow, recordIdOf, withdrawRecords } from './controls.ts'
import { withEvent } from './history.ts'
import { uidOf } from './rows.ts'
import type { Binance } from './index.ts'
import type { AccountEvent } from './story.ts'
import { ensureAsset } from './api/symbols.ts'

export function controlBinance({ accounts }: Binance, url: string): Controlled {
  return {
    providerId: 'binance',
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
      return account && stateOf(account)
    },
    addEntries(id, entries, nowMs, refid) {
      if (refid !== undefined) throw new RangeError('the records of Binance have no reference')
      const account = accounts.findById(id)
      return account && [addEntries(account, entries, nowMs)]
    },
    withdraw(id, ids) {
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      withdrawRecords(account, ids)
      return { withdrawn: ids }
    },
    changeKey: (id, change) => changeKeys(accounts.listKeys(id), change),
  }
}

function toMinted({ id, credentials }: BinanceAccount): Minted {
  const { apiKey, secret } = toBinanceKey(credentials)
  return { account_id: id, credentials: { api_key: apiKey, secret_key: secret } }
}

function stateOf(account: BinanceAccount): object {
  const world = account.world()
  const plain = (row: (typeof world.rows)[number]): object => {
    const described = Object.entries(describeRow(account.id, row)).map(([name, value]: [string, unknown]) => [
      name,
      typeof value === 'bigint' ? value.toString() : value,
    ])
    return {
      id: recordIdOf(row),
      kind: row.event.kind,
      at: new Date(row.atMs).toISOString(),
      body: Object.fromEntries(described) as object,
    }
  }
  return {
    account_id: account.id,
    provider_id: 'binance',
    scenario: account.scenario.name,
    public_account_id: String(uidOf(account.id)),
    key: describeKey(account),
    balances: balancesOf(world),
    records: world.rows.map(plain),
  }
}

/** One deposit, withdrawal or dividend; or two entries that are the sides of a conversion. */
function addEntries(account: BinanceAccount, entries: readonly NewEntry[], nowMs: number): string {
  const [first] = entries
  const atMs = first?.time === undefined ? nowMs : Date.parse(first.time)
  const event = eventOf(entries)
  for (const { asset } of entries) ensureAsset(asset)
  const after = withEvent(account.world(), event, atMs)
  account.setWorld(after)
  return `${event.kind} ${after.next - 1}`
}

function eventOf(entries: readonly NewEntry[]): AccountEvent {
  const [first, second] = entries
  if (first === undefined || entries.length > 2) throw new RangeError('one entry, or the two sides of a conversion')
  const { type, asset, amount, fee = '0' } = first
  if (second !== undefined) {
    if (type !== 'convert') throw new RangeError('two entries are the sides of a conversion: type convert')
    const given = [first, second].find((entry) => entry.amount.startsWith('-'))
    const taken = [first, second].find((entry) => entry !== given)
    if (given === undefined || taken === undefined) throw new RangeError('one side of a conversion is negative')
    return {
      kind: 'convert',
      fromAsset: given.asset,
      fromAmount: given.amount.slice(1),
      toAsset: taken.asset,
      toAmount: taken.amount,
    }
  }
  if (type === 'deposit') return { kind: 'deposit', coin: asset, amount, network: asset, status: 1 }
  if (type === 'withdrawal') {
    return { kind: 'withdrawal', coin: asset, amount: amount.replace('-', ''), fee, network: asset, status: 6 }
  }
  if (type === 'dividend') {
    const direction = amount.startsWith('-') ? -1 : 1
    return { kind: 'dividend', asset, amount: amount.replace('-', ''), info: 'Distribution', direction }
  }
  throw new RangeError(`${type} cannot be booked here; deposit, withdrawal, dividend and convert can`)
}
