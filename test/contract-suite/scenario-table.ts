/**
 * Every scenario of the sandbox, and where the verdict of the proof on it is compared with the one computed from the
 * simulator's own books. A test compares this table with the sandbox's catalogue, so that a new scenario cannot be left
 * out.
 */
import type { Sandbox } from '@assay/sandbox'
import type { Cause } from '@assay/core'

export type Check =
  /** By the contract suite of the provider, in every run. */
  | 'suite'
  /** By a file of the provider's own, in every run. */
  | 'own file'
  /** By `npm run campaign -- verdicts`: reading it takes too long for every run. */
  | 'campaign'
  /** The key ends before the history does, so there is no verdict. */
  | 'interrupted'
  /** It is not added, so there is nothing to judge. */
  | { refused: Cause }

export type ProviderName = Exclude<keyof Sandbox['urls'], 'coingecko'>

const refused = (cause: Cause): Check => ({ refused: cause })

/** Of providers with keys. `default` and `empty` are the accounts that every part of the suite reads. */
const keyed: Readonly<Record<string, Check>> = {
  default: 'suite',
  empty: 'suite',
  large: 'campaign',
  rate_limited: 'suite',
  flaky: 'suite',
  revoked_later: 'interrupted',
  invalid_credentials: refused('invalid_credentials'),
  can_trade: refused('excess_permission'),
  down: refused('venue_down'),
}

const wallets: Readonly<Record<string, Check>> = {
  default: 'own file',
  empty: 'own file',
  large: 'campaign',
  rate_limited: 'own file',
  flaky: 'own file',
  down: refused('venue_down'),
}

export const scenarioTable: Readonly<Record<ProviderName, Readonly<Record<string, Check>>>> = {
  kraken: { ...keyed, odd: 'suite', reality: 'suite' },
  coinbase: { ...keyed, odd: 'suite' },
  // A first read is some four hundred calls.
  binance: { ...keyed, flaky: 'campaign', delisted: 'own file', binance_us: refused('invalid_credentials') },
  bybit: {
    ...keyed,
    ...({ rate_limited: 'campaign', flaky: 'campaign', forgotten: 'campaign' } as const),
    ip_not_allowed: refused('ip_not_allowed'),
  },
  okx: { ...keyed, forgotten: 'suite', ip_not_allowed: refused('ip_not_allowed') },
  bitfinex: keyed,
  bitcoin: {
    ...wallets,
    ...({ empty: 'suite', single_address: 'suite', savings: 'suite', unconfirmed: 'suite', miner: 'suite' } as const),
    ...({ rate_limited: 'suite', flaky: 'suite' } as const),
    ...({ legacy: 'own file', nested_segwit: 'own file', taproot: 'own file', gap: 'own file' } as const),
  },
  evm: wallets,
  solana: { ...wallets, odd: 'own file', handed_stake: 'own file', stray_sol: 'own file' },
}

/** The names of the scenarios that are checked there. */
export function scenariosOf(provider: ProviderName, place: Check): string[] {
  return Object.entries(scenarioTable[provider]).flatMap(([name, check]) => (check === place ? [name] : []))
}

export function refusalsOf(provider: ProviderName): { scenario: string; cause: Cause }[] {
  return Object.entries(scenarioTable[provider]).flatMap(([scenario, check]) =>
    typeof check === 'string' ? [] : [{ scenario, cause: check.refused }],
  )
}
