/**
 * What happens to a wallet after its story: payments booked by hand, blocks, a block that is replaced, and transactions
 * that leave the mempool. Each throws a RangeError where the real network would not allow it, and then leaves the
 * wallet unchanged.
 */
import type { NewEntry } from '../control.ts'
import { maturityBlocks, type Network } from './chain/network.ts'
import { receive, send, strangerScript, type Bank, type Moment } from './payments.ts'
import { AddressError, scriptOfAddress } from './chain/script.ts'
import { toSatoshi } from './story.ts'
import { isCoinbase } from './chain/transaction.ts'
import type { OwnAddress, Wallet } from './wallet.ts'

/** The deepest reorganisation that Bitcoin's own rules expect: a reward can be spent after this many blocks. */
const reorganisationDepthMax = maturityBlocks

/** What happens to a transaction whose block is replaced. */
export type Fate = 'mempool' | 'vanished'

const feeRate = 5n

/** With so many outputs a transaction has nearly the 400,000 weight units that nodes relay. */
const payoutStrangers = 3_100

/** Books each entry as a transaction of its own, all or none. Returns their txids. */
export function bookEntries(bank: Bank, entries: readonly NewEntry[], nowMs: number): string[] {
  const booked: string[] = []
  try {
    for (const entry of entries) booked.push(bookEntry(bank, entry, nowMs))
  } catch (error) {
    for (const txid of booked.toReversed()) bank.network.drop(txid)
    throw error
  }
  return booked
}

function bookEntry(bank: Bank, entry: NewEntry, nowMs: number): string {
  const { network, wallet } = bank
  if (entry.asset !== 'BTC') throw new RangeError(`a Bitcoin wallet holds BTC, not ${entry.asset}`)
  if (entry.hash !== undefined) throw new RangeError('a transaction gives itself its hash')
  if (entry.fee !== undefined) throw new RangeError('the fee follows from the size of the transaction')
  const isPayout = entry.type === 'receive' && entry.subtype === 'payout'
  if (entry.subtype !== undefined && entry.subtype !== 'unconfirmed' && !isPayout)
    throw new RangeError(`no subtype ${entry.subtype}`)
  const value = toSatoshi(entry.amount)
  const seconds = Math.floor((entry.time === undefined ? nowMs : Date.parse(entry.time)) / 1_000)
  if (seconds * 1_000 > nowMs) throw new RangeError(`${entry.time} has not come yet`)
  const moment = (): Moment => ({ seconds, height: heightOf(network, entry, seconds, nowMs), feeRate })
  if (entry.type === 'receive') {
    if (value <= 0n) throw new RangeError('the amount of a receive entry is positive')
    const to = entry.address === undefined ? nextAddress(bank) : ownAddress(wallet, entry.address)
    return receive(bank, moment(), [{ to, value }], { alone: true, strangers: isPayout ? payoutStrangers : 0 }).txid
  }
  if (entry.type === 'send') {
    if (value >= 0n) throw new RangeError('the amount of a send entry is negative')
    const script = entry.address === undefined ? strangerScript(wallet, `entry ${seconds}`) : scriptFrom(entry.address)
    return send(bank, moment(), { script, value: -value, change: nextAddress(bank, 'change') }).txid
  }
  throw new RangeError(`entries of a wallet are receive or send, not ${entry.type}`)
}

/** A present payment has its own block; a past one lies in the first block after it. */
function heightOf({ chain }: Network, entry: NewEntry, seconds: number, nowMs: number): number | undefined {
  if (entry.subtype === 'unconfirmed') return undefined
  const known = entry.time === undefined ? undefined : chain.heightAtOrAfter(seconds)
  return known ?? chain.mine(nowMs)
}

/** The address after the last one that was used. */
function nextAddress({ network, wallet }: Bank, chain: 'receive' | 'change' = 'receive'): OwnAddress {
  const used = wallet.list().filter((own) => own.chain === chain && network.listOf(own.script).length > 0)
  return wallet.at(chain, Math.max(-1, ...used.map(({ index }) => index)) + 1)
}

function ownAddress(wallet: Wallet, address: string): OwnAddress {
  const own = wallet.list().find((one) => one.address === address)
  if (own === undefined) throw new RangeError(`${address} is not an address of this wallet`)
  return own
}

function scriptFrom(address: string): Buffer {
  try {
    return scriptOfAddress(address)
  } catch (error) {
    if (error instanceof AddressError) throw new RangeError(`${address}: ${error.message}`)
    throw error
  }
}

/** Puts a transaction into a new block, with the unconfirmed ones that it depends on. */
export function confirm(network: Network, txid: string, nowMs: number): void {
  const entry = network.find(txid)
  if (entry === undefined) throw new RangeError(`the network does not know ${txid}`)
  if (entry.height !== undefined) throw new RangeError(`${txid} is confirmed already`)
  network.confirm(txid, network.chain.mine(nowMs))
}

/**
 * Replaces the block of a transaction by another that does not hold it, and mines one block on top: the longer branch
 * has won. Returns the txids that met this fate, because what spends from it shares it.
 */
export function reorganise(network: Network, txid: string, fate: Fate, nowMs: number): string[] {
  const entry = network.find(txid)
  if (entry?.height === undefined) throw new RangeError(`${txid} is in no block`)
  const depth = network.chain.tipHeight() - entry.height + 1
  if (depth > reorganisationDepthMax) {
    throw new RangeError(`${txid} is ${depth} blocks deep: only the last ${reorganisationDepthMax} can be replaced`)
  }
  if (fate === 'mempool' && isCoinbase(entry.tx)) throw new RangeError('a reward vanishes with its block')
  network.chain.replace(entry.height)
  const met = fate === 'mempool' ? network.unconfirm(txid) : network.drop(txid)
  network.chain.mine(nowMs)
  return met
}

/** Takes transactions away: out of the mempool, or with the block that held them. All or none. */
export function withdraw(network: Network, txids: readonly string[], nowMs: number): string[] {
  for (const txid of txids) {
    const entry = network.find(txid)
    if (entry === undefined) throw new RangeError(`the network does not know ${txid}`)
    const depth = entry.height === undefined ? 0 : network.chain.tipHeight() - entry.height + 1
    if (depth > reorganisationDepthMax) throw new RangeError(`${txid} is ${depth} blocks deep and stays`)
  }
  const gone: string[] = []
  for (const txid of txids) {
    const entry = network.find(txid)
    // It was removed together with another transaction that it depended on.
    if (entry === undefined) continue
    gone.push(...(entry.height === undefined ? network.drop(txid) : reorganise(network, txid, 'vanished', nowMs)))
  }
  return gone
}
