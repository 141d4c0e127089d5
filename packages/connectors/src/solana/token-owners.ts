/**
 * Whose a token account was when nodes did not say so. Since October 2021 they report the owner with each token balance.
 * Before, the account's own list is the only witness: it is read from the newest transaction to the oldest, and until a
 * transaction gives the account another owner, the owner is the one whom newer transactions name. An account of which
 * none names another has always been the wallet's.
 *
 * Anyone can hand an account over to a wallet, and would otherwise give the wallet that account's past: what the wallet
 * once paid to it would no longer be paid.
 */
import { z } from 'zod'
import { isAddress, toAssociatedAddress } from './addresses.ts'
import { accountsMax, hasTokenBalances, isFailed, type Sides } from './records.ts'
import { digits } from './rpc.ts'

/** `unclear`: a transaction that cannot be read may have changed the owner, or it is an earlier life of the address. */
export const holderSchema = z.enum(['wallet', 'another', 'unclear'])
export type Holder = z.infer<typeof holderSchema>

export interface TokenStatement {
  /** Who owned the account before the transaction. Undefined while no transaction has shown an owner. */
  holder: Holder | undefined
  /** Where the node does not report owners, and others do. */
  sides?: Sides
  /** The owner has to be known first. */
  isOpen: boolean
  /**
   * `moved`: it may say something about what the wallet has. `named`: the account is only named, which anyone can do.
   * `foreign`: the account was another's.
   */
  part: 'moved' | 'named' | 'foreign'
  /** The accounts of the transaction. */
  keys: readonly string[]
}

const tokenBalance = z.object({
  accountIndex: digits,
  mint: z.string(),
  owner: z.string().nullish(),
  uiTokenAmount: z.object({ amount: digits }),
})
type Balance = z.infer<typeof tokenBalance>
const instruction = z.object({
  type: z.string(),
  info: z.object({
    account: z.string().optional(),
    authority: z.string().optional(),
    /** In place of it, when the instruction has further accounts, as those of the escrow programs of 2021. */
    multisigAuthority: z.string().optional(),
    authorityType: z.string().optional(),
    newAuthority: z.string().nullish(),
  }),
})
const instructions = z.array(
  z.object({ program: z.string().nullish(), parsed: instruction.optional().catch(undefined) }),
)
const shape = z.object({
  blockTime: digits,
  transaction: z.object({
    message: z.object({
      accountKeys: z.array(z.object({ pubkey: z.string() })).max(accountsMax),
      instructions: instructions.catch([]),
    }),
  }),
  meta: z.object({
    err: z.unknown(),
    preBalances: z.array(digits).max(accountsMax),
    postBalances: z.array(digits).max(accountsMax),
    preTokenBalances: z.array(tokenBalance).max(accountsMax).nullish(),
    postTokenBalances: z.array(tokenBalance).max(accountsMax).nullish(),
    innerInstructions: z
      .array(z.object({ index: digits, instructions }))
      .nullish()
      .catch(null),
  }),
})
type Parsed = z.infer<typeof shape>

/** `later` is who owned the account after the transaction, as far as newer ones show it. Numbers are text. */
export function readTokenStatement(
  transaction: unknown,
  { account, wallet }: { account: string; wallet: string },
  later: Holder | undefined,
): TokenStatement {
  const { data } = shape.safeParse(transaction)
  if (data === undefined) {
    // If the wallet gave it away in this one, the wallet's own list has it.
    return { holder: 'unclear', isOpen: false, part: later === 'another' ? 'foreign' : 'moved', keys: [] }
  }
  const keys = data.transaction.message.accountKeys.map(({ pubkey }) => pubkey)
  const place = keys.indexOf(account)
  const ofAccount = (balances: Balance[] | null | undefined): Balance | undefined =>
    balances?.find(({ accountIndex }) => Number(accountIndex) === place)
  const [before, after] = [ofAccount(data.meta.preTokenBalances), ofAccount(data.meta.postTokenBalances)]
  const toHolder = (owner: string | null | undefined): Holder => (owner === wallet ? 'wallet' : 'another')
  const [first, ...others] = listHandOvers(data, account)
  const balance = before ?? after
  if (balance === undefined) {
    const isOpenedOrClosed = (data.meta.preBalances[place] === '0') !== (data.meta.postBalances[place] === '0')
    const isUnreported = !hasTokenBalances(data)
    const holder = first === undefined ? later : toHolder(first.authority ?? first.multisigAuthority)
    const part = holder === 'another' ? 'foreign' : isOpenedOrClosed || isUnreported ? 'moved' : 'named'
    return { holder, isOpen: isUnreported && holder === undefined, part, keys }
  }
  if (typeof balance.owner === 'string') {
    const own = [before, after].map((one) => (one?.owner === wallet ? one.uiTokenAmount.amount : '0'))
    const isForeign = before?.owner !== wallet && after?.owner !== wallet
    const part = isForeign ? 'foreign' : own[0] === own[1] ? 'named' : 'moved'
    return { holder: before ? toHolder(before.owner) : 'unclear', isOpen: false, part, keys }
  }
  // The associated account is another's only if the wallet gave it away.
  const isOwn = later === 'unclear' && isAddress(balance.mint) && account === toAssociatedAddress(wallet, balance.mint)
  const last = others.at(-1) ?? first
  const is = last === undefined ? (isOwn ? 'wallet' : later) : toHolder(last.newAuthority)
  const was = first === undefined ? is : toHolder(first.authority ?? first.multisigAuthority)
  if (is === undefined || was === undefined) return { holder: undefined, isOpen: true, part: 'moved', keys }
  const isUnclear = was === 'unclear' || is === 'unclear'
  return {
    holder: before === undefined ? 'unclear' : was,
    ...(isUnclear ? {} : { sides: { wasOwn: was === 'wallet', isOwn: is === 'wallet' } }),
    isOpen: false,
    part: was === 'another' && is === 'another' ? 'foreign' : 'moved',
    keys,
  }
}

/** The instructions that gave the account another owner, in their order. The owner of that time is their authority. */
function listHandOvers(parsed: Parsed, account: string): z.infer<typeof instruction>['info'][] {
  if (isFailed(parsed)) return []
  const { transaction, meta } = parsed
  const calls = Map.groupBy(meta.innerInstructions ?? [], ({ index }) => Number(index))
  const executed = transaction.message.instructions.flatMap((outer, index) => [
    outer,
    ...(calls.get(index) ?? []).flatMap((inner) => inner.instructions),
  ])
  return executed.flatMap(({ program, parsed: one }) => {
    if (program !== 'spl-token' || one?.type !== 'setAuthority') return []
    return one.info.authorityType === 'accountOwner' && one.info.account === account ? [one.info] : []
  })
}
