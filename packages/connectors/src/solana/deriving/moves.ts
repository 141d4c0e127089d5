/**
 * What one transaction changed in a wallet, computed from the balances of each account before and after it. Pure.
 *
 * The SOL of a wallet is in its own account, in its stake accounts and, as tokens, in its accounts of wrapped SOL. The
 * lamports of a token account are not part of it: anyone can pay some in, and the owner is not always the one who gets
 * them when the account is closed (docs/decisions/0030).
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
  /** In lamports, without the fee and the deposits. */
  liquid: bigint
  staked: bigint
  /** In lamports; zero when another account paid it. */
  fee: bigint
  /** What the wallet paid as deposits of token accounts, its own and others'; negative when it got more back. */
  deposit: bigint
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
  const changes = accounts.map((account) => ({ account, ...toChange(account, own) }))
  const left = sumOf(accounts.filter(({ key }) => key === own.address).map(({ before, after }) => before - after)) - fee
  const deposits = sumOf(accounts.map((account) => toDeposit(account, own)))
  // The balances do not say who paid a deposit, or got it. The wallet paid it if as much left its account, and got it
  // if as much came. In a transaction of its own it may have spent what came back.
  const deposit = (deposits > 0n ? left >= deposits : isPayer || left <= deposits) ? deposits : 0n
  const liquid = sumOf(changes.map((change) => change.liquid)) + fee + deposit
  const staked = sumOf(changes.map((change) => change.staked))
  return {
    ...{ liquid, staked, fee, deposit },
    tokens: listTokenMoves(accounts, own, transaction.names),
    others: changes.flatMap(({ account, isOwn }) => {
      const change = account.after - account.before
      return !isOwn && change !== 0n && change > 0n !== liquid + staked > 0n ? [ownerOf(account) ?? account.key] : []
    }),
    isFailed: meta.err !== null && meta.err !== undefined,
    isOwn: keys.some(({ pubkey, signer }) => signer && pubkey === own.address),
    isStakeNew: [...own.stakes.values()].some((sides) => sides.isOwn && !sides.wasOwn),
    isComplete: Array.isArray(meta.preTokenBalances) && Array.isArray(meta.postTokenBalances),
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

function toChange(account: Account, own: Own): { liquid: bigint; staked: bigint; isOwn: boolean } {
  const { key, before, after, tokenBefore, tokenAfter } = account
  if (key === own.address) return { liquid: after - before, staked: 0n, isOwn: true }
  const sides = own.stakes.get(key)
  if (sides !== undefined) {
    return { liquid: 0n, staked: (sides.isOwn ? after : 0n) - (sides.wasOwn ? before : 0n), isOwn: true }
  }
  const [wasOwn, isOwn] = [isOwnToken(tokenBefore, account, own), isOwnToken(tokenAfter, account, own)]
  const liquid = (isOwn ? toWrapped(tokenAfter) : 0n) - (wasOwn ? toWrapped(tokenBefore) : 0n)
  return { liquid, staked: 0n, isOwn: wasOwn || isOwn }
}

function toWrapped(balance: TokenBalance | undefined): bigint {
  return balance?.mint === nativeMint ? BigInt(balance.uiTokenAmount.amount) : 0n
}

/** An account may change hands in a transaction, so both sides are checked. */
function isOwnToken(balance: TokenBalance | undefined, { key }: Account, own: Own): boolean {
  if (balance === undefined) return false
  return typeof balance.owner === 'string' ? balance.owner === own.address : own.tokens.has(key)
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
  if (isReported && was && !isOwnToken(tokenBefore, account, own)) return 0n
  const deposit = after - toWrapped(tokenAfter) - (before - toWrapped(tokenBefore))
  return deposit <= depositMax && deposit >= -depositMax ? deposit : 0n
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
