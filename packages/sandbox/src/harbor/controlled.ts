/**
 * What the control API can see and change of a simulated Harbor account. `permissions` are the scopes that every token
 * of the account has from now on; an empty list gives back what was asked for, and `none` takes every scope away.
 */
import type { Controlled, NewEntry } from '../control.ts'
import { toShortText } from '../core/units.ts'
import { describeEntry, entryId, publicIdOf, type HarborAccount } from './api.ts'
import { ensureAsset, getAsset } from './assets.ts'
import { withEvents, withoutEntries } from './history.ts'
import type { Harbor } from './index.ts'

export function controlHarbor({ accounts, families }: Harbor, url: string): Controlled {
  return {
    providerId: 'harbor',
    url,
    scenarios: accounts.scenarios,
    mint(scenario, text) {
      const account = accounts.mint(scenario, text)
      // No key to hand out: this is what to choose on Harbor's page.
      return account && { account_id: account.id, credentials: { account: `${scenario}:${text}` } }
    },
    state(id) {
      const account = accounts.findById(id)
      return account && stateOf(account)
    },
    addEntries(id, entries, nowMs, refid) {
      if (refid !== undefined) throw new RangeError('Harbor gives references of its own')
      const account = accounts.findById(id)
      return account && addEntries(account, entries, nowMs)
    },
    withdraw(id, ids) {
      const account = accounts.findById(id)
      return account && withdrawEntries(account, ids)
    },
    changeKey(id, { permissions, revoked, ...ends }) {
      const account = accounts.findById(id)
      if (account === undefined) return undefined
      if (Object.keys(ends).length > 0) throw new RangeError('tokens expire by the clock: move it')
      if (revoked === false) throw new RangeError('what has ended stays ended: sign in again')
      account.key.permissions = permissions ?? account.key.permissions
      if (revoked === true) families.endAll(account.id)
      return { permissions: account.key.permissions, revoked: revoked ?? false }
    },
  }
}

function stateOf(account: HarborAccount): object {
  const { balances, staked, entries } = account.world()
  const toTexts = (units: ReadonlyMap<string, bigint>): object =>
    Object.fromEntries([...units].map(([code, amount]) => [code, toShortText(amount, getAsset(code).decimals)]))
  return {
    account_id: account.id,
    provider_id: 'harbor',
    scenario: account.scenario.name,
    public_account_id: publicIdOf(account),
    key: { permissions: account.key.permissions },
    balances: toTexts(balances),
    staked: toTexts(staked),
    entries: entries.rows.map((row) => describeEntry(account, row)),
  }
}

/** One reference for all of them, and the time, hash and address of the first: they are one happening. */
function addEntries(account: HarborAccount, entries: readonly NewEntry[], nowMs: number): string[] {
  const before = account.world()
  const [first] = entries
  if (entries.some(({ type, subtype }) => type !== first?.type || subtype !== undefined)) {
    throw new RangeError('entries of one reference are of one type here, and there are no subtypes')
  }
  for (const { asset } of entries) ensureAsset(asset)
  const after = withEvents(before, [
    {
      at: first?.time ?? new Date(nowMs).toISOString(),
      kind: first?.type ?? '',
      legs: entries.map(({ asset, amount, fee = '0' }) => ({ asset, amount, fee })),
      passage: { hash: first?.hash ?? null, address: first?.address ?? null },
    },
  ])
  account.setWorld(after)
  return after.entries.rows.filter((row) => row.number >= before.next).map((row) => entryId(account, row))
}

function withdrawEntries(account: HarborAccount, ids: readonly string[]): object {
  const world = account.world()
  const numbers = ids.map((id) => {
    const row = world.entries.rows.find((one) => entryId(account, one) === id)
    if (row === undefined) throw new RangeError(`no entry ${id}`)
    return row.number
  })
  account.setWorld(withoutEntries(world, new Set(numbers)))
  return { withdrawn: ids }
}
