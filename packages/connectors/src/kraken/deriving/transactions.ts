/**
 * Turns a story of Kraken records into transactions, with rules for each family. families.ts defines the families and
 * which rows belong together. Pure: the order of the records does not matter, and the same records always give the same
 * drafts.
 */
import { isZero, type Category, type TransactionDraft } from '@assay/core'
import type { StoredRecord } from '../../kit/connector.ts'
import { labelOf, toDraft, toLeglessDraft, toUnknownDraft } from './draft.ts'
import { bookOf, families, familyOf, isPairedByAmount, type Family } from './families.ts'
import { findAnnouncedDraft, toFundingDraft } from './funding.ts'
import { findZeroLeg, netLegs, type Legs } from './legs.ts'
import { toMigrationDrafts } from './migrations.ts'
import { pairMoves, toMoveDraft } from './moves.ts'
import { parseFundingRecord, parseLedgerRow, type FundingRecord, type LedgerRow } from '../records.ts'

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
  addMigrations(drafts, byFamily.get('migration') ?? [])
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
    case 'migration':
      return []
    case 'move':
      return movesOf(rows)
    case 'reward':
      return splitEvents(rows).map(({ rows: event, special }) => toRewardDraft(event, special))
    case 'margin':
      // Profit, loss and fees. A position that is settled is an exchange of one asset for another.
      return [toSignedDraft(rows, 'other')]
    case 'rollover':
      // Kraken charges these for weeks under the reference of the position. Each is a separate transaction.
      return rows.map((row) => toSignedDraft([row], 'fee', { naturalKey: `rollover:${row.id}` }))
    case 'transfer':
      return [toTransferDraft(rows)]
    case 'other':
      return [toOtherDraft(rows)]
  }
}

/** Runs after the other families, because the row of a migration may share its reference with another row. */
function addMigrations(drafts: TransactionDraft[], rows: readonly LedgerRow[]): void {
  const taken = new Set(drafts.map(({ naturalKey }) => naturalKey))
  for (const { draft, id } of toMigrationDrafts(rows, toLoneDraft)) {
    const naturalKey = taken.has(draft.naturalKey) ? `${draft.naturalKey}@${id}` : draft.naturalKey
    taken.add(naturalKey)
    drafts.push({ ...draft, naturalKey })
  }
}

/** A row that could be half of a migration but has no other half. */
function toLoneDraft(rows: Rows): TransactionDraft {
  switch (bookOf(rows[0])) {
    case 'transfer':
      return toTransferDraft(rows)
    case 'move':
      return toMoveDraft(rows)
    default:
      return toOtherDraft(rows)
  }
}

function movesOf(rows: Rows): TransactionDraft[] {
  const byAmount = rows.filter(isPairedByAmount)
  const [first, ...rest] = rows.filter((row) => !isPairedByAmount(row))
  const others = first === undefined ? [] : splitEvents([first, ...rest])
  return [...pairMoves(byAmount), ...others.map(({ rows: event, special }) => toMoveDraft(event, special))]
}

/** Both halves of a move, and all parts of a reward, are booked within minutes. */
const eventSpanMs = 24 * 3_600_000

/**
 * Earn sometimes reuses a reference within the weeks that a story may span. Rows more than a day apart are separate
 * events, and every event but the first gets its own key.
 */
function splitEvents(rows: Rows): { rows: Rows; special: Partial<TransactionDraft> }[] {
  const events: [LedgerRow, ...LedgerRow[]][] = []
  for (const row of rows) {
    const open = events.at(-1)
    const last = open?.at(-1)
    if (open === undefined || last === undefined || row.timeMs - last.timeMs > eventSpanMs) events.push([row])
    else open.push(row)
  }
  return events.map((event, index) => {
    const [first] = event
    const reference = first.refid === '' ? first.id : first.refid
    return { rows: event, special: index === 0 ? {} : { naturalKey: `${bookOf(first)}:${reference}@${first.id}` } }
  })
}

/** trade, spend/receive, conversion and similar types: one asset for another. */
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
    // Codes of several wallets are one asset. What cancels out between them was moved, not taken back.
    if (new Set(rows.map(({ walletKind }) => walletKind)).size > 1) return toMoveDraft(rows)
    return toDraft(rows, legs, { type: 'input_and_output', category }, { status: 'failed' })
  }
  return toUnknownDraft(rows, legs, { category, incomplete: [legs.inputs.length > 0 ? 'outputs' : 'inputs'] })
}

