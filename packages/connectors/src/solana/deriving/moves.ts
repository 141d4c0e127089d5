/**
 * What one transaction changed in a wallet, computed from the balances of each account before and after it. Pure.
 *
 * The SOL of a wallet is in its own account, in its token accounts (the deposit that each holds, and wrapped SOL) and
 * in its stake accounts. A deposit that is paid for an own account, or returned by it, therefore changes nothing.
 */
import { coin, nativeMint, toAmount, toSol, tokenAsset, type NamedAsset } from '../assets.ts'
import type { Decimal } from '@assay/core'
import type { ChainTransaction, Sides, TokenBalance } from '../records.ts'

export interface Own {
  address: string
  /** Token accounts whose lists contain the transaction: early nodes did not report owners. */
  tokens: ReadonlySet<string>
  /** Stake accounts whose lists contain the transaction, and whether they were the wallet's before and after it. */
  stakes: ReadonlyMap<string, Sides>
}

export interface TokenMove {
  asset: NamedAsset
  amount: Decimal
  isIn: boolean
  /** Owners whose balance of the token moved the other way. */
  others: readonly string[]
}

export interface Moves {
  /** In lamports, without the fee. */
  liquid: bigint
  staked: bigint
  /** In lamports; zero when another account paid it. */
  fee: bigint
  /** Deposits in token accounts of others that did not exist before. */
  foreignDeposits: bigint
  /** Deposits in token accounts of the wallet that did not exist before. */
  ownDeposits: bigint
  tokens: readonly TokenMove[]
  /** Accounts whose lamports moved the other way. */
  others: readonly string[]
  isFailed: boolean
  /** The wallet signed it. */
  isOwn: boolean
  /** It made a stake account the wallet's. */
  isStakeNew: boolean
  /** False for transactions from the time when nodes did not report balances of tokens. */
  isComplete: boolean
}

/** One account of a transaction, with its token balance where it has one. */
interface Account {
  key: string
  before: bigint
  after: bigint
  tokenBefore: TokenBalance | undefined
  tokenAfter: TokenBalance | undefined
}

export function toMoves(transaction: ChainTransaction, own: Own): Moves {
  const { meta } = transaction
  const keys = transaction.transaction.message.accountKeys
  const accounts = listAccounts(transaction)
  const isPayer = keys[0]?.pubkey === own.address
  const fee = isPayer ? BigInt(meta.fee) : 0n
  const isComplete = Array.isArray(meta.preTokenBalances) && Array.isArray(meta.postTokenBalances)
  const changes = accounts.map((account) => ({ account, ...toChange(account, own, isComplete) }))
  const liquid = sumOf(changes.map((change) => change.liquid)) + fee
  const staked = sumOf(changes.map((change) => change.staked))
  return {
    ...{ liquid, staked, fee },
    foreignDeposits: sumOf(accounts.filter((account) => !isOwnToken(account.tokenAfter, account, own)).map(toDeposit)),
    ownDeposits: sumOf(accounts.filter((account) => isOwnToken(account.tokenAfter, account, own)).map(toDeposit)),
    tokens: listTokenMoves(accounts, own, transaction.names),
    others: changes.flatMap(({ account, isOwn }) => {
      const change = account.after - account.before
      return !isOwn && change !== 0n && change > 0n !== liquid + staked > 0n ? [ownerOf(account) ?? account.key] : []
    }),
    isFailed: meta.err !== null && meta.err !== undefined,
    isOwn: keys.some(({ pubkey, signer }) => signer && pubkey === own.address),
    isStakeNew: [...own.stakes.values()].some((sides) => sides.isOwn && !sides.wasOwn),
    isComplete,
  }
}

function listAccounts({ transaction, meta }: ChainTransaction): Account[] {
  const byIndex = (balances: readonly TokenBalance[] | null | undefined): Map<string, TokenBalance> =>
    new Map((balances ?? []).map((balance) => [balance.accountIndex, balance]))
  const [before, after] = [byIndex(meta.preTokenBalances), byIndex(meta.postTokenBalances)]
  return transaction.message.accountKeys.map(({ pubkey }, index) => ({
    key: pubkey,
    before: BigInt(meta.preBalances[index] ?? '0'),
    after: BigInt(meta.postBalances[index] ?? '0'),
    tokenBefore: before.get(String(index)),
    tokenAfter: after.get(String(index)),
  }))
}

