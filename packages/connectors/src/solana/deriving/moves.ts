/**
 * What one transaction changed in a wallet, computed from the balances of each account before and after it. Pure.
 *
 * The SOL of a wallet is in its own account, in its stake accounts and, as tokens, in its accounts of wrapped SOL. The
 * lamports of a token account are not part of it: anyone can pay some in, and the owner is not always the one who gets
 * them when the account is closed (docs/decisions/0030).
 */
import type { Decimal } from '@assay/core'
import { coin, isWrappedSol, toAmount, toSol, tokenAsset, type NamedAsset } from '../assets.ts'
import { hasTokenBalances, isFailed, type ChainTransaction, type Sides, type TokenBalance } from '../records.ts'

export interface Given {
  address: string
  /** Token accounts whose lists contain the transaction. */
  tokens: ReadonlySet<string>
  /**
   * Accounts whose lists contain the transaction, and whether they were the wallet's before and after it: stake accounts,
   * and token accounts where the node reports no owner.
   */
  sides: ReadonlyMap<string, Sides>
}

interface Own extends Given {
  /** The wallet signed the transaction. */
  hasSigned: boolean
}

export interface TokenMove {
  asset: NamedAsset
  amount: Decimal
  isIn: boolean
  /** Owners whose balance of the token moved the other way. */
  others: readonly string[]
}

