/**
 * How often we may call a provider, shared by the whole fleet. A bucket belongs to a key, or to our address where the
 * provider counts addresses; a call has to fit into every bucket that its cost names. A job waits briefly for its
 * tokens; for a longer wait it goes back to the queue.
 *
 * Many exchanges count keys or accounts too, and a limit error rarely says which. In a bucket of our address it first
 * slows the refused key alone, in a bucket of the key's own. The address is slowed when the provider says that it is
 * meant, or when a key of a second user is refused as well.
 */
import { hourMs, SourceError } from '@assay/core'
import type { Bucket, Connector, Cost, ProviderDefinition, Spent } from '@assay/connectors'
import type { Database, Sql } from '../db/index.ts'
import * as store from './budget-store.ts'
import type { CallAdmission, BucketRequest, CallRequest } from './budget-store.ts'

export interface Metered {
  connector: Pick<Connector, 'providerId' | 'budget'>
  /** Absent where nothing is listed, as at the source of prices. */
  definition?: Pick<ProviderDefinition, 'streams'>
  keyLane: string
}

interface Caller {
  /** True when a person waits. */
  interactive: boolean
  /** False for a key that is being checked. */
  isVerified?: boolean
}

export interface LimitError {
  /** How long the provider asked us to wait. */
  forMs: number
  /** The provider counts our address. */
  isOfAddress: boolean
  /** Null for a key that is being checked: its limit errors concern it alone. */
  userKey: string | null
}

export interface Budgets {
  /** Throws OverBudget when the wait is too long for a job. */
  take(of: Metered, cost: Cost, by: Caller): Promise<void>
  /**
   * The same for a call to a provider, with all other conditions. It waits only for the budget, unless `mayWait` is
   * false; `waitMs` is above zero when that wait is too long for a job.
   */
  admit(
    of: Metered,
    cost: Cost,
    by: Caller & { mayWait: boolean },
    call: () => Pick<CallRequest, 'providerId' | 'nonces'>,
  ): Promise<Admission>
  /** The provider itself said "too many" to a call of this cost. It does not say which of its buckets is empty. */
  recordLimitError(of: Metered, cost: Cost, error: LimitError): Promise<void>
  /** The provider says what it has counted; `left` is what we believed to be left after that call, by bucket. */
  recordSpent(of: Metered, left: ReadonlyMap<string, number>, spent: readonly Spent[]): Promise<void>
  /** The key is not used. */
  forget(sql: Sql, of: Metered): Promise<void>
}

/** Our own budget is used up, although the provider did not refuse. Nothing is wrong, and the job comes back later. */
export class OverBudget extends SourceError {
  constructor(retryAfterMs: number) {
    super('rate_limited', 'our own budget for this provider is used up', { retryAfterMs })
    this.name = 'OverBudget'
  }
}

/** A waiting job holds its lane and a slot of its worker. After this long it gives them up. */
const waitInJobMaxMs = 1_000

/**
 * Where a provider counts all calls from our address together, background jobs leave this share of the bucket to people
 * who add a key or refresh, and at least the price of the dearest call. With less, the background would take each token
 * before there are enough of them for that call. A key's own bucket needs no share: its jobs run one after another.
 */
const interactiveShare = 0.2

/**
 * Over time people leave this share of such a bucket to the background: their calls also pass through a second bucket,
 * which is refilled more slowly. Users who ask without end would otherwise take each token before there are enough of
 * them for a background job, which has to leave some to people, and no account of that provider would be read.
 */
const backgroundShare = 0.2

export interface Admission extends CallAdmission {
  /** By the monotonic clock: when PostgreSQL was asked. Its answer may have been true no longer than that. */
  askedMs: number
}

export interface BudgetDeps {
  db: Database
  egress: string
  /** A test's own clock; otherwise the process's. */
  monotonicMs?(this: void): number
}

