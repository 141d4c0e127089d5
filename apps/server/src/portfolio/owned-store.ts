/**
 * What each of a user's own accounts held at one moment, for claims. A pasted address proves nothing about its owner, so
 * only accounts with a key or a sign-in are looked at.
 *
 * One moment for all of them: coins that were moved from one account to another count once. The history leads to it, and
 * the history is known up to the newest reading that was judged (`proof_balances_at`), which is one run old. A newer
 * reading may contain coins whose arrival is not in the history yet, so it does not lead back. An account that was never
 * judged has only its reading.
 *
 * Most histories lack some kinds of movement. Their sums are right at the readings, and say nothing of the time between
 * two of them: a coin can leave without a record, be counted elsewhere, and come back. So what such an account held is
 * known only within minutes of a reading of its own, as far as that reading found it.
 */
import type { Decimal } from '@assay/core'
import type { Grade } from '../connections/index.ts'
import type { Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import { knownUserText } from './authorized-read-store.ts'
import { dayOf, graded, heldColumns, heldCtes, ledBack, ofConnection, price } from './positions-at-store.ts'

export interface OwnedRequest {
  /** The latest moment that is wanted; undefined for the newest to which all accounts that may count were read. */
  asOf: string | undefined
  /** An account that was not read for this long before the moment that is wanted, or the present, does not count. */
  freshForMs: number
  /** Null for the value of everything in dollars. */
  assetId: string | null
  /** The providers whose lists have every movement of an account. */
  wholeLedgers: readonly string[]
  /** The providers whose balances are known to be their owner's. Accounts of others do not count. */
  claimable: readonly string[]
}

export interface OwnedAccount {
  providerId: string
  fingerprint: string | null
  /** `key`: another key of the same account would have another fingerprint. */
  fingerprintOf: 'account' | 'key'
  /** Of the asset, or of the account; `unprovable` before there is a verdict. */
  grade: Grade
  /** The provider lists every movement, and what it listed is proved at the moment: what had left by then does not count. */
  isFollowed: boolean
  /** False where too little is known of the moment; the amounts are 0 then. */
  isKnown: boolean
  /**
   * At most this much of the asset, or this value of everything that has a price, without spam. Null where it may be
   * more: a record is not settled, and the history may lead back to too little, a balance that was read near the moment
   * is no longer kept, or the price of a known asset is missing or old.
   */
  amount: Decimal | null
  /** At least this much: a reading near the moment found it, or the history has every movement and is proved. */
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
  c.proof_balances_at, c.balances_doubted_at, c.losses_open_at, ${readAt} as read_at,
  coalesce(${readAt} >= ${freshSince}, false) and c.provider_id = any($7::text[]) as may_count`

/**
 * Two accounts are never read in the same second: a refresh of all of them takes up to a few minutes where providers
 * limit calls. Whoever moves a coin from one account to another between such readings can have it counted twice.
 */
const nearMinutes = 5

// The readings around the moment. All balances are read at once, so the change of one of them shows when that was.
// Of the readings in doubt only the newest is known, so up to that one the judged reading alone is believed. One that may
// have lost more than its balances show is judged, so up to the newest of them none is believed.
const nearReadings = `
  select s.connection_key, max(r.at) filter (where r.at <= m.at) as before_at, min(r.at) filter (where r.at > m.at) as after_at
  from moment m cross join (
    select s.connection_key, unnest(array[s.balances_since, s.read_at]) as at from shown s
    union all select a.connection_key, unnest(array[a.before_at, a.before_until, a.next_at]) from around a) r
  join shown s on s.connection_key = r.connection_key
  where ${isOwned} and s.may_count and r.at <= s.read_at
    and (r.at = s.proof_balances_at or r.at > coalesce(s.balances_doubted_at, '-infinity'))
    and r.at > coalesce(s.losses_open_at, '-infinity')
    and r.at between m.at - interval '${nearMinutes} minutes' and m.at + interval '${nearMinutes} minutes'
  group by s.connection_key, m.at`

const total = 'h.liquid + h.staked'
// From the judged reading. A reading of an account with several wallets finds a coin twice that is moved from one to
// another while it is made, and only the sums of the judged reading were looked at.
const fromJudged = 'b.liquid + b.staked'
// The judged reading may be such a one itself. Then it found more than the records come to, and a known cause, such as a
// movement of unknown meaning that happens to have the same amount, does not make that certain.
const recorded = `${fromJudged} - h.excess`
// After midnight the price of the day may not be there yet. The present, or any moment of today, is worth its present
// price, though the moment that is known may have been yesterday.
const isPresent = `coalesce(${dayOf('$3::timestamptz')} = ${dayOf('$2::timestamptz')}, true)`
const unitValue = `coalesce(p.price_in_usd, (
    select c.price_in_usd from current_prices c where c.asset_id = a.id and ${isPresent}))`
// While the source of prices does not answer, the last ones stay. A coin may be worth less since, or more.
const certainValue = `case when a.id = 'fiat:usd' or ${dayOf('m.at')} <> ${dayOf('$2::timestamptz')} and p.price_in_usd is not null
  or exists (
    select from current_prices c where c.asset_id = a.id
      and c.fetched_at >= $2::timestamptz - make_interval(secs => $4::double precision / 1000)) then u.value end`
// A holding without a price is left out of a lower bound. A debt without one may be worth more than all the rest.
const worth = `least(sum(v.value * held.least) filter (where not h.spam),
  case when bool_or(v.value is null and held.least < 0) filter (where not h.spam) then 0 end)`
const isAsked = 'a.id = $5::text'
// Of an asset that was bought with borrowed money, an account holds no more than it could keep if it paid its debts.
const keptWithoutDebts = `case when bool_or(held.least < 0) filter (where not h.spam) then
  trunc(greatest(coalesce(${worth} / nullif(max(v.value) filter (where ${isAsked}), 0), 0), 0), 18) end`

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
  (select min(s.read_at) from shown s where ${isOwned} and s.may_count)), $2)`

const listsEverything = 's.provider_id = any($6::text[])'
// Nothing says since when and for how long a reading that was in doubt was not what it seemed.
const wasNeverInDoubt = 'coalesce(s.balances_doubted_at, s.losses_open_at) is null'
const isFollowed = `(${listsEverything} and ${wasNeverInDoubt} and coalesce(${gradeThen} = 'proved', false))`
const isLedgerProved = `(${listsEverything} and ${wasNeverInDoubt} and h.grade = 'proved' and s.proved_since <= m.at)`

// The loss of an open margin position is in no balance. Such a position costs a fee when it is opened and every four
// hours (support.kraken.com, "Rollover"), which lists with every movement have. What we do not know may be a loan.
const mayHaveOpenLoss = `(${listsEverything} and exists (
  select from transactions t
  where ${ofConnection('t', 's')} and t.occurred_at between m.at - interval '8 hours' and m.at
    and t.category in ('fee', 'other')))`

// Where the history lacks its beginning, the sums begin with what the first reading found, their opening. If both that
// and the judged one found the same coin twice, they add up. A coin can only be found twice while it moves, and the lists
// of such providers have what moves out of the wallet that is read first. The time of a reading is that of its last answer.
const hasOpening = `coalesce((select bool_or(g.opening <> 0) from asset_grades g where ${ofConnection('g', 's')}), true)`
const movedWhileRead = `(${hasOpening} and exists (
  select from unnest(array[s.balances_since, s.read_at]) as kept (at)
  join raw_records w on ${ofConnection('w', 's')}
    and w.occurred_at between kept.at - interval '1 minute' and kept.at + interval '10 seconds'))`

const nearest = 'coalesce(n.before_at, n.after_at)'
// What a reading near the moment found: the same as a reading before it did, or what the history leads back from. Where
// it leads back to more, the rest may have been read elsewhere by then. An asset that is in neither was not found. (Rows
// of observed_balances are thinned out, but never at the newest readings.)
const found = `case when h.before_at is not null and h.before_until >= ${nearest} then h.before
  when n.before_at is null and h.next_at <= n.after_at then least(${total}, h.next_liquid + h.next_staked) else 0 end`

// Where several readings of a day found different balances, only the last stays: an earlier one may have found more.
const isNoLongerKept = `(${isLedgerProved} is not true and coalesce(h.before_until, '-infinity') < ${nearest}
  and h.next_at > ${nearest} and ${dayOf('h.next_at')} = ${dayOf(nearest)})`
// The prices of a day may not have been read yet, and the source may have failed. It has prices of known assets alone.
const mayBeMore = `bool_or(case when $5::text is null
  then (${isNoLongerKept} or v.value is null and held.most > 0) and a.id ~ '^(crypto|fiat):'
  else ${isNoLongerKept} and ${isAsked} end)`

// The judged reading itself may have found a coin twice beside the record of its move.
const heldEarlier = `coalesce((
  select o.liquid + o.staked from observed_balances o
  where ${ofConnection('o', 's')} and o.asset_key = h.asset_key and o.observed_at <= m.at and o.observed_at < s.read_at
  order by o.observed_at desc limit 1), 0)`

const ownedText = knownUserText({
  columns,
  result: `select * from (
    with ${heldCtes({ at: moment, now: '$2' }, { connections: `${isOwned} and s.may_count` }, 'history')},
    near as materialized (${nearReadings}),
    counted as materialized (
      select h.connection_key,
        case when $5::text is null then sum(v.value * held.most) filter (where not h.spam)
          else sum(held.most) filter (where ${isAsked}) end as amount,
        ${mayBeMore} filter (where not h.spam) as may_be_more,
        case when $5::text is null then ${worth}
          else least(sum(held.least) filter (where ${isAsked}), ${keptWithoutDebts}) end as certain
      from moment m cross join (${graded('h.before <> 0 or h.is_derived')}) h
      join shown s on s.connection_key = h.connection_key
      cross join lateral (${ledBack}) b
      left join near n on n.connection_key = h.connection_key
      join assets a on a.asset_key = h.asset_key
      cross join lateral (${price}) p
      cross join lateral (select ${unitValue} as value) u
      cross join lateral (select ${certainValue} as value) v
      cross join lateral (
        select case when ${isLedgerProved} then ${fromJudged} else greatest(${total}, ${fromJudged}, ${found}) end as most,
          least(case when ${isLedgerProved} then ${recorded} else least(${total}, ${recorded}, ${found}) end,
            case when ${isUnsettled('q.asset_key = h.asset_key')} then ${heldEarlier} end) as least) held
      group by h.connection_key
    ), accounts as (
      select s.*, coalesce(${gradeThen}, 'unprovable') as grade, ${isFollowed} as is_followed,
        s.may_count and not ${mayHaveOpenLoss} and not ${movedWhileRead} and (
          ${isFollowed} or n.connection_key is not null and least(s.history_from, s.balances_since) <= m.at) as is_known
      from moment m
      join shown s on ${isOwned}
      left join near n on n.connection_key = s.connection_key
      left join lateral (
        select g.grade from asset_grades g join assets a on a.asset_key = g.asset_key
        where ${ofConnection('g', 's')} and a.id = $5::text) asked on true
    )
    select m.at as as_of, coalesce(json_agg(json_build_object('providerId', s.provider_id,
        'fingerprint', s.account_fingerprint, 'fingerprintOf', coalesce(s.fingerprint_of, 'key'),
        'grade', s.grade, 'isFollowed', s.is_followed, 'isKnown', s.is_known,
        'amount', case when not s.is_known then '0'
          when c.may_be_more is not true and (m.at = s.read_at or not ${isAskedUnsettled})
            then trim_scale(coalesce(c.amount, 0))::text end,
        'certain', trim_scale(coalesce(case when s.is_known then c.certain end, 0))::text
      ) order by s.connection_key) filter (where s.connection_key is not null), '[]') as accounts
    from moment m
    left join accounts s on true
    left join counted c on c.connection_key = s.connection_key
    group by m.at) owned`,
})

export async function listOwned(
  sql: Sql,
  { userKey }: Pick<Owner, 'userKey'>,
  { asOf, freshForMs, assetId, wholeLedgers, claimable }: OwnedRequest,
): Promise<Owned> {
  const values = [userKey, sql.now(), asOf ?? null, freshForMs, assetId, wholeLedgers, claimable]
  const { as_of, accounts } = await sql.row<{ as_of: string; accounts: OwnedAccount[] }>(ownedText, values)
  return { asOf: as_of, accounts }
}