export interface Moves {
  /** In lamports, without the fee and the deposits. */
  liquid: bigint
  staked: bigint
  /** In lamports; zero when another account paid it. */
  fee: bigint
  /** What the wallet paid as deposits of token accounts, its own and others'. */
  paidDeposits: bigint
  /** What it got back when token accounts of its own were closed. */
  returnedDeposits: bigint
  tokens: readonly TokenMove[]
  /** Accounts whose lamports moved the other way. */
  others: readonly string[]
  isFailed: boolean
  /** The wallet signed it. */
  isOwn: boolean
  /** It made a stake account the wallet's. */
  isStakeNew: boolean
  /** False for transactions from the time when nodes did not report balances of tokens, or their owners. */
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

export function toMoves(transaction: ChainTransaction, given: Given): Moves {
  const { meta } = transaction
  const keys = transaction.transaction.message.accountKeys
  const accounts = listAccounts(transaction)
  const hasSigned = keys.some(({ pubkey, signer }) => signer && pubkey === given.address)
  const own = { ...given, hasSigned }
  const fee = keys[0]?.pubkey === own.address ? BigInt(meta.fee) : 0n
  const changes = accounts.map((account) => ({ account, ...toChange(account, own) }))
  const { paidDeposits, returnedDeposits } = findDeposits(transaction, changes, own)
  const liquid = sumOf(changes.map((change) => change.liquid)) + fee + paidDeposits - returnedDeposits
  const staked = sumOf(changes.map((change) => change.staked))
  return {
    ...{ liquid, staked, fee, paidDeposits, returnedDeposits },
    tokens: listTokenMoves(accounts, own, transaction.names),
    others: changes.flatMap(({ account, isOwn }) => {
      const change = account.after - account.before
      return !isOwn && change !== 0n && change > 0n !== liquid + staked > 0n ? [ownerOf(account) ?? account.key] : []
    }),
    isFailed: isFailed(transaction),
    isOwn: hasSigned,
    isStakeNew: accounts.some((account) => {
      const sides = findStakeSides(account, own)
      return sides !== undefined && sides.isOwn && !sides.wasOwn
    }),
    isComplete: hasTokenBalances(transaction) && !accounts.some((account) => isUnclear(account, own)),
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

/** What one account changed in the wallet's SOL, in lamports. */
interface Change {
  liquid: bigint
  staked: bigint
  isOwn: boolean
}

function toChange(account: Account, own: Own): Change {
  const { key, before, after, tokenBefore, tokenAfter } = account
  if (key === own.address) return { liquid: after - before, staked: 0n, isOwn: true }
  const sides = findStakeSides(account, own)
  if (sides !== undefined) {
    return { liquid: 0n, staked: (sides.isOwn ? after : 0n) - (sides.wasOwn ? before : 0n), isOwn: true }
  }
  const [wasOwn, isOwn] = [isOwnToken('before', account, own), isOwnToken('after', account, own)]
  const liquid = (isOwn ? toWrapped(tokenAfter) : 0n) - (wasOwn ? toWrapped(tokenBefore) : 0n)
  return { liquid, staked: 0n, isOwn: wasOwn || isOwn }
}

function toWrapped(balance: TokenBalance | undefined): bigint {
  return balance !== undefined && isWrappedSol(balance.mint) ? BigInt(balance.uiTokenAmount.amount) : 0n
}

/** A stake account has no tokens. */
function findStakeSides({ key, tokenBefore, tokenAfter }: Account, own: Own): Sides | undefined {
  return tokenBefore === undefined && tokenAfter === undefined ? own.sides.get(key) : undefined
}

/** An account may change hands in a transaction, so both sides are checked. */
function isOwnToken(side: 'before' | 'after', { key, tokenBefore, tokenAfter }: Account, own: Own): boolean {
  const balance = side === 'before' ? tokenBefore : tokenAfter
  if (balance === undefined) return false
  if (typeof balance.owner === 'string') return balance.owner === own.address
  const sides = own.sides.get(key)
  return (side === 'before' ? sides?.wasOwn : sides?.isOwn) ?? false
}

/** It is in the list of a token account that is the wallet's today, and whose it was then is not known. */
function isUnclear({ key, tokenBefore, tokenAfter }: Account, own: Own): boolean {
  const balance = tokenBefore ?? tokenAfter
  return balance !== undefined && typeof balance.owner !== 'string' && own.tokens.has(key) && !own.sides.has(key)
}

function ownerOf({ tokenBefore, tokenAfter }: Account): string | undefined {
  return tokenAfter?.owner ?? tokenBefore?.owner ?? undefined
}

/** The deposit of 1,300 bytes. Token accounts have a few hundred, so SOL beyond this was not paid in to open one. */
const depositMax = 10_000_000n

/**
 * What a token account that was opened holds besides wrapped SOL, or, as a negative number, what one that was closed
 * held. The deposit of a closed account of another owner is not the wallet's.
 */
function toDeposit(account: Account, own: Own): bigint {
  const { key, before, after, tokenBefore, tokenAfter } = account
  // Nodes do not report an account whose mint was closed, and at first they did not report any.
  const isReported = tokenBefore !== undefined || tokenAfter !== undefined
  const [was, is] = isReported ? [tokenBefore !== undefined, tokenAfter !== undefined] : [before > 0n, after > 0n]
  if (was === is || (!isReported && !own.tokens.has(key))) return 0n
  if (isReported && was && !isOwnToken('before', account, own)) return 0n
  const deposit = after - toWrapped(tokenAfter) - (before - toWrapped(tokenBefore))
  return deposit <= depositMax && deposit >= -depositMax ? deposit : 0n
}

/**
 * The balances do not say who paid a deposit, or got it. The wallet paid it if as much left its own account, or came to
 * it from its stakes, its wrapped SOL and its closed accounts, unless the payer of the fee lost as much. It got a deposit
 * back if as much came, or if it signed and the payer of the fee did not get it: then it may have spent it at once.
 */
function findDeposits(
  { transaction, meta }: ChainTransaction,
  changes: readonly (Change & { account: Account })[],
  own: Own,
): Pick<Moves, 'paidDeposits' | 'returnedDeposits'> {
  const deposits = changes.map(({ account }) => toDeposit(account, own))
  const opened = sumOf(deposits.filter((one) => one > 0n))
  const closed = -sumOf(deposits.filter((one) => one < 0n))
  const lostOf = (address: string | undefined): bigint =>
    sumOf(changes.map(({ account }) => (account.key === address ? account.before - account.after : 0n)))
  const payer = transaction.message.accountKeys[0]?.pubkey
  const isPayer = payer === own.address
  const left = lostOf(own.address) - (isPayer ? BigInt(meta.fee) : 0n)
  const lostBySponsor = isPayer ? 0n : lostOf(payer) - BigInt(meta.fee)
  // A sponsor may have paid a tip out of it.
  const isReturned = -left >= closed || (own.hasSigned && -2n * lostBySponsor < closed)
  const returnedDeposits = isReturned ? closed : 0n
  const elsewhere = changes.filter(({ account }) => account.key !== own.address)
  const freed = [sumOf(elsewhere.map(({ liquid }) => -liquid)), sumOf(elsewhere.map(({ staked }) => -staked))]
  const spent = left + returnedDeposits + sumOf(freed.filter((one) => one > 0n))
  const isPaid = spent >= opened && (isPayer || lostBySponsor < opened)
  return { paidDeposits: isPaid ? opened : 0n, returnedDeposits }
}

function listTokenMoves(accounts: readonly Account[], own: Own, names: ChainTransaction['names']): TokenMove[] {
  const sides = accounts.flatMap((account) =>
    [
      { side: 'before' as const, balance: account.tokenBefore, sign: -1n },
      { side: 'after' as const, balance: account.tokenAfter, sign: 1n },
    ].flatMap(({ side, balance, sign }) =>
      balance === undefined || isWrappedSol(balance.mint)
        ? []
        : [
            {
              mint: balance.mint,
              decimals: Number(balance.uiTokenAmount.decimals),
              owner: isOwnToken(side, account, own) ? own.address : (balance.owner ?? account.key),
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