export function createBudgets({ db, egress, monotonicMs = () => performance.now() }: BudgetDeps): Budgets {
  const { ownKeyOf, keyOf, keyOfPeople, toRequests } = nameBuckets(egress)
  return {
    async take(of, cost, by) {
      const buckets = toRequests(of, cost, by)
      const { waitMs } = await waitFor(async () => {
        const taken = await store.takeTokens(db, buckets)
        return { ...taken, isOver: taken.waitMs === 0 }
      })
      if (waitMs > 0) throw new OverBudget(waitMs)
    },
    admit(of, cost, by, call) {
      const buckets = toRequests(of, cost, by)
      return waitFor(async () => {
        const askedMs = monotonicMs()
        const admission = await store.admitCall(db, { buckets, keyLane: of.keyLane, ...call() })
        const { waitMs, holdsKey, circuit } = admission
        const isBarred = circuit?.open === true && circuit.wait_ms > 0
        return { ...admission, askedMs, isOver: waitMs === 0 || !by.mayWait || !holdsKey || isBarred }
      })
    },
    async recordLimitError(of, cost, { forMs, userKey, ...error }) {
      for (const { bucket } of listCharged(of, cost)) {
        const isOfAddress = error.isOfAddress || bucket.keyless === true
        const lower = (key: string): Promise<void> =>
          store.lowerTier(db, key, bucket.tiers.length, Math.min(forMs, blockMaxMs))
        if (bucket.scope === 'key' || !isOfAddress) await lower(ownKeyOf(of, bucket))
        if (bucket.scope === 'key') continue
        const shared = keyOf(of, bucket)
        if (!isOfAddress && (userKey === null || !(await store.noteLimited(db, shared, userKey)))) continue
        await lower(shared)
        // People's share of the lower rate, for as long as the address has it: both recover from the end of the wait.
        const full = Math.max(...bucket.tiers.map(({ capacity }) => capacity))
        await store.lowerTier(db, keyOfPeople(of, bucket), bucket.tiers.length, Math.min(forMs, blockMaxMs), full)
      }
    },
    async recordSpent(of, left, spent) {
      for (const { bucket: name, used } of spent) {
        const bucket = of.connector.budget.buckets.find((one) => one.name === name)
        if (bucket === undefined) throw new RangeError(`${of.connector.providerId} has no bucket ${name}`)
        const key = keyOf(of, bucket)
        const capacities = bucket.tiers.map(({ capacity }) => capacity)
        // Other calls may be under way that the provider has not counted yet, so its count only takes tokens away.
        if ((left.get(key) ?? Infinity) + used <= Math.min(...capacities)) continue
        const refills = bucket.tiers.map(({ refillPerSecond }) => refillPerSecond)
        await store.followSpent(db, { key, capacities, refills }, used)
      }
    },
    async forget(sql, of) {
      const buckets = of.connector.budget.buckets.map((bucket) => ownKeyOf(of, bucket))
      await store.forgetKey(sql, of.keyLane, buckets)
    },
  }
}

/** The rows of the buckets that calls pass through, and what a call takes from each. */
function nameBuckets(egress: string) {
  const ownKeyOf = ({ connector: { providerId }, keyLane }: Metered, { name }: Bucket): string =>
    `${providerId}:${name}:key:${keyLane}`
  const keyOf = (of: Metered, bucket: Bucket): string =>
    bucket.scope === 'key' ? ownKeyOf(of, bucket) : `${of.connector.providerId}:${bucket.name}:address:${egress}`
  const keyOfPeople = ({ connector: { providerId } }: Metered, { name }: Bucket): string =>
    `${providerId}:${name}:people:${egress}`

  function toRequests(of: Metered, cost: Cost, { interactive, isVerified = true }: Caller): BucketRequest[] {
    return listCharged(of, cost).flatMap(({ bucket, cost: tokens }): BucketRequest[] => {
      const capacities = bucket.tiers.map(({ capacity }) => capacity)
      const refills = bucket.tiers.map(({ refillPerSecond }) => refillPerSecond)
      const none = capacities.map(() => 0)
      const own = { key: ownKeyOf(of, bucket), capacities, refills, cost: tokens, reserves: none }
      if (bucket.scope === 'key') return [own]
      const dearest = interactive ? undefined : findDearest(of, bucket)
      const reserves =
        dearest === undefined ? none : capacities.map((capacity) => Math.max(interactiveShare * capacity, dearest))
      const ofPeople = {
        ...own,
        key: keyOfPeople(of, bucket),
        refills: refills.map((refill) => refill * (1 - backgroundShare)),
        // A person who adds a key gives up after some seconds, and a refresh may come later. A check of an EVM wallet
        // needs half of the bucket at once: refreshes, which take one token after the other, would leave none.
        reserves: isVerified ? capacities.map(() => of.connector.budget.verify[bucket.name] ?? 0) : none,
      }
      return [
        { ...own, key: keyOf(of, bucket), reserves, mayTry: isVerified },
        ...(interactive ? [ofPeople] : []),
        { ...own, isLazy: true },
      ]
    })
  }

  return { ownKeyOf, keyOf, keyOfPeople, toRequests }
}

/** What the dearest call takes from a bucket. People who refresh wait for pages of lists, too. */
function findDearest({ connector: { budget }, definition }: Metered, { name }: Bucket): number {
  const pages = definition?.streams.map(({ cost }) => cost) ?? []
  return Math.max(...[budget.verify, budget.balances, budget.partitions, ...pages].map((cost) => cost[name] ?? 0))
}

/** A call that costs nothing in a bucket still passes through it, because the provider may have told us to wait. */
function listCharged({ connector }: Metered, cost: Cost): { bucket: Bucket; cost: number }[] {
  return Object.entries(cost).map(([name, tokens]) => {
    const bucket = connector.budget.buckets.find((one) => one.name === name)
    if (bucket === undefined) throw new RangeError(`${connector.providerId} has no bucket ${JSON.stringify(name)}`)
    return { bucket, cost: tokens }
  })
}

/**
 * After this long a call tries again, even if the provider named a later time. A ban may last for days (Binance) or be
 * lifted early, the header may be wrong, and all users of an address wait together.
 */
const blockMaxMs = hourMs

/** Retries for as long as a job may wait. */
async function waitFor<T extends { waitMs: number; isOver: boolean }>(attempt: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + waitInJobMaxMs
  for (;;) {
    const attempted = await attempt()
    if (attempted.isOver || performance.now() + attempted.waitMs > giveUpAt) return attempted
    await new Promise((resolve) => setTimeout(resolve, attempted.waitMs))
  }
}
