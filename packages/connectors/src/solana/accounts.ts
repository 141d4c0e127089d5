/**
 * What a wallet holds, from the chain itself and never from its history: the SOL of its own account, the tokens that it
 * owns in both token programs, and the stake accounts that only it can withdraw from. The lamports of a token account
 * are not the wallet's (deriving/moves.ts).
 */
import { createHash } from 'node:crypto'
import { add, isZero, SourceError, zero } from '@assay/core'
import { recognizeWallet } from '@assay/core/credentials'
import { z } from 'zod'
import type { Account, Balance, WalletCredentials } from '../kit/connector.ts'
import { readAnswer, withTextNumbers } from '../kit/json.ts'
import { stakeProgram, toAssociatedAddress, tokenPrograms } from './addresses.ts'
import { coin, findKnownToken, isWrappedSol, toAmount, toSol, tokenAsset } from './assets.ts'
import { accountsPerCallMax, type FetchNames } from './names.ts'
import { commitment, digits, type Outcome, type Rpc } from './rpc.ts'
import { isLeftOut, type SolanaState } from './state.ts'

const systemProgram = '11111111111111111111111111111111'

/** Also accepts the link in a QR code. */
export function readAddress({ address = '' }: WalletCredentials): string {
  const found = recognizeWallet(address)
  if (found !== undefined && 'wallet' in found && found.wallet.chain === 'solana') return found.wallet.value
  throw new SourceError('invalid_credentials', 'not an address, or a typing error in it')
}

const ownerAnswer = z.object({ value: z.object({ owner: z.string() }).nullable() })

/**
 * An address that was never used is a wallet. A program, a mint or a token account is refused: a wallet belongs to the
 * system program, even if several people share it (Squads).
 */
export async function fetchAccount(rpc: Rpc, address: string): Promise<Account> {
  const { value } = await rpc.call('getAccountInfo', [address, { encoding: 'base64', commitment }], ownerAnswer)
  if (value !== null && value.owner !== systemProgram) {
    throw new SourceError('invalid_credentials', 'the address belongs to a program')
  }
  return {
    fingerprint: createHash('sha256').update(`solana\n${address}`).digest('hex'),
    fingerprintOf: 'account',
    ...{ excess: [], missing: [], keyExpiresAtMs: null },
    state: { address, tokens: [], stakes: [], signedStakes: [], ownership: {} },
  }
}

/**
 * What a node says of a token account beside its mint and its amount. Any stranger can open thousands of accounts for a
 * wallet, and those of Token-2022 have extensions of any length. Without this, 28,000 accounts filled an answer, and the
 * balances of the wallet could not be read.
 *
 * The accounts are not asked for in bytes: the decimals of a token are in its mint, and the mints would take hundreds of
 * further calls.
 */
const omittedMembers = [
  ...['extensions', 'delegate', 'delegatedAmount', 'closeAuthority', 'rentExemptReserve', 'owner', 'state'],
  ...['uiAmount', 'uiAmountString', 'program', 'type', 'executable', 'rentEpoch', 'space'],
]

export interface Holdings {
  balances: Balance[]
  tokens: string[]
  stakes: string[]
  /** The accounts among `tokens` that are read before the others when there are too many. */
  listPreferred(this: void): string[]
}

export async function fetchHoldings(rpc: Rpc, fetchNames: FetchNames, state: SolanaState): Promise<Holdings> {
  const { address } = state
  // One request, so that everything comes from nearly the same moment.
  const calls = [
    { method: 'getBalance', params: [address, { commitment }] },
    { method: 'getProgramAccounts', params: toStakeSearch(address) },
    ...tokenPrograms.map((programId) => ({
      method: 'getTokenAccountsByOwner',
      params: [address, { programId }, { encoding: 'jsonParsed', commitment }],
    })),
  ]
  const [wallet, found, ...owned] = await rpc.fetchAll(calls, omittedMembers)
  const balance = readResult('getBalance', balanceAnswer, wallet)
  const tokens = tokenPrograms.flatMap((program, index) =>
    toTokens(program, readResult('getTokenAccountsByOwner', tokensAnswer, owned[index])),
  )
  const stakes = (await toStakes(rpc, found, state)).filter((stake) => !isLeftOut(state, stake.address))
  const wrapped = tokens.filter(({ mint }) => isWrappedSol(mint)).map(({ units }) => units)
  const staked = stakes.map(({ lamports }) => BigInt(lamports))
  const coins = { ...coin, liquid: toSol(sumOf([BigInt(balance.value), ...wrapped])), staked: toSol(sumOf(staked)) }
  return {
    balances: [coins, ...(await toBalances(tokens, fetchNames))].filter((one) => !isZero(add(one.liquid, one.staked))),
    tokens: tokens.map((token) => token.address),
    stakes: stakes.map((stake) => stake.address),
    listPreferred: () => listPreferred(tokens, state),
  }
}

function readResult<T>(method: string, schema: z.ZodType<T>, outcome: Outcome | undefined): T {
  if (outcome !== undefined && 'error' in outcome) throw outcome.error
  return readAnswer(method, schema, withTextNumbers(outcome?.result ?? null))
}

