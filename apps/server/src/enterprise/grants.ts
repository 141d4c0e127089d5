/**
 * The one condition for everything a tenant sees: a live grant of the user, to any of the tenant's clients, covers it.
 * A grant is live when it is in force and has not expired at the moment that the statement receives as a parameter.
 */

export type CoveredScope = 'providers:read' | 'assets:read' | 'transactions:read'

/** For a row `alias` with user_key. The scope is one of ours and needs no parameter; `now` is a parameter's name. */
export function covered(alias: string, scope: CoveredScope, now: string): string {
  return `exists (select from grant_terms g where ${condition(alias, scope, now)})`
}

/**
 * The same as a look-up for each row. `offset 0` keeps PostgreSQL from turning it into a join. A join may be right for
 * a sum and is wrong for a page, because it would collect and sort all rows of all users to show thirty.
 */
export function coveredRowByRow(alias: string, scope: CoveredScope, now: string): string {
  return `exists (select from grant_terms g where ${condition(alias, scope, now)} offset 0)`
}

function condition(alias: string, scope: CoveredScope, now: string): string {
  return `g.user_key = ${alias}.user_key and ${isLive('g', now)} and '${scope}' = any(g.scopes)`
}

/** For a row `alias` of grant_terms or family_terms. */
export function isLive(alias: string, now: string): string {
  return `${alias}.in_force and ${alias}.expires_at > ${now}::timestamptz`
}
