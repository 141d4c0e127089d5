/** Everything that a wallet holds, in plain terms, for an independent check: amounts are satoshis as text. */
import { toShortText } from '../core/units.ts'
import { statusOf } from './api.ts'
import type { Entry } from './chain/network.ts'
import { sumOf } from './chain/network.ts'
import type { Bank } from './payments.ts'
import { findAddress } from './chain/script.ts'
import { bitcoinDecimals } from './story.ts'
import { isCoinbase, type TxOutput } from './chain/transaction.ts'

/** Oldest first; those of the mempool last. */
export function entriesOf({ network, wallet }: Bank): Entry[] {
  const order = (entry: Entry): number => entry.height ?? Number.POSITIVE_INFINITY
  const entries = new Set(wallet.list().flatMap(({ script }) => network.listOf(script)))
  return [...entries].toSorted((a, b) => (order(a) === order(b) ? a.arrival - b.arrival : order(a) - order(b)))
}

/** Confirmed and unconfirmed together, in bitcoin. */
export function balanceOf(bank: Bank): string {
  return toShortText(sumOf(coinsOf(bank).map(({ output }) => output)), bitcoinDecimals)
}

function coinsOf({ network, wallet }: Bank): { entry: Entry; vout: number; output: TxOutput }[] {
  return wallet.list().flatMap(({ script }) => network.coinsOf(script))
}

export function describeWallet(bank: Bank): object {
  const { network, wallet } = bank
  const { chain } = network
  const coins = coinsOf(bank)
  const confirmed = entriesOf(bank).filter(({ height }) => height !== undefined)
  const confirmedSum = confirmed.reduce((sum, entry) => sum + effectOf(bank, entry).net, 0n)
  const total = sumOf(coins.map(({ output }) => output))
  return {
    wallet: { kind: wallet.kind, standard: wallet.standard, ...wallet.credentials },
    tip: { height: chain.tipHeight(), hash: chain.hashAt(chain.tipHeight()) },
    balances: { BTC: balanceOf(bank) },
    balance_sat: {
      confirmed: confirmedSum.toString(),
      unconfirmed: (total - confirmedSum).toString(),
      total: total.toString(),
    },
    addresses: describeAddresses(bank),
    transactions: entriesOf(bank).map((entry) => describeEntry(bank, entry)),
    utxos: coins.map(({ entry, vout, output }) => ({
      txid: entry.txid,
      vout,
      address: findAddress(output.script),
      value_sat: output.value.toString(),
      ...statusOf(network, entry),
    })),
  }
}

/** Addresses that were used, and the unused ones before them. */
function describeAddresses({ network, wallet }: Bank): object[] {
  const txCountOf = (script: string): number => network.listOf(script).length
  const lastUsed = (chain: string): number =>
    Math.max(-1, ...wallet.list().map((own) => (own.chain === chain && txCountOf(own.script) > 0 ? own.index : -1)))
  const last: Readonly<Record<string, number>> = { receive: lastUsed('receive'), change: lastUsed('change') }
  return wallet
    .list()
    .filter(({ chain, index }) => index <= Math.max(last[chain] ?? -1, 0))
    .map(({ address, chain, index, path, script }) => ({
      address,
      path,
      chain,
      index,
      balance_sat: sumOf(network.coinsOf(script).map(({ output }) => output)).toString(),
      tx_count: txCountOf(script),
    }))
}

/** `net`: by how much the wallet's balance grew; the fee is in it when the wallet paid it. */
function effectOf({ wallet }: Bank, entry: Entry): { received: bigint; spent: bigint; net: bigint } {
  const own = new Set(wallet.list().map(({ script }) => script))
  const isOwn = ({ script }: TxOutput): boolean => own.has(script.toString('hex'))
  const received = sumOf(entry.tx.outputs.filter(isOwn))
  const spent = sumOf(entry.spent.filter(isOwn))
  return { received, spent, net: received - spent }
}

function describeEntry(bank: Bank, entry: Entry): object {
  const { received, spent, net } = effectOf(bank, entry)
  const own = new Set(bank.wallet.list().map(({ script }) => script))
  const paid = entry.tx.outputs.filter(({ script, value }) => value > 0n && !own.has(script.toString('hex')))
  const kind = isCoinbase(entry.tx) ? 'reward' : spent === 0n ? 'receive' : paid.length === 0 ? 'self' : 'send'
  return {
    txid: entry.txid,
    kind,
    seen_time: entry.seenSeconds,
    ...statusOf(bank.network, entry),
    received_sat: received.toString(),
    spent_sat: spent.toString(),
    net_sat: net.toString(),
    fee_sat: entry.fee.toString(),
    /** What the wallet paid of the fee: all of it when the inputs are its own, as they are in every story. */
    fee_paid_sat: (spent > 0n ? entry.fee : 0n).toString(),
    sent_to:
      spent > 0n
        ? paid.map((output) => ({ address: findAddress(output.script), value_sat: output.value.toString() }))
        : [],
  }
}