const balanceAnswer = z.object({ value: digits })

function sumOf(units: readonly bigint[]): bigint {
  return units.reduce((sum, one) => sum + one, 0n)
}

// ----------------------------------------------------------------------------------------------------------------
// tokens

const tokensAnswer = z.object({
  value: z.array(
    z.object({
      pubkey: z.string(),
      account: z.object({
        data: z.object({
          parsed: z.object({
            info: z.object({ mint: z.string(), tokenAmount: z.object({ amount: digits, decimals: digits }) }),
          }),
        }),
      }),
    }),
  ),
})

interface HeldToken {
  address: string
  program: string
  mint: string
  units: bigint
  decimals: number
}

function isKnownMint({ mint }: HeldToken): boolean {
  return isWrappedSol(mint) || findKnownToken(mint) !== undefined
}

/**
 * Accounts of a token of the registry, or of wrapped SOL: the associated ones first, then those that are read already.
 * Strangers can open any number of accounts for known tokens too, but only the wallet has the associated ones.
 */
function listPreferred(tokens: readonly HeldToken[], { address, tokens: read }: SolanaState): string[] {
  const known = tokens.filter(isKnownMint)
  const isRead = new Set(read)
  const associated = [...Map.groupBy(known, ({ mint }) => mint).values()].flatMap(([first]) =>
    first === undefined ? [] : [toAssociatedAddress(address, first.mint, first.program)],
  )
  const held = known.map((token) => token.address)
  return [...new Set(associated).intersection(new Set(held)), ...held.filter((one) => isRead.has(one)), ...held]
}

function toTokens(program: string, { value }: z.infer<typeof tokensAnswer>): HeldToken[] {
  return value.map(({ pubkey, account }) => {
    const { mint, tokenAmount } = account.data.parsed.info
    return { address: pubkey, program, mint, units: BigInt(tokenAmount.amount), decimals: Number(tokenAmount.decimals) }
  })
}

/** Wrapped SOL is counted as SOL. */
async function toBalances(tokens: readonly HeldToken[], fetchNames: FetchNames): Promise<Balance[]> {
  const held = tokens.filter(({ mint, units }) => !isWrappedSol(mint) && units > 0n)
  const names = await fetchNames(held.map(({ mint }) => mint))
  return [...Map.groupBy(held, ({ mint }) => mint)].map(([mint, ofMint]) => ({
    ...tokenAsset(mint, names[mint]),
    liquid: toAmount(sumOf(ofMint.map(({ units }) => units)), ofMint[0]?.decimals ?? 0),
    staked: zero,
  }))
}

// ----------------------------------------------------------------------------------------------------------------
// stakes

const stakeAccount = z.object({
  lamports: digits,
  owner: z.string(),
  data: z.object({
    parsed: z.object({
      info: z.object({ meta: z.object({ authorized: z.object({ withdrawer: z.string() }) }) }),
    }),
  }),
})
const programAnswer = z.array(z.object({ pubkey: z.string(), account: z.object({ lamports: digits }) }))
const accountsAnswer = z.object({ value: z.array(z.unknown()) })

interface HeldStake {
  address: string
  lamports: string
}

/** The offset of the withdraw authority in a stake account: after the kind, the rent and the stake authority. */
const withdrawerOffset = 4 + 8 + 32

function toStakeSearch(owner: string): unknown[] {
  const filters = [{ memcmp: { offset: withdrawerOffset, bytes: owner } }]
  return [stakeProgram, { encoding: 'base64', dataSlice: { offset: 0, length: 0 }, commitment, filters }]
}

/** Not all nodes search by program. Accounts that the history has shown are then requested by address. */
async function toStakes(
  rpc: Rpc,
  found: Outcome | undefined,
  { address: owner, stakes: known }: SolanaState,
): Promise<HeldStake[]> {
  // The method is switched off, or this program is not in the node's index.
  const isRefused = found !== undefined && 'error' in found && found.error.fault === 'unreadable_answer'
  if (!isRefused) {
    const all = readResult('getProgramAccounts', programAnswer, found)
    return all.map(({ pubkey, account }) => ({ address: pubkey, lamports: account.lamports }))
  }
  const stakes: HeldStake[] = []
  for (let at = 0; at < known.length; at += accountsPerCallMax) {
    const some = known.slice(at, at + accountsPerCallMax)
    const config = { encoding: 'jsonParsed', commitment }
    const { value } = await rpc.call('getMultipleAccounts', [some, config], accountsAnswer)
    stakes.push(...some.flatMap((address, index) => findStake(address, value[index], owner)))
  }
  return stakes
}

function findStake(address: string, account: unknown, owner: string): HeldStake[] {
  const { lamports } = stakeAccount.safeParse(account).data ?? {}
  return lamports !== undefined && findWithdrawer(account) === owner ? [{ address, lamports }] : []
}

/** The address that may withdraw from an account, with numbers as text; undefined when it is not a stake account. */
export function findWithdrawer(account: unknown): string | undefined {
  const { owner, data } = stakeAccount.safeParse(account).data ?? {}
  return owner === stakeProgram ? data?.parsed.info.meta.authorized.withdrawer : undefined
}
