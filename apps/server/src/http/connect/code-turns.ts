/**
 * Whose turn it is to ask for a sign-in code or to enter one. A tenant's codes are handled one at a time, because all of
 * these requests lock the same counter. Callers with many addresses would otherwise wait for it with a connection each,
 * and leave none to the others.
 */
import { networkOf } from '../../connect/index.ts'
import type { InTurn, Turns } from '../request/turns.ts'

/**
 * One network has one place in the line of the tenant, and takes the next one behind the other networks. However many
 * addresses it has, it can neither fill that line nor delay the others by more than one request.
 */
export interface CodeTurns {
  ofNetwork: Turns
  ofTenant: Turns
}

export function inTurnForCodes(
  { ofNetwork, ofTenant }: CodeTurns,
  { tenantId }: { tenantId: string },
  ip: string,
): InTurn {
  return (work) => ofNetwork.take(`${tenantId} ${networkOf(ip)}`, () => ofTenant.take(tenantId, work))
}
