/**
 * What the simulated chain holds for a wallet, from its own books: the accounts, and what each transaction did to them.
 */
import { toDecimalText } from '../../reconciler.ts'
import type { Held } from '../simulator.ts'

export interface State {
  accounts: {
    address: string
    kind: 'wallet' | 'token' | 'stake'
    lamports: string
    token?: { mint: string; program: string; amount: string; decimals: number }
  }[]
  effects: { account: string; asset: string; amount: string; signature: string | null }[]
}

export const sol = 'crypto:solana'
/** Wrapped SOL is among the lamports of its account. */
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
  return known[mint] ?? `solana:${mint}`
}

/** By id of the asset. */
export function toHeld({ accounts, effects }: State): Held {
  const tokens = accounts.flatMap(({ token }) => (token === undefined || token.mint === nativeMint ? [] : [token]))
  // A mint without an account has nothing left, whatever its unit is.
  const decimalsOf = new Map(tokens.map(({ mint, decimals }) => [mint, decimals]))
  const lamports = (amount: string): Held['balances'][number] => ({ code: sol, amount: toDecimalText(amount, 9) })
  const units = (mint: string, amount: string): Held['balances'][number] => ({
    code: toAssetId(mint),
    amount: toDecimalText(amount, decimalsOf.get(mint) ?? 0),
  })
  return {
    records: effects
      .filter(({ asset }) => asset !== nativeMint)
      .map(({ account, asset, amount, signature }, index) => ({
        ...{ stream: 'effects', partition: account, key: `${signature ?? ''} ${index}` },
        changes: [asset === 'native' ? lamports(amount) : units(asset, amount)],
      })),
    balances: [
      ...accounts.map((account) => lamports(account.lamports)),
      ...tokens.map(({ mint, amount }) => units(mint, amount)),
    ],
  }
}
