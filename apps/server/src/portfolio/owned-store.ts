/**
 * What each of a user's own accounts held at one moment, for claims. A pasted address proves nothing about its owner, so
 * only accounts with a key or a sign-in are looked at.
 *
 * One moment for all of them: coins that were moved from one account to another count once. The history leads to it, and
 * the history is known up to the newest reading that was judged (`proof_balances_at`), which is one run old. A newer
 * reading may contain coins whose arrival is not in the history yet, so it does not lead back. An account that was never
 * judged has only its reading.
 */
import type { Decimal } from '@assay/core'
import type { Grade } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import { knownUserText } from './authorized-read-store.ts'
import { dayOf, graded, heldColumns, heldCtes, ofConnection, price } from './positions-at-store.ts'

export interface OwnedRequest {
  /** The latest moment that is wanted; undefined for the newest to which all accounts that are fresh were read. */
  asOf: string | undefined
  /** An account that was not read for this long before the moment that is wanted, or the present, is not fresh. */
  freshForMs: number
  /** Null for the value of everything in dollars. */
  assetId: string | null
}

export interface OwnedAccount {
  providerId: string
  fingerprint: string | null
  /** `key`: another key of the same account would have another fingerprint. */
  fingerprintOf: 'account' | 'key'
  /** Of the asset, or of the account; `unprovable` before there is a verdict. */
  grade: Grade
  /** False where nothing is known of the moment; the amounts are 0 then. */
  isFresh: boolean
  /**
   * The amount of the asset, or the value of everything that has a price, without spam. Null where it may be more: a
   * record is not settled, and the history may lead back to too little.
   */
  amount: Decimal | null
  /**
   * The same, where an asset that is not proved, or was not yet at that moment, counts only as far as a reading before
   * the moment found it: what came since may be missing from the history, which then leads back to too much.
   */
  certain: Decimal
}

export interface Owned {
  /** The moment that all amounts are about. */
  asOf: string
  accounts: OwnedAccount[]
}

const isOwned = `s.connection_type in ('api_key', 'oauth2')`
const readAt = 'coalesce(c.proof_balances_at, c.balances_at)'
// PostgreSQL has years before the first that ISO 8601 writes with four digits.
const freshSince = `coalesce($3::timestamptz, $2) - make_interval(secs => $4::double precision / 1000)`
const columns = `${heldColumns}, c.connection_type, c.proof_grade, c.account_fingerprint, c.fingerprint_of,
  ${readAt} as read_at, coalesce(${readAt} >= ${freshSince}, false) as is_fresh`

const total = 'h.liquid + h.staked'
// After midnight the price of the day may not be there yet. The present, or any moment of today, is worth its present
// price, though the moment that is known may have been yesterday.
const isPresent = `coalesce(${dayOf('$3::timestamptz')} = ${dayOf('$2::timestamptz')}, true)`
const unitValue = `case when $5::text is null then coalesce(p.price_in_usd, (
    select c.price_in_usd from current_prices c where c.asset_id = a.id and ${isPresent})) else 1 end`
const isCounted = 'case when $5::text is null then not h.spam else a.id = $5::text end'

// As in positions-at-store.ts, for the account. Where the history reaches the beginning, there was nothing before it.
const grade = 'coalesce(asked.grade, s.proof_grade)'
const gradeThen = `case when ${grade} = 'open' or s.proved_since is not distinct from s.history_from
  or coalesce(s.proved_since, s.balances_since) <= m.at then ${grade} end`

// A record within seconds of the judged reading may or may not be in it: the verdict is provisional, and due from the
// millisecond after the reading (`keepDue` in proof/store.ts). A record that came after the verdict with an earlier time
// makes it due from that time. The history would lead back through a movement that the reading does not contain.
const isUnsettled = (asset: string): string => `exists (
  select from due_verdicts q
  where ${ofConnection('q', 's')} and ${asset} and q.since <= s.read_at + interval '1 millisecond')`
const isAskedUnsettled = isUnsettled(
  '($5::text is null or q.asset_key = (select a.asset_key from assets a where a.id = $5::text))',
)

const moment = `coalesce(least($3::timestamptz,
  (select min(s.read_at) from shown s where ${isOwned} and s.is_fresh)), $2)`

const ownedText = knownUserText({
  columns,
  result: `select * from (
    with recursive ${heldCtes({ at: moment, now: '$2' }, `${isOwned} and s.is_fresh`, 'history')},
    counted as (
      select h.connection_key, sum(u.value * (${total})) as amount,
        sum(u.value * case when h.grade = 'proved' and s.proved_since <= m.at and not ${isUnsettled('q.asset_key = h.asset_key')}
            then ${total}
          else least(${total}, h.before) end) as certain
      from moment m cross join (${graded}) h
      join shown s on s.connection_key = h.connection_key
      join assets a on a.asset_key = h.asset_key
      cross join lateral (${price}) p
      cross join lateral (select ${unitValue} as value) u
      where ${isCounted} group by h.connection_key
    )
    select m.at as as_of, coalesce(json_agg(json_build_object('providerId', s.provider_id,
        'fingerprint', s.account_fingerprint, 'fingerprintOf', coalesce(s.fingerprint_of, 'key'),
        'grade', coalesce(${gradeThen}, 'unprovable'), 'isFresh', s.is_fresh,
        'amount', case when m.at = s.read_at or not ${isAskedUnsettled}
          then trim_scale(coalesce(c.amount, 0))::text end,
        'certain', trim_scale(coalesce(c.certain, 0))::text
      ) order by s.connection_key) filter (where s.connection_key is not null), '[]') as accounts
    from moment m
    left join shown s on ${isOwned}
    left join counted c on c.connection_key = s.connection_key
    left join lateral (
      select g.grade from asset_grades g join assets a on a.asset_key = g.asset_key
      where ${ofConnection('g', 's')} and a.id = $5::text) asked on true
    group by m.at) owned`,
})

export async function listOwned(
  sql: Sql,
  { userKey }: Pick<Owner, 'userKey'>,
  { asOf, freshForMs, assetId }: OwnedRequest,
): Promise<Owned> {
  const values = [userKey, sql.now(), asOf ?? null, freshForMs, assetId]
  const { as_of, accounts } = await sql.row<{ as_of: string; accounts: OwnedAccount[] }>(ownedText, values)
  return { asOf: as_of, accounts }
}
