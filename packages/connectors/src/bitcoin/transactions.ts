/**
 * Turns a transaction of the chain into a draft. A transaction spends whole outputs of earlier ones, so the change
 * comes back to an address of the wallet. Only what the wallet's own addresses sent and received counts:
 *
 *   no input is the wallet's     received; mined if there is no input at all
 *   all inputs are               sent, with the network fee; if nothing went to others, only the fee
 *   some inputs are              several people paid together (CoinJoin, PayJoin), and we do not know who paid the fee
 */
import { getAsset, parseDecimal, type Decimal, type Leg, type TransactionDraft } from '@assay/core'
import type { AccountFacts, StoredRecord } from '../kit/connector.ts'
import { readTransaction, type ChainTransaction } from './records.ts'

export function toTransactions(records: readonly StoredRecord[], facts: AccountFacts): TransactionDraft[] {
  return records.map((record) => toDraft(record, facts.addresses))
}

export const asset = getAsset('crypto:bitcoin')
const satoshiPerBitcoin = 10n ** 8n

/** Converts satoshi to bitcoin with integer arithmetic. */
export function toBitcoin(satoshi: bigint): Decimal {
  const magnitude = satoshi < 0n ? -satoshi : satoshi
  const fraction = String(magnitude % satoshiPerBitcoin).padStart(8, '0')
  return parseDecimal(`${satoshi < 0n ? '-' : ''}${magnitude / satoshiPerBitcoin}.${fraction}`)
}

/** What moved, in satoshi, as the wallet sees it. */
interface Moves {
  ownIn: bigint
  ownOut: bigint
  fee: bigint
  from: string[]
  to: string[]
  isMined: boolean
  hasForeignInput: boolean
}

type Kind = Pick<
  TransactionDraft,
  'type' | 'category' | 'method' | 'confidence' | 'inputs' | 'outputs' | 'fees' | 'incomplete'
>

function toDraft(record: StoredRecord, own: ReadonlySet<string>): TransactionDraft {
  const transaction = readTransaction(record)
  const { txid, status } = transaction
  const moves = toMoves(transaction, own)
  const isPending = record.pending === true
  return {
    naturalKey: `tx:${txid}`,
    ...toKind(moves),
    status: isPending ? 'pending' : 'confirmed',
    // The balance includes every block, however recent.
    ...(isPending && status.confirmed ? { isDebited: true } : {}),
    occurredAtMs: record.occurredAtMs,
    network: 'bitcoin',
    hash: txid,
    fromAddress: onlyOne(moves.from),
    toAddress: onlyOne(moves.to),
    spam: false,
    providerReference: null,
    description: null,
  }
}

function toMoves({ vin, vout, fee }: ChainTransaction, own: ReadonlySet<string>): Moves {
  const isOwn = ({ scriptpubkey_address: address }: { scriptpubkey_address?: string | null | undefined }): boolean =>
    own.has(address ?? '')
  const spent = vin.flatMap(({ prevout }) => prevout ?? [])
  const [ownSpent, ownGiven] = [spent.filter(isOwn), vout.filter(isOwn)]
  const addressesOf = (outputs: typeof vout): string[] =>
    outputs.map(({ scriptpubkey_address: address }) => address ?? '')
  // The recipients of a send exclude the change. The recipients of a receipt are only the wallet's own outputs.
  const given = ownSpent.length === 0 ? ownGiven : vout.filter((output) => !isOwn(output))
  return {
    ownIn: sumOf(ownSpent),
    ownOut: sumOf(ownGiven),
    fee: BigInt(fee),
    from: addressesOf(spent),
    to: addressesOf(given.length > 0 ? given : ownGiven),
    isMined: vin.every(({ is_coinbase: isCoinbase }) => isCoinbase),
    hasForeignInput: ownSpent.length < vin.length,
  }
}

function sumOf(outputs: readonly { value: string }[]): bigint {
  return outputs.reduce((sum, { value }) => sum + BigInt(value), 0n)
}

/** The order of several addresses on one side means nothing, so none of them is named. */
function onlyOne(addresses: readonly string[]): string | null {
  const [first, ...others] = new Set(addresses)
  return first === undefined || first === '' || others.length > 0 ? null : first
}

function toKind({ ownIn, ownOut, fee, isMined, hasForeignInput }: Moves): Kind {
  const certain: Omit<Kind, 'type' | 'category'> = {
    ...{ method: 'venue', confidence: 1, inputs: [], outputs: [], fees: [], incomplete: [] },
  }
  if (ownIn === 0n && ownOut > 0n) {
    const inputs = [toLeg(ownOut)]
    if (isMined) return { ...certain, inputs, type: 'input_only', category: 'mining' }
    return { ...certain, inputs, type: 'receive', category: 'deposit' }
  }
  if (hasForeignInput) return toSharedKind(ownOut - ownIn)
  const sent = ownIn - ownOut - fee
  if (sent <= 0n) {
    // The coins went to the wallet's own addresses. A fee alone is an output of category `fee`.
    return { ...certain, outputs: [toLeg(ownIn - ownOut)], type: 'output_only', category: 'fee' }
  }
  const fees = [{ ...toLeg(fee), kind: 'network' as const }]
  return { ...certain, outputs: [toLeg(sent)], fees, type: 'send', category: 'withdrawal' }
}

function toSharedKind(change: bigint): Kind {
  const guess = { method: 'rule', confidence: 0.5, fees: [], incomplete: ['fees'] } satisfies Partial<Kind>
  if (change > 0n) return { ...guess, inputs: [toLeg(change)], outputs: [], type: 'receive', category: 'deposit' }
  if (change < 0n) return { ...guess, inputs: [], outputs: [toLeg(-change)], type: 'send', category: 'withdrawal' }
  return { ...guess, inputs: [], outputs: [], type: 'uncategorized', category: 'other', incomplete: ['type', 'fees'] }
}

function toLeg(satoshi: bigint): Leg {
  return { assetId: asset.assetId, symbol: asset.symbol, amount: toBitcoin(satoshi) }
}
