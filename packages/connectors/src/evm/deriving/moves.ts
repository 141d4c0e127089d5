/**
 * What one transaction moved into and out of a wallet: coins, tokens and pieces of collections, from the rows that the
 * lists have of it. Pure.
 */
import type { Decimal } from '@assay/core'
import {
  getDecimals,
  isFungible,
  listPieces,
  nativeAsset,
  nftAsset,
  toAmount,
  toContract,
  tokenAsset,
  wrappedContract,
  type NamedAsset,
} from '../assets.ts'
import type { Chain } from '../chains.ts'
import { movesValue, type Internal, type Receipt, type TokenRow, type Transaction } from '../records.ts'

/** The rows that share one hash. */
export interface Rows {
  transaction: Transaction | undefined
  receipt: Receipt | undefined
  internals: readonly Internal[]
  tokens: readonly TokenRow[]
  nfts: readonly TokenRow[]
}

export interface Move {
  asset: NamedAsset
  amount: Decimal
  isIn: boolean
  /** The address of the other side; empty where there is none. */
  counterpart: string
  /** Between coins and wrapped coins. */
  isWrap: boolean
}

const nativeDecimals = 18
export const zeroAddress = `0x${'0'.repeat(40)}`

/** A transaction that failed moved nothing, whatever was tried in it, except for coins that came before it ran. */
export function isFailed({ transaction }: Rows): boolean {
  // Before Byzantium receipts had no status, and only `isError` shows a failure.
  return transaction?.isError === '1' || transaction?.txreceipt_status === '0'
}

export function listMoves(chain: Chain, own: ReadonlySet<string>, rows: Rows): Move[] {
  const minted = listMinted(chain, own, rows)
  if (isFailed(rows)) return minted
  const coins = listCoins(chain, own, rows)
  const tokens = rows.tokens.flatMap((row) => {
    if (!isFungible(chain, row)) return []
    const asset = tokenAsset(chain, toContract(row))
    return toMoves(own, row, asset, toAmount(BigInt(row.value ?? '0'), getDecimals(row)))
  })
  const pieces = rows.nfts.flatMap((row) => {
    const contract = toContract(row)
    return listPieces(row).flatMap(({ tokenId, amount }) =>
      toMoves(own, row, nftAsset(chain, contract, tokenId), toAmount(BigInt(amount), 0)),
    )
  })
  return [...minted, ...listBridged(chain, own, rows), ...withWraps(chain, own, coins, rows), ...tokens, ...pieces]
}

/** The other side is on the first layer. */
function listBridged(chain: Chain, own: ReadonlySet<string>, { tokens }: Rows): Move[] {
  const { coinContract } = chain
  if (coinContract?.listsBridge !== true) return []
  return tokens
    .filter(({ contractAddress }) => contractAddress === coinContract.address)
    .flatMap((row) => toMoves(own, row, nativeAsset(chain), toAmount(BigInt(row.value ?? '0'), nativeDecimals)))
    .map((move) => ({ ...move, counterpart: '' }))
}

/** Coins that came from the first layer for the sender, who may send them on in the same transaction. */
function listMinted(chain: Chain, own: ReadonlySet<string>, { transaction, receipt }: Rows): Move[] {
  const amount = toAmount(BigInt(receipt?.mint ?? '0'), nativeDecimals)
  if (amount === '0' || transaction === undefined || !own.has(transaction.from)) return []
  return [{ asset: nativeAsset(chain), amount, isIn: true, counterpart: '', isWrap: false }]
}

interface Sides {
  from: string
  to: string
}

/** Nothing moves from a wallet to itself, or by an amount of zero. */
function toMoves(own: ReadonlySet<string>, { from, to }: Sides, asset: NamedAsset, amount: Decimal): Move[] {
  const [isOut, isIn] = [own.has(from), own.has(to)]
  if (isOut === isIn || amount === '0') return []
  return [{ asset, amount, isIn, counterpart: isIn ? from : to, isWrap: false }]
}

function listCoins(chain: Chain, own: ReadonlySet<string>, { transaction, internals }: Rows): Move[] {
  const asset = nativeAsset(chain)
  const toCoins = (row: Transaction | Internal): Move[] => {
    const to = row.to === '' ? row.contractAddress : row.to
    return toMoves(own, { from: row.from, to }, asset, toAmount(BigInt(row.value), nativeDecimals))
  }
  const inside = internals.filter((row) => movesValue(row) && !isTopLevel(row, transaction))
  return [...(transaction === undefined ? [] : toCoins(transaction)), ...inside.flatMap(toCoins)]
}

/**
 * Some indexes list the call that a transaction begins with among its internal ones (Blockscout numbers it 0). Only the
 * sender itself can make a call from the sender's address to the same recipient with the same value.
 */
function isTopLevel(row: Internal, transaction: Transaction | undefined): boolean {
  if (transaction === undefined) return row.index === '0'
  return row.from === transaction.from && row.to === transaction.to && row.value === transaction.value
}

/**
 * WETH9 makes and burns tokens without a Transfer event, so that most indexes list no transfer: coins that go to its
 * contract become as many tokens, and coins that come from it were tokens (only their holder can withdraw them). An
 * index that lists it names no holder on the other side. A transfer between two holders is another one: a wallet that
 * has delegated to code may wrap coins and pay with them in one transaction (EIP-7702).
 */
function withWraps(chain: Chain, own: ReadonlySet<string>, coins: readonly Move[], { tokens }: Rows): Move[] {
  const { address, logsTransfers } = chain.wrapped
  const noHolder = new Set([address, zeroAddress])
  const listed = tokens.filter(
    ({ contractAddress, from, to }) => contractAddress === address && (noHolder.has(from) || noHolder.has(to)),
  )

  /** Each row stands for one wrap. */
  function takeListed({ amount, isIn }: Move): boolean {
    const at = listed.findIndex(
      ({ from, to, value }) => own.has(isIn ? from : to) && toAmount(BigInt(value ?? '0'), nativeDecimals) === amount,
    )
    return at !== -1 && listed.splice(at, 1).length > 0
  }

  return coins.flatMap((move): Move[] => {
    if (move.counterpart !== address) return [move]
    const coin = { ...move, isWrap: true }
    if (logsTransfers === true || takeListed(move)) return [coin]
    return [coin, { ...coin, asset: tokenAsset(chain, wrappedContract(chain)), isIn: !move.isIn }]
  })
}

export interface Fees {
  gas: Decimal
  /** The fee for the data on the first layer. */
  data: Decimal
  isComplete: boolean
}

/** The sender pays, even for a transaction that failed. */
export function toFees(
  { isOpStack }: Chain,
  own: ReadonlySet<string>,
  { transaction, receipt }: Rows,
): Fees | undefined {
  if (transaction === undefined || !own.has(transaction.from)) return undefined
  const { gasPrice, gasUsed, l1Fee } = transaction
  const hasPrice = gasPrice !== undefined && gasPrice !== null && gasPrice !== ''
  // The receipt of a free transaction may also have coins.
  const hasData = isOpStack !== true || receipt !== undefined || (typeof l1Fee === 'string' && gasPrice !== '0')
  return {
    gas: toAmount(BigInt(gasUsed) * BigInt(hasPrice ? gasPrice : '0'), nativeDecimals),
    data: toAmount(BigInt(l1Fee ?? receipt?.l1Fee ?? '0'), nativeDecimals),
    isComplete: hasPrice && hasData,
  }
}