function toChange(account: Account, own: Own, isComplete: boolean): { liquid: bigint; staked: bigint; isOwn: boolean } {
  const { key, before, after, tokenBefore, tokenAfter } = account
  if (key === own.address) return { liquid: after - before, staked: 0n, isOwn: true }
  const [wasOwn, isOwn] = [isOwnToken(tokenBefore, account, own), isOwnToken(tokenAfter, account, own)]
  if (wasOwn || isOwn) return { liquid: (isOwn ? after : 0n) - (wasOwn ? before : 0n), staked: 0n, isOwn: true }
  if (!isComplete && own.tokens.has(key)) return { liquid: after - before, staked: 0n, isOwn: true }
  const sides = own.stakes.get(key)
  if (sides !== undefined) {
    return { liquid: 0n, staked: (sides.isOwn ? after : 0n) - (sides.wasOwn ? before : 0n), isOwn: true }
  }
  return { liquid: 0n, staked: 0n, isOwn: false }
}

/** An account may change hands in a transaction, so both sides are checked. */
function isOwnToken(balance: TokenBalance | undefined, { key }: Account, own: Own): boolean {
  if (balance === undefined) return false
  return typeof balance.owner === 'string' ? balance.owner === own.address : own.tokens.has(key)
}

function ownerOf({ tokenBefore, tokenAfter }: Account): string | undefined {
  return tokenAfter?.owner ?? tokenBefore?.owner ?? undefined
}

/** What a new token account holds besides wrapped SOL. */
function toDeposit({ before, after, tokenBefore, tokenAfter }: Account): bigint {
  if (tokenAfter === undefined || tokenBefore !== undefined || before !== 0n) return 0n
  return after - (tokenAfter.mint === nativeMint ? BigInt(tokenAfter.uiTokenAmount.amount) : 0n)
}

function listTokenMoves(accounts: readonly Account[], own: Own, names: ChainTransaction['names']): TokenMove[] {
  const sides = accounts.flatMap((account) =>
    [
      { balance: account.tokenBefore, sign: -1n },
      { balance: account.tokenAfter, sign: 1n },
    ].flatMap(({ balance, sign }) =>
      balance === undefined || balance.mint === nativeMint
        ? []
        : [
            {
              mint: balance.mint,
              decimals: Number(balance.uiTokenAmount.decimals),
              owner: isOwnToken(balance, account, own) ? own.address : (balance.owner ?? account.key),
              change: sign * BigInt(balance.uiTokenAmount.amount),
            },
          ],
    ),
  )
  return [...Map.groupBy(sides, ({ mint }) => mint)].flatMap(([mint, ofMint]): TokenMove[] => {
    const changes = [...Map.groupBy(ofMint, ({ owner }) => owner)].map(([owner, some]) => ({
      owner,
      change: sumOf(some.map(({ change }) => change)),
    }))
    const change = changes.find(({ owner }) => owner === own.address)?.change ?? 0n
    if (change === 0n) return []
    const isIn = change > 0n
    const others = changes.filter((one) => one.change !== 0n && one.change > 0n !== isIn).map(({ owner }) => owner)
    const amount = toAmount(isIn ? change : -change, ofMint[0]?.decimals ?? 0)
    return [{ asset: tokenAsset(mint, names[mint]), amount, isIn, others }]
  })
}

function sumOf(amounts: readonly bigint[]): bigint {
  return amounts.reduce((sum, amount) => sum + amount, 0n)
}

/** An incoming or outgoing amount of SOL as a leg of a transaction. */
export function toCoinLeg(
  lamports: bigint,
  place: 'liquid' | 'staked',
): { assetId: string; symbol: string; name: string; amount: Decimal; place: 'liquid' | 'staked' } {
  return { ...coin, amount: toSol(lamports), place }
}
