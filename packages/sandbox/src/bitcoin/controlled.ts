/**
 * What the control API can see and change of a simulated wallet.
 *
 *   entries    { type: "receive", asset: "BTC", amount: "0.01", time?, address?, subtype? } a payment to the wallet: to
 *              this address of its own, or the next unused one; in the block at that time, or in a new one
 *              { type: "send", asset: "BTC", amount: "-0.01", time?, address?, subtype? } a payment by the wallet
 *              subtype "unconfirmed": it stays in the mempool until a record change confirms it
 *              subtype "payout" of a receive entry: a mining pool pays 3,100 members in the same transaction
 *   withdrawn  takes transactions out of the mempool, or out of one of the last hundred blocks, which is replaced
 *   records    { id, status: "confirmed" } puts it into a new block; { id, status: "unconfirmed" } replaces its block,
 *              and it is back in the mempool; { id, withdrawn: true } as above
 */
import type { Controlled, RecordChange } from '../control.ts'
import { bookEntries, confirm, reorganise, withdraw } from './changes.ts'
import type { Bitcoin } from './index.ts'
import type { Bank } from './payments.ts'
import { describeWallet, entriesOf } from './reading.ts'

export function controlBitcoin(bitcoin: Bitcoin, url: string, nowMs: () => number): Controlled {
  const { accounts, network } = bitcoin
  function find(id: string): Bank | undefined {
    const account = accounts.findById(id)
    return account && { network, wallet: bitcoin.open(account) }
  }

  return {
    providerId: 'bitcoin',
    url,
    scenarios: accounts.scenarios,
    mint(scenario, text) {
      const account = accounts.mint(scenario, text)
      return account && { account_id: account.id, credentials: bitcoin.open(account).credentials }
    },
    state(id) {
      const bank = find(id)
      const scenario = accounts.findById(id)?.scenario.name
      return bank && { account_id: id, provider_id: 'bitcoin', scenario, ...describeWallet(bank) }
    },
    addEntries(id, entries, atMs, refid) {
      if (refid !== undefined) throw new RangeError('transactions have no references: they have hashes')
      const bank = find(id)
      return bank && bookEntries(bank, entries, atMs)
    },
    withdraw(id, ids) {
      const bank = find(id)
      if (bank === undefined) return undefined
      for (const txid of ids) requireOwn(bank, txid)
      return { withdrawn: withdraw(network, ids, nowMs()) }
    },
    changeRecord(id, change) {
      const bank = find(id)
      if (bank === undefined) return undefined
      requireOwn(bank, change.id)
      return changeRecord(bank, change, nowMs())
    },
    changeKey() {
      throw new RangeError('a wallet has no key')
    },
  }
}

function requireOwn(bank: Bank, txid: string): void {
  if (!entriesOf(bank).some((entry) => entry.txid === txid))
    throw new RangeError(`this wallet has no transaction ${txid}`)
}

function changeRecord({ network }: Bank, change: RecordChange, nowMs: number): object {
  const { id, withdrawn, status, ...fixed } = change
  if (Object.keys(fixed).length > 0) throw new RangeError('a signed transaction cannot be changed')
  if (withdrawn === true) return { withdrawn: withdraw(network, [id], nowMs) }
  if (status === 'unconfirmed') return { unconfirmed: reorganise(network, id, 'mempool', nowMs) }
  if (status === 'confirmed') {
    confirm(network, id, nowMs)
    return { confirmed: [id] }
  }
  throw new RangeError('a record takes withdrawn: true, or the status confirmed or unconfirmed')
}
