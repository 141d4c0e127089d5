/** Transactions that may still change: they wait for a block, or lie in one that may be replaced. */
import type { RawRecord } from '../kit/connector.ts'
import { toSeen, type ReadContext, type SeenTransaction } from './records.ts'
import { filterUnsettled, type WalletState } from './state.ts'
import { isReplaceable, type PageMark, type Step, type Walk } from './walk.ts'

/** A block names the one before it, so one that is still there vouches for all below. */
export async function checkBlocks(walk: Walk, newest: string, tipHeight: number): Promise<Step> {
  const { state } = walk
  const before = JSON.stringify(state.unsettled[newest]?.block)
  const step = await lookAgain(walk, newest, tipHeight)
  if (JSON.stringify(state.unsettled[newest]?.block) !== before) {
    for (const entry of Object.values(state.unsettled)) delete entry.block
  }
  return { ...step, next: { at: 'unsettled', tipHeight, after: '' } }
}

export async function lookAgain(walk: Walk, txid: string, tipHeight: number): Promise<Step> {
  const { esplora, state } = walk
  const next: PageMark = { at: 'unsettled', tipHeight, after: txid }
  const found = await esplora.findTransaction(txid)
  if (found !== undefined) return { records: [keep(walk, toSeen(found, contextOf(walk, tipHeight)), tipHeight)], next }
  // What replaced it may be worth exactly as much, so that the sums of its addresses are unchanged.
  const touched = new Set(state.unsettled[txid]?.addresses)
  for (const entry of state.addresses) if (touched.has(entry.address)) delete entry.isRead
  filterUnsettled(state, (one) => one !== txid)
  return { records: [], withdrawn: [txid], next }
}

export function contextOf({ window, state, nowMs }: Walk, tipHeight: number): ReadContext {
  const own = new Set(state.addresses.map(({ address }) => address))
  return {
    ...{ window, tipHeight },
    seenMs: (txid) => state.unsettled[txid]?.seenMs ?? nowMs,
    isOwn: (address) => own.has(address),
  }
}

/** Returns the record, and remembers the transaction while it may still change. */
export function keep(
  { state, nowMs }: Walk,
  { record, txid, block, amounts }: SeenTransaction,
  tipHeight: number,
): RawRecord {
  if (txid === undefined) return record
  if (block !== undefined && !isReplaceable(block, tipHeight)) {
    if (txid in state.unsettled) filterUnsettled(state, (one) => one !== txid)
    return record
  }
  const own = state.addresses.flatMap(({ address }) => (amounts.has(address) ? [address] : [])).slice(0, addressesMax)
  const seenMs = state.unsettled[txid]?.seenMs ?? nowMs
  const { pending, ...settled } = record
  const isConfirmed = block !== undefined && (pending !== true || isCrowded(state, txid))
  const place = isConfirmed ? { block: { height: block.height, hash: block.hash } } : {}
  state.unsettled[txid] = { seenMs, addresses: own, ...place }
  if (isConfirmed) dropDeepest(state)
  return isConfirmed ? settled : record
}

/**
 * A stranger can pay every address of a wallet in each of hundreds of transactions, and the state has a limit, of which
 * the addresses of the largest wallet take most. The addresses are read again when their transaction is gone; without that, only another one that pays the same amounts
 * to the same address would be missed, until its sums change.
 */
const addressesMax = 2

/** More transactions of one day than a person makes. The deepest are the least likely to change. */
const confirmedMax = 500

/**
 * More unconfirmed transactions than a person has. Each one is requested again in every run, and strangers can send
 * thousands to an address. Others are left out until they are in a block, which changes the sums of their address.
 */
const waitingMax = 200

export function isTooMany({ unsettled }: WalletState, { txid, block }: SeenTransaction): boolean {
  if (txid === undefined || block !== undefined || txid in unsettled) return false
  return Object.values(unsettled).filter((one) => one.block === undefined).length >= waitingMax
}

/** Strangers can fill blocks too. Beyond so many that are pending, one in a block counts as confirmed at once. */
const pendingMax = 500

function isCrowded({ unsettled }: WalletState, txid: string): boolean {
  const known = unsettled[txid]
  // One that counted as confirmed is shown again whenever its address gets more.
  if (known !== undefined && known.block === undefined) return false
  return Object.values(unsettled).filter(({ block }) => block === undefined).length >= pendingMax
}

function dropDeepest(state: WalletState): void {
  const heights = Object.values(state.unsettled).flatMap(({ block }) => block?.height ?? [])
  if (heights.length <= confirmedMax) return
  const deepest = Math.min(...heights)
  filterUnsettled(state, (_, { block }) => block?.height !== deepest)
}
