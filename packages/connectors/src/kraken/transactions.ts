/**
 * From a group of Kraken's records to transactions. Rules by family; what the families are, and how rows find into a
 * group, is in families.ts. Pure: the order of the records does not matter, and the same records give the same drafts.
 */
import { isZero, type Category, type TransactionDraft } from '@assay/core'
import type { StoredRecord } from '../kit/connector.ts'
import { labelOf, toDraft, toLeglessDraft, toUnknownDraft } from './draft.ts'
import { families, familyOf, groupOf, type Family } from './families.ts'
import { findAnnouncedDraft, toFundingDraft } from './funding.ts'
import { findZeroLeg, netLegs, type Legs } from './legs.ts'
import { pairMoves, toMoveDraft } from './moves.ts'
import { parseFundingRecord, parseLedgerRow, type FundingRecord, type LedgerRow } from './records.ts'

type Rows = readonly [LedgerRow, ...LedgerRow[]]

export function toTransactions(records: readonly StoredRecord[]): TransactionDraft[] {
  const rows = records
    .filter((record) => record.stream === 'ledger')
    .map((record) => parseLedgerRow(record.key, record.body))
  rows.sort((a, b) => a.timeMs - b.timeMs || (a.id < b.id ? -1 : 1))
  const deposit = findFunding(records, 'deposits')
  const withdrawal = findFunding(records, 'withdrawals')

  const byFamily = Map.groupBy(rows, familyOf)
  const drafts = families.flatMap((family) => {
    const [first, ...rest] = byFamily.get(family) ?? []
    return first === undefined ? [] : draftsOf(family, [first, ...rest], { deposit, withdrawal })
  })
  const announced = [
    deposit === undefined || byFamily.has('deposit') ? undefined : findAnnouncedDraft('deposit', deposit),
    withdrawal === undefined || byFamily.has('withdrawal') ? undefined : findAnnouncedDraft('withdrawal', withdrawal),
  ]
  return [...drafts, ...announced.filter((draft) => draft !== undefined)]
}

interface Funding {
  deposit: FundingRecord | undefined
  withdrawal: FundingRecord | undefined
}

function draftsOf(family: Family, rows: Rows, funding: Funding): TransactionDraft[] {
  switch (family) {
    case 'deposit':
      return [toFundingDraft('deposit', rows, funding.deposit)]
    case 'withdrawal':
      return [toFundingDraft('withdrawal', rows, funding.withdrawal)]
    case 'exchange':
      return [toExchangeDraft(rows)]
    case 'move':
      return groupOf(rows[0]).startsWith('move:') ? pairMoves(rows) : [toMoveDraft(rows)]
    case 'reward':
      return [toRewardDraft(rows)]
    case 'margin':
      // Profit, loss and fees. A position that is settled is an exchange of one asset for another.
      return [toSignedDraft(rows, 'other')]
    case 'rollover':
      // Charged again and again for weeks under the position's one reference: each is a transaction of its own.
      return rows.map((row) => toSignedDraft([row], 'fee', { naturalKey: `rollover:${row.id}` }))
    case 'transfer':
      return [toTransferDraft(rows)]
    case 'other':
      return [toUnknownDraft(rows, netLegs(rows, 'other'))]
  }
}

/** trade, spend/receive, conversion and their kin: something for something. */
function toExchangeDraft(rows: Rows): TransactionDraft {
  const trade = rows.some((row) => row.type === 'trade' || row.type === 'nfttrade')
  const legs = netLegs(rows, trade ? 'trading' : 'conversion')
  const zeroLeg = findZeroLeg(rows)
  if (zeroLeg !== undefined && legs.inputs.length + legs.outputs.length > 0) {
    if (legs.inputs.length === 0) legs.inputs.push(zeroLeg)
    else if (legs.outputs.length === 0) legs.outputs.push(zeroLeg)
  }
  const category = trade ? 'trade' : purchaseCategory(rows, legs)
  if (legs.inputs.length > 0 && legs.outputs.length > 0) {
    return toDraft(rows, legs, { type: 'input_and_output', category })
  }
  if (legs.inputs.length === 0 && legs.outputs.length === 0) {
    const undone = legs.fees.length === 0 && rows.some((row) => !isZero(row.amount))
    if (!undone) return toLeglessDraft(rows, legs)
    return toDraft(rows, legs, { type: 'input_and_output', category }, { status: 'failed' })
  }
  return toUnknownDraft(rows, legs, { category, incomplete: [legs.inputs.length > 0 ? 'outputs' : 'inputs'] })
}

