/** The one condition of everything a tenant sees: the user's consents in force, to any of its clients, cover it. */

export type CoveredScope = 'providers:read' | 'assets:read' | 'transactions:read'

/** For a row `alias` with tenant_id and user_id. The scope is one of ours and needs no parameter. */
export function covered(alias: string, scope: CoveredScope): string {
  return `exists (select from live_grants g where ${condition(alias, scope)})`
}

/**
 * The same as a look-up for each row. `offset 0` keeps PostgreSQL from making a join of it, which may be right for a sum
 * and is wrong for a page: it would collect and sort all rows of all users to show thirty.
 */
export function coveredRowByRow(alias: string, scope: CoveredScope): string {
  return `exists (select from live_grants g where ${condition(alias, scope)} offset 0)`
}

function condition(alias: string, scope: CoveredScope): string {
  return `g.tenant_id = ${alias}.tenant_id and g.user_id = ${alias}.user_id and '${scope}' = any(g.scopes)`
}
