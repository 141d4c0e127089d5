/**
 * What a bearer token reads: /v1/me, /v1/balances, /v1/entries. Truth: API.md beside this file.
 *
 * A cursor names the row that comes next, not a distance from the newest: rows that are booked while somebody reads
 * neither hide one nor show one twice. It is encoded under its account, `from` and `to`, so it opens for no others.
 */
import type { Account, Accounts } from '../core/accounts.ts'
import { decodeNumber, encodeNumber, hexOf } from '../core/ids.ts'
import type { CallContext } from '../core/provider-server.ts'
import type { Range } from '../core/timeline.ts'
import { toShortText } from '../core/units.ts'
import { getAsset } from './assets.ts'
import { toIso, toTicks, type EntryRow, type World } from './history.ts'
import type { Story } from './story.ts'
import { HarborRefusal } from './wire.ts'

export type HarborAccount = Account<Story, World>
export type HarborAccounts = Accounts<Story, World>

const pageSizeMax = 100
const isoShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z$/

export function publicIdOf(account: HarborAccount): string {
  return `hbr_${hexOf(account.id, 'public', 0, 20)}`
}

export function me(account: HarborAccount, scopes: readonly string[]): object {
  return { id: publicIdOf(account), name: `${account.scenario.title} ${account.number.slice(0, 4)}`, scopes }
}

/** Every asset that was ever held, also what is gone. */
export function balances(account: HarborAccount): object {
  const { balances: held, staked } = account.world()
  return {
    balances: [...held].map(([code, units]) => {
      const { name, decimals } = getAsset(code)
      const inStake = staked.get(code) ?? 0n
      return {
        asset: code,
        name,
        available: toShortText(units - inStake, decimals),
        staked: toShortText(inStake, decimals),
      }
    }),
  }
}

export interface EntriesPage {
  entries: Entry[]
  next: string | null
}

export function entries(account: HarborAccount, query: URLSearchParams, context: CallContext): EntriesPage {
  const range = { ...boundOf(query, 'from', 'afterTicks'), ...boundOf(query, 'to', 'untilTicks') }
  const question = `cursor ${range.afterTicks ?? ''} ${range.untilTicks ?? ''}`
  const size = pageSizeOf(query)
  const timeline = account.world().entries
  const whole = timeline.view(range)
  const cursor = query.get('cursor')
  let rest = whole
  if (cursor !== null) {
    const untilNumber = decodeNumber(account.id, question, cursor)
    if (untilNumber === undefined) throw new HarborRefusal('invalid_request')
    rest = timeline.view({ ...range, untilNumber })
  }
  const [following] = rest.cut(size, 1)
  const rows = context.cutPage(whole, whole.count - rest.count, size)
  return {
    entries: rows.map((row) => describeEntry(account, row)),
    next: following === undefined ? null : encodeNumber(account.id, question, following.number),
  }
}

type Entry = ReturnType<typeof describeEntry>

export function describeEntry(account: HarborAccount, row: EntryRow) {
  const { decimals } = getAsset(row.asset)
  return {
    id: entryId(account, row),
    reference: `r_${encodeNumber(account.id, 'reference', row.reference)}`,
    time: toIso(row.atTicks),
    kind: row.kind,
    asset: row.asset,
    amount: toShortText(row.amount, decimals),
    fee: toShortText(row.fee, decimals),
    ...passageOf(account, row),
  }
}

export function entryId(account: HarborAccount, row: EntryRow): string {
  return `e_${encodeNumber(account.id, 'entry', row.number)}`
}

/** Looks like its network's and is nobody's. */
function passageOf(account: HarborAccount, row: EntryRow): { hash: string | null; address: string | null } {
  const { passage, kind, reference } = row
  if (passage === undefined) return { hash: null, address: null }
  if ('hash' in passage) return passage
  const { network, batch = String(reference) } = passage
  const hash = hexOf(account.id, `transaction/${batch}`, 0, 64)
  // One address of the person's for each network on the way in, three of theirs on the way out.
  const which = kind === 'deposit' ? 0 : 1 + (reference % 3)
  const address = hexOf(account.id, `address/${network}`, which, 40)
  if (network === 'Ethereum') return { hash: `0x${hash}`, address: `0x${address}` }
  return {
    hash,
    address: network === 'Bitcoin' ? `bc1qharbor${address.slice(0, 32)}` : `harbor1${address.slice(0, 32)}`,
  }
}

/** `from` is included and `to` is not; a timeline's bounds are the other way round. */
function boundOf(query: URLSearchParams, name: 'from' | 'to', bound: 'afterTicks' | 'untilTicks'): Range {
  const text = query.get(name)
  if (text === null) return {}
  if (!isoShape.test(text) || Number.isNaN(Date.parse(text))) throw new HarborRefusal('invalid_request')
  return { [bound]: toTicks(text) - 1 }
}

function pageSizeOf(query: URLSearchParams): number {
  const text = query.get('limit') ?? String(pageSizeMax)
  const size = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (size < 1 || size > pageSizeMax) throw new HarborRefusal('invalid_request')
  return size
}
