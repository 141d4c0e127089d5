/**
 * What the simulated chain holds for a wallet, from its own books: the accounts, and what each transaction did to them.
 * SOL is in the wallet's own account, in its stake accounts, and among its tokens where it is wrapped. The lamports of
 * a token account are not the wallet's.
 */
import { toDecimalText } from '../../reconciler.ts'
import type { Held } from '../simulator.ts'

export interface State {
  accounts: {
    address: string
    kind: AccountKind
    lamports: string
    token?: { mint: string; program: string; amount: string; decimals: number }
  }[]
  effects: Effect[]
}

interface Effect {
  account: string
  accountKind: AccountKind
  /** "native" for lamports, or the mint. */
  asset: string
  amount: string
  signature: string | null
}

type AccountKind = 'wallet' | 'token' | 'stake'

export const sol = 'crypto:solana'
/** The mint of wrapped SOL. */
export const nativeMint = 'So11111111111111111111111111111111111111112'
/** What the registry of assets calls the mints of the simulated chain. */
const known: Readonly<Record<string, string>> = {
  EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v: 'crypto:usd-coin',
  Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB: 'crypto:tether',
  DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263: 'crypto:bonk',
  JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN: 'crypto:jupiter',
  '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo': 'crypto:paypal-usd',
}

export function toAssetId(mint: string): string {
  if (mint === nativeMint) return sol
  return known[mint] ?? `solana:${mint}`
}

/** Those that change what the wallet has. */
export function listEffects({ effects }: State): Effect[] {
  return effects.filter(({ accountKind, asset }) => accountKind !== 'token' || asset !== 'native')
}

/** By id of the asset. */
export function toHeld(state: State): Held {
  const { accounts } = state
  const tokens = accounts.flatMap(({ token }) => token ?? [])
  // A mint without an account has nothing left, whatever its unit is. SOL is a sum of several accounts.
  const decimalsOf = new Map([...tokens.map(({ mint, decimals }) => [mint, decimals] as const), [nativeMint, 9]])
  const lamports = (amount: string): Held['balances'][number] => ({ code: sol, amount: toDecimalText(amount, 9) })
  const units = (mint: string, amount: string): Held['balances'][number] => ({
    code: toAssetId(mint),
    amount: toDecimalText(amount, decimalsOf.get(mint) ?? 0),
  })
  return {
    records: listEffects(state).map(({ account, asset, amount, signature }, index) => ({
      ...{ stream: 'effects', partition: account, key: `${signature ?? ''} ${index}` },
      changes: [asset === 'native' ? lamports(amount) : units(asset, amount)],
    })),
    balances: [
      ...accounts.filter(({ kind }) => kind !== 'token').map((account) => lamports(account.lamports)),
      ...tokens.map(({ mint, amount }) => units(mint, amount)),
    ],
  }
}
