/** What the control API can see and change of a simulated spot account. Plain terms: decimal text, ISO times. */
import type { Controlled, NewEntry } from '../control.ts'
import { changeKeys, describeKey } from '../core/accounts.ts'
import { toText, withEvent } from './books.ts'
import { balancesOf, bodyOf, recordIdOf, withdrawRecords } from './controls.ts'
import type { SpotAccount, SpotExchange } from './exchange.ts'
import type { AccountEvent } from './story.ts'

export function controlSpot(exchange: SpotExchange, url: string): Controlled {
  const { id: providerId, accounts } = exchange
  return {
    providerId,
    url,
    scenarios: accounts.scenarios,
    mint(scenario, text) {
      const account = accounts.mint(scenario, text)
      return account && { account_id: account.id, credentials: exchange.credentialsOf(account) }
    },
    addKey(id, text) {
      const account = accounts.addKey(id, text)
      return account && { account_id: account.id, credentials: exchange.credentialsOf(account) }
    },
    state(id) {
      const account = accounts.findById(id)
      return account && stateOf(account, exchange)
    },
    addEntries(id, entries, nowMs, refid) {
      if (refid !== undefined) throw new RangeError(`the records of ${providerId} have no reference`)
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

function stateOf(account: SpotAccount, exchange: SpotExchange): object {
  const world = account.world()
  const held = (wallet: 'funding' | 'trading'): object =>
    Object.fromEntries([...world.balances[wallet]].map(([asset, units]) => [asset, toText(units)]))
  return {
    account_id: account.id,
    provider_id: exchange.id,
    scenario: account.scenario.name,
    public_account_id: exchange.publicIdOf(account),
    key: describeKey(account),
    balances: balancesOf(world),
    wallets: { funding: held('funding'), trading: held('trading') },
    records: world.rows.map((row) => ({
      id: recordIdOf(row),
      kind: row.event.kind,
      at: new Date(row.atMs).toISOString(),
      body: bodyOf(row),
    })),
  }
}

/** One deposit, withdrawal, transfer, interest or airdrop; or two entries that are the sides of a conversion. */
function addEntries(account: SpotAccount, entries: readonly NewEntry[], nowMs: number): string {
  const [first] = entries
  const atMs = first?.time === undefined ? nowMs : Date.parse(first.time)
  const event = eventOf(entries)
  account.setWorld(withEvent(account.world(), event, Math.floor(atMs)))
  return `${event.kind} ${account.world().next - 1}`
}

function eventOf(entries: readonly NewEntry[]): AccountEvent {
  const [first, second] = entries
  if (first === undefined || entries.length > 2) throw new RangeError('one entry, or the two sides of a conversion')
  if (second !== undefined) return conversionOf(first, second)
  const { type, asset, amount, fee = '0' } = first
  const size = amount.replace('-', '')
  const network = 'ethereum'
  switch (type) {
    case 'deposit':
      return { kind: 'deposit', asset, amount, network, status: 'done' }
    case 'withdrawal':
      return { kind: 'withdrawal', asset, amount: size, fee, network, status: 'done' }
    case 'transfer':
      // Seen from the trading wallet: a positive amount comes from the funding wallet.
      return { kind: 'transfer', asset, amount: size, to: amount.startsWith('-') ? 'funding' : 'trading' }
    case 'interest':
    case 'airdrop':
      return { kind: 'reward', asset, amount, source: type }
    default:
      throw new RangeError(`no entry of type ${type}: deposit, withdrawal, transfer, interest, airdrop or convert`)
  }
}

function conversionOf(first: NewEntry, second: NewEntry): AccountEvent {
  if (first.type !== 'convert') throw new RangeError('two entries are the sides of a conversion: type convert')
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
