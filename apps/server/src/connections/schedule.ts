/**
 * How often a connection is read: often while an application reads the data, rarely otherwise. A person who connects an
 * account looks at it, so a connection counts as read when it is added.
 *
 * The interval is computed in SQL, by the statement that plans the next run: it must see a user who came back a moment
 * ago. For a user who comes back later, `onUserAccesses` shortens the plan.
 */

export interface Schedule {
  /** A user whose data was read within this time is active. */
  activeForMs: number
  /** A user whose data was read within this time, but who is not active, is recent; every other user is idle. */
  recentForMs: number
  activeEveryMs: number
  /** Also for users of a tenant that has a webhook, because that tenant expects to hear of changes. */
  recentEveryMs: number
  idleEveryMs: number
}

/** For the parameter that `toNextInterval` calls `schedule`. Without a schedule the result is not used. */
export function scheduleValues(schedule: Schedule | undefined): number[] {
  if (schedule === undefined) return [0, 0, 0, 0, 0]
  const { activeForMs, recentForMs, activeEveryMs, recentEveryMs, idleEveryMs } = schedule
  return [activeForMs, recentForMs, activeEveryMs, recentEveryMs, idleEveryMs].map((ms) => ms / 1000)
}

/**
 * SQL: the interval until the next run of connection `c`, whose user's ledger is `l`. The parameters are given by their
 * names, such as `$4`; `jitter` is a factor, so that connections made in one minute are not always read in one minute.
 */
export function toNextInterval({ now, schedule, jitter }: { now: string; schedule: string; jitter: string }): string {
  const seconds = (place: number): string => `(${schedule}::double precision[])[${place}]`
  const isReadWithin = (place: number): string =>
    `greatest(l.read_at, c.added_at) > ${now}::timestamptz - make_interval(secs => ${seconds(place)})`
  return `make_interval(secs => ${jitter}::double precision * case
    when ${isReadWithin(1)} then ${seconds(3)}
    when ${isReadWithin(2)} or exists (select from webhook_tenants w where w.tenant_id = c.tenant_id) then ${seconds(4)}
    else ${seconds(5)} end)`
}
