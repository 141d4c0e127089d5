/** From the entries of one reference to a transaction. A kind that the document does not name is kept as it is. */
import { isNegative, isPositive, isZero, negate, parseDecimal, type Leg, type TransactionDraft } from '@assay/core'
import { z } from 'zod'
import type { StoredRecord } from '../kit/connector.ts'
import { harborAsset } from './assets.ts'

const entrySchema = z.object({
  id: z.string(),
  reference: z.string(),
  kind: z.string(),
  asset: z.string(),
  amount: z.string(),
  fee: z.string(),
  hash: z.string().nullable(),
  address: z.string().nullable(),
})
type Entry = z.infer<typeof entrySchema>

type Kind = Pick<TransactionDraft, 'type' | 'category' | 'method' | 'confidence'>
const known = { method: 'venue', confidence: 1 } as const
const unknown = { type: 'uncategorized', category: 'other', method: 'rule', confidence: 0 } as const

/** The reference that all entries of one event share. */
export function linkKeys({ body }: StoredRecord): [string] {
  return [entrySchema.parse(JSON.parse(body)).reference]
}

export function toTransactions(records: readonly StoredRecord[]): TransactionDraft[] {
  const ordered = records.toSorted((a, b) => a.occurredAtMs - b.occurredAtMs || (a.key < b.key ? -1 : 1))
  const entries = ordered.map(({ body }) => entrySchema.parse(JSON.parse(body)))
  const [first, entry] = [ordered[0], entries[0]]
  if (first === undefined || entry === undefined) return []
  const legs = toLegs(entries)
  const kind = kindOf(entries, legs)
  const { hash, address: toAddress } = entries.find((candidate) => candidate.hash !== null) ?? {
    hash: null,
    address: null,
  }
  const draft: TransactionDraft = {
    naturalKey: entry.reference,
    ...kind,
    status: 'confirmed',
    occurredAtMs: first.occurredAtMs,
    ...legs,
    // Of a transfer Harbor names neither the network nor who sent it. The address of a deposit is the user's own at
    // Harbor, that of a withdrawal where it went.
    network: null,
    hash,
    fromAddress: null,
    toAddress,
    spam: false,
    providerReference: entry.reference,
    description: kind.type === 'uncategorized' ? entries.map(({ kind: word }) => word).join(', ') : null,
    incomplete: kind.type === 'uncategorized' ? ['type'] : missingOf(kind, entries, { hash, toAddress }),
  }
  return [draft]
}

/** What a transfer on a chain has and Harbor did not give. Money by bank has no hash and no network, so lacks nothing. */
function missingOf({ type }: Kind, entries: readonly Entry[], known: { hash: unknown; toAddress: unknown }): string[] {
  const isOnChain = entries.some(({ asset }) => harborAsset(asset).kind === 'crypto')
  if (!isOnChain || (type !== 'send' && type !== 'receive')) return []
  return [
    'network',
    ...(known.hash === null ? ['hash'] : []),
    'from_address',
    ...(known.toAddress === null ? ['to_address'] : []),
  ]
}

function kindOf(entries: readonly Entry[], { inputs, outputs }: Pick<TransactionDraft, 'inputs' | 'outputs'>): Kind {
  const kinds = new Set(entries.map((entry) => entry.kind))
  const is = (kind: string): boolean => kinds.size === 1 && kinds.has(kind)
  const both = inputs.length > 0 && outputs.length > 0
  if (is('trade') && both) return { ...known, type: 'input_and_output', category: 'trade' }
  if (is('deposit') && outputs.length === 0) return { ...known, type: 'receive', category: 'deposit' }
  if (is('withdrawal') && inputs.length === 0) return { ...known, type: 'send', category: 'withdrawal' }
  if (is('reward') && outputs.length === 0) return { ...known, type: 'input_only', category: 'staking_reward' }
  return unknown
}

/** Harbor's entries do not say which part of a balance they change: staking and unstaking leave none. All are liquid. */
function toLegs(entries: readonly Entry[]): Pick<TransactionDraft, 'inputs' | 'outputs' | 'fees'> {
  const legs = entries.map(({ asset, amount, fee, kind }) => {
    const { assetId, symbol } = harborAsset(asset)
    return { assetId, symbol, amount: parseDecimal(amount), fee: parseDecimal(fee), kind }
  })
  const toLeg = ({ assetId, symbol, amount }: Leg): Leg => ({ assetId, symbol, amount })
  return {
    inputs: legs.filter(({ amount }) => isPositive(amount)).map(toLeg),
    outputs: legs
      .filter(({ amount }) => isNegative(amount))
      .map((leg) => ({ ...toLeg(leg), amount: negate(leg.amount) })),
    fees: legs
      .filter(({ fee }) => !isZero(fee))
      .map(({ assetId, symbol, fee, kind }) => ({
        assetId,
        symbol,
        amount: fee,
        kind: kind === 'trade' ? 'trading' : kind === 'withdrawal' ? 'withdrawal' : 'other',
      })),
  }
}