/** Buy and sell are words for money against crypto; anything else that was no order is a conversion. */
function purchaseCategory(rows: Rows, legs: Legs): Category {
  if (rows.some((row) => row.type === 'conversion' || row.type === 'adjustment')) return 'convert'
  const paid = legs.outputs.some(isFiat)
  const got = legs.inputs.some(isFiat)
  if (paid === got) return 'convert'
  return paid ? 'buy' : 'sell'
}

function isFiat(leg: { assetId: string }): boolean {
  return leg.assetId.startsWith('fiat:')
}

function toRewardDraft(rows: Rows): TransactionDraft {
  const [{ type, asset }] = rows
  const legs = netLegs(rows, 'staking')
  // The rewards of staked ether were once turned into spot ether by a row with a minus. That is no reward.
  if (legs.outputs.length > 0) return toUnknownDraft(rows, legs)
  if (legs.inputs.length === 0) return toLeglessDraft(rows, legs)
  const kind = { type: 'input_only', category: rewardCategory(type, asset.kind === 'fiat') } as const
  return toDraft(rows, legs, kind, { description: labelOf(rows[0]) })
}

function rewardCategory(type: string, fiat: boolean): Category {
  if (type === 'invite bonus') return 'gift'
  if (type === 'dividend' || type === 'nftrebate') return 'other'
  return fiat ? 'interest' : 'staking_reward'
}

function toTransferDraft(rows: Rows): TransactionDraft {
  const [{ type, subtype }] = rows
  const description = labelOf(rows[0])
  const legs = netLegs(rows, 'other')
  if (legs.inputs.length > 0 && legs.outputs.length > 0) {
    return toDraft(rows, legs, { type: 'input_and_output', category: 'convert' }, { description })
  }
  if (legs.inputs.length === 0 && legs.outputs.length === 0) {
    return legs.fees.length > 0 ? toLeglessDraft(rows, legs) : toMoveDraft(rows)
  }
  const incoming = legs.inputs.length > 0
  if (subtype === 'spottofutures' || subtype === 'spotfromfutures' || type === 'custodytransfer') {
    return toDraft(rows, legs, { type: incoming ? 'receive' : 'send', category: 'transfer' }, { description })
  }
  // Kraken credits airdrops and forks this way, and also deals of its OTC desk, which pay in money or take something.
  if (subtype === '' && incoming && !legs.inputs.some(isFiat)) {
    const guess = { method: 'rule', confidence: 0.6, description } as const
    return toDraft(rows, legs, { type: 'input_only', category: 'airdrop' }, guess)
  }
  return toUnknownDraft(rows, legs)
}

/** By what came and went alone. */
function toSignedDraft(rows: Rows, category: Category, special: Partial<TransactionDraft> = {}): TransactionDraft {
  const legs = netLegs(rows, 'trading')
  const more = { description: labelOf(rows[0]), ...special }
  const [input, output] = [legs.inputs.length > 0, legs.outputs.length > 0]
  if (input && output) return toDraft(rows, legs, { type: 'input_and_output', category: 'trade' }, more)
  if (input) return toDraft(rows, legs, { type: 'input_only', category: 'other' }, more)
  if (output) return toDraft(rows, legs, { type: 'output_only', category }, more)
  return toLeglessDraft(rows, legs, special)
}

function findFunding(records: readonly StoredRecord[], stream: string): FundingRecord | undefined {
  const record = records.find((candidate) => candidate.stream === stream)
  return record === undefined ? undefined : parseFundingRecord(record.body)
}