/** Buy and sell mean fiat against crypto; anything else that is not an order is a conversion. */
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

function toRewardDraft(rows: Rows, special: Partial<TransactionDraft>): TransactionDraft {
  const [{ type, asset }] = rows
  const legs = netLegs(rows, 'staking')
  // Kraken once converted the rewards of staked ether to spot ether with a negative row. That is not a reward.
  if (legs.outputs.length > 0) return toUnknownDraft(rows, legs, special)
  if (legs.inputs.length === 0) return toLeglessDraft(rows, legs, special)
  const kind = { type: 'input_only', category: rewardCategory(type, asset.kind === 'fiat') } as const
  return toDraft(rows, legs, kind, { description: labelOf(rows[0]), ...special })
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
  if (subtype === 'airdrop' && incoming) {
    return toDraft(rows, legs, { type: 'input_only', category: 'airdrop' }, { description })
  }
  if (subtype === 'spottofutures' || subtype === 'spotfromfutures' || type === 'custodytransfer') {
    // Kraken has also paid out airdrops as transfers from futures (ETHW, STRK, SYRUP).
    if (subtype === 'spotfromfutures' && incoming) return toFuturesDraft(rows, legs)
    return toDraft(rows, legs, { type: incoming ? 'receive' : 'send', category: 'transfer' }, { description })
  }
  // Kraken credits airdrops and forks this way. It also books OTC deals this way, but those pay fiat or have an output.
  if (subtype === '' && incoming && !legs.inputs.some(isFiat)) {
    const guess = { method: 'rule', confidence: 0.6, description } as const
    return toDraft(rows, legs, { type: 'input_only', category: 'airdrop' }, guess)
  }
  return toUnknownDraft(rows, legs)
}

/**
 * Collateral of Kraken Futures (support.kraken.com, "Multi-collateral"). Only these can come back from Futures, so any
 * other coin is an airdrop by Kraken. The row itself says neither, which is why the confidence is lower.
 */
const collateral = new Set(
  'USD EUR GBP CAD AUD CHF JPY XBT ETH USDT USDC XRP SOL ADA DOT LTC BCH XDG LINK ATOM AVAX TRX UNI XLM PAXG'.split(
    ' ',
  ),
)

function toFuturesDraft(rows: Rows, legs: Legs): TransactionDraft {
  const guess = { method: 'rule', description: labelOf(rows[0]) } as const
  if (rows.every((row) => collateral.has(row.base))) {
    return toDraft(rows, legs, { type: 'receive', category: 'transfer' }, { ...guess, confidence: 0.8 })
  }
  return toDraft(rows, legs, { type: 'input_only', category: 'airdrop' }, { ...guess, confidence: 0.6 })
}

/** Rows of types without their own family. */
function toOtherDraft(rows: Rows): TransactionDraft {
  const legs = netLegs(rows, 'other')
  const [{ type, subtype }] = rows
  const [incoming, outgoing] = [legs.inputs.length > 0, legs.outputs.length > 0]
  const description = labelOf(rows[0])
  if (incoming && !outgoing) {
    if (type === 'airdrop' || (type === 'earn' && subtype === 'airdrop')) {
      return toDraft(rows, legs, { type: 'input_only', category: 'airdrop' }, { description })
    }
    // Earn pays rewards and moves assets between wallets. A move would have its other half in this story.
    if (type === 'earn' && subtype === '') {
      const guess = { method: 'rule', confidence: 0.6, description } as const
      return toDraft(rows, legs, { type: 'input_only', category: 'staking_reward' }, guess)
    }
  }
  if (type === 'earn' && subtype === '' && !incoming && !outgoing && rows.length > 1) return toMoveDraft(rows)
  // Kraken documents `credit` without a reason. It may be a refund, a promotion, or the reversal of one.
  if (type === 'credit' && incoming !== outgoing) {
    const guess = { method: 'rule', confidence: 0.5, description } as const
    return toDraft(rows, legs, { type: incoming ? 'input_only' : 'output_only', category: 'other' }, guess)
  }
  return toUnknownDraft(rows, legs)
}

/** Decides by inputs and outputs alone. */
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
