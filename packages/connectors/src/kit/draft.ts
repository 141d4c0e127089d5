import type { TransactionDraft } from '@assay/core'

type DraftMembers = Pick<TransactionDraft, 'naturalKey' | 'occurredAtMs' | 'type' | 'category'> &
  Partial<TransactionDraft>

/** A draft of what the provider says itself. What is not named is what most records of exchanges do not tell. */
export function toDraft(members: DraftMembers, more: Partial<TransactionDraft> = {}): TransactionDraft {
  return {
    method: 'venue',
    confidence: 1,
    status: 'confirmed',
    inputs: [],
    outputs: [],
    fees: [],
    network: null,
    hash: null,
    fromAddress: null,
    toAddress: null,
    spam: false,
    providerReference: null,
    description: null,
    incomplete: [],
    ...members,
    ...more,
  }
}
