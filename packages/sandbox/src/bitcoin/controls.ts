/** The controls of a simulated Bitcoin wallet. A record's id is its txid. */
import type { SimulatorControls } from '../core/controls.ts'
import { describeTransaction } from './api.ts'
import { bookEntries, confirm, reorganise, withdraw, type Fate } from './changes.ts'
import type { Bitcoin } from './index.ts'
import type { Bank } from './payments.ts'
import { balanceOf, entriesOf } from './reading.ts'

export interface BitcoinControls extends SimulatorControls {
  /** Mines a block now that holds these transactions of the mempool. Returns its height. */
  mine(txids?: readonly string[]): number
  /** Replaces the block of a transaction, which meets this fate with all that spends from it. Returns their txids. */
  reorganise(txid: string, fate: Fate): string[]
  /** Takes a transaction out of the mempool, with all that spends from it. Returns their txids. */
  dropFromMempool(txid: string): string[]
}

export function createBitcoinControls(bitcoin: Bitcoin, nowMs: () => number): BitcoinControls {
  const { network } = bitcoin
  function openBank(id: string): Bank {
    const account = bitcoin.accounts.findById(id)
    if (account === undefined) throw new RangeError(`no simulated wallet ${id}`)
    return { network, wallet: bitcoin.open(account) }
  }

  return {
    readAccount(accountId) {
      const bank = openBank(accountId)
      const records = entriesOf(bank).map((entry) => ({ id: entry.txid, body: describeTransaction(network, entry) }))
      return { accountId, balances: { BTC: balanceOf(bank) }, records: { txs: records } }
    },
    withdrawRecord(accountId, txid) {
      const bank = openBank(accountId)
      if (!entriesOf(bank).some((entry) => entry.txid === txid)) throw new RangeError(`no transaction ${txid}`)
      withdraw(network, [txid], nowMs())
    },
    addLateRecord(accountId, { time, asset, amount }) {
      const [txid] = bookEntries(openBank(accountId), [{ type: 'receive', asset, amount, time }], nowMs())
      if (txid === undefined) throw new Error('one entry gives one transaction')
      return txid
    },
    correctRecord() {
      throw new RangeError('a signed transaction cannot be changed')
    },
    mine(txids = []) {
      network.chain.advance(nowMs())
      const [first, ...more] = txids
      if (first === undefined) return network.chain.mine(nowMs())
      confirm(network, first, nowMs())
      const height = network.chain.tipHeight()
      for (const txid of more) network.confirm(txid, height)
      return height
    },
    reorganise(txid, fate) {
      network.chain.advance(nowMs())
      return reorganise(network, txid, fate, nowMs())
    },
    dropFromMempool(txid) {
      if (network.find(txid)?.height !== undefined) throw new RangeError(`${txid} is confirmed`)
      return network.drop(txid)
    },
  }
}
