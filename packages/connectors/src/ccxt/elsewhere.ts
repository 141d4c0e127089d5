/**
 * Accounts of a kind whose assets are read by the connection to another provider. Read here as well, they would count
 * twice.
 */
import type { RefusalReason } from '@assay/core'
import { textAt } from './answers.ts'
import { findAbout } from './catalogue/abouts.ts'
import type { CcxtClient } from './client.ts'

/** Why there is nothing to read here; undefined for an account that has its wallet here. */
export async function findElsewhere(client: CcxtClient, providerId: string): Promise<RefusalReason | undefined> {
  const { elsewhere } = findAbout(providerId)
  if (elsewhere === undefined) return undefined
  const { endpoint, place, is, reason } = elsewhere
  return textAt(await client.ask(endpoint), place) === is ? reason : undefined
}
