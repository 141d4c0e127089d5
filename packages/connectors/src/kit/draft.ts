/** The draft that connectors of exchanges begin with. */
import type { TransactionDraft } from '@assay/core'

type DraftMembers = Pick<TransactionDraft, 'naturalKey' | 'occurredAtMs' | 'type' | 'category'> &
  Partial<TransactionDraft>

/** Members that are left out get the value that suits most records of exchanges. */
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
