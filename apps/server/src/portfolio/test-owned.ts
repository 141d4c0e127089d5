/** Accounts with a history, readings and verdicts that a test of claims writes by hand. A bitcoin is worth three dollars. */
import { add, dayMs, parseDecimal, subtract, sum, zero, type Decimal } from '@assay/core'
import { markInstallation } from '../db/index.ts'
import { ledgerRow, openLedger } from '../ledger/test-ledger.ts'
import { ownedBySuite } from '../oauth/test-oauth.ts'
import type { ConnectionRef } from '../owner.ts'
import { listOwned, type Owned, type OwnedRequest } from './owned-store.ts'
import { addConnection, addUser } from './test-portfolio.ts'

export const bitcoin = { assetId: 'crypto:bitcoin', symbol: 'BTC', name: 'Bitcoin', code: 'XXBT' }
export const one = parseDecimal('1')

export interface Account {
  ref: ConnectionRef
  /** What the next reading finds. */
  held: Decimal
}

export const amounts = ({ accounts }: Owned): string[] => accounts.map(({ certain }) => certain)
export const totalOf = ({ accounts }: Owned): string => sum(accounts.map(({ certain }) => certain))

/** To be called in an async `describe`. */
export async function openOwned() {
  const { db, ledger, keepAt, derive } = await openLedger(ownedBySuite(), { price: parseDecimal('3') })
  await markInstallation(db, 'sandbox')
  let made = 0

  async function openAccounts(count: number): Promise<{ userKey: string; accounts: Account[] }> {
    made += 1
    const ann = await addUser(db, `ann${made}`)
    const accounts: Account[] = []
    for (let key = 1; key <= count; key += 1) {
      const ref = await addConnection(db, ann, { key, id: `con_${made}_${key}` })
      accounts.push({ ref, held: zero })
    }
    return { userKey: ann.userKey, accounts }
  }
  async function record(account: Account, amount: Decimal, type: 'deposit' | 'withdrawal'): Promise<void> {
    made += 1
    account.held = add(account.held, amount)
    const row = ledgerRow(`L${made}`, `R${made}`, { type, amount, asset: bitcoin.code }, db.clock.now())
    await keepAt(account.ref, 'ledger', row)
    await derive(account.ref)
  }
  async function move(from: Account, to: Account, amount: Decimal): Promise<void> {
    await record(from, subtract(zero, amount), 'withdrawal')
    await record(to, amount, 'deposit')
  }
  /** Reads the balances. */
  async function read({ ref, held }: Account): Promise<void> {
    await ledger.keepHoldings(ref, 'kraken', [{ ...bitcoin, liquid: held, staked: zero }])
  }
  /**
   * The verdict on the newest reading. Null: the whole history, which begins with the account, was read. Otherwise the
   * sums begin with what the first reading found.
   */
  async function judge({ ref }: Account, grade = 'proved', provedSince: string | null = null): Promise<void> {
    await db.execute(
      `with judged as (
         update connections set proof_grade = $3, proof_balances_at = balances_at,
           proved_since = coalesce($4::timestamptz, least(history_from, balances_since))
         where user_key = $1 and connection_key = $2
       ), settled as (delete from due_proofs where user_key = $1 and connection_key = $2)
       insert into proofs (user_key, connection_key, asset_key, grade, spam, uninvited, opening, posted, observed,
         difference, causes, changed_at)
       select $1, $2, asset_key, $3, false, false, case when $4::timestamptz is null then 0 else 1 end, 0, 0, 0, '[]', $5
       from assets where id = $6
       on conflict (user_key, connection_key, asset_key) do update
         set grade = excluded.grade, opening = excluded.opening`,
      [ref.userKey, ref.connectionKey, grade, provedSince, db.now(), bitcoin.assetId],
    )
  }
  /** The verdict holds only if a record within seconds of the reading is not in it, as `keepDue` writes it. */
  async function makeProvisional({ ref }: Account): Promise<void> {
    await db.execute(
      `insert into due_proofs (user_key, connection_key, asset_key, since)
       select user_key, connection_key, h.asset_key, c.balances_at + interval '1 millisecond'
       from holdings h join connections c using (user_key, connection_key) where user_key = $1 and connection_key = $2`,
      [ref.userKey, ref.connectionKey],
    )
  }
  /** When it was read. */
  async function readAndJudge(account: Account, grade?: string): Promise<string> {
    await read(account)
    await judge(account, grade)
    const { ref } = account
    const { at } = await db.row<{ at: string }>(
      'select balances_at as at from connections where user_key = $1 and connection_key = $2',
      [ref.userKey, ref.connectionKey],
    )
    return at
  }
  const list = (userKey: string, more: Partial<OwnedRequest> = {}): Promise<Owned> =>
    listOwned(
      db,
      { userKey },
      {
        asOf: undefined,
        assetId: bitcoin.assetId,
        freshForMs: dayMs,
        wholeLedgers: ['kraken'],
        claimable: ['kraken'],
        ...more,
      },
    )
  return { db, ledger, keepAt, derive, openAccounts, record, move, read, judge, makeProvisional, readAndJudge, list }
}
