/**
 * Facts about exchanges that ccxt does not provide: names, the parameter that ends a list, the wallets of an account,
 * and where an exchange reports the permissions of a key. The facts themselves are in families.ts and abouts.ts.
 */
import type { RefusalReason } from '@assay/core'
import type { StreamName } from './facts.ts'

export type ReadUnit = 's' | 'ms' | 'day'

export interface Paging {
  kind: 'offset' | 'page' | 'id'
  param: string
  /** The number of the first page. */
  first?: number
  /** Documented: the newest rows come first. A walk ends at a page that begins before its window. */
  newestFirst?: true
}

/** Overrides what we found out from ccxt about one list. */
export interface ListAbout {
  /** The exchange's own parameter, if ccxt has none. ccxt passes it on unchanged. */
  since?: string | false
  until?: string
  /** A `day` is written as in 2024-07-01. */
  unit?: ReadUnit
  params?: Readonly<Record<string, unknown>>
  /** Parameters that ccxt always adds, and that leave out rows which we need. */
  without?: readonly string[]
  paging?: Paging
  /** The documented page length. A shorter page counts as the last one. */
  limit?: number
  spanDays?: number
  /** ccxt ends the range by itself, that long after its start. */
  endsItself?: true
  /** The exchange's own statuses (`status` of a row) in ccxt's words, where ccxt mistakes or does not know them. */
  statuses?: Readonly<Record<string, string>>
  /**
   * The exchange's words for the types of its ledger (`type` of a row), where it writes numbers. A number that is missing
   * here is an entry of an unknown type.
   */
  types?: Readonly<Record<string, string>>
  /** The answer has a list for each currency, by its name. ccxt joins them, and its rows have no currency. */
  isByCurrency?: true
  /** Types of the exchange's entries that lend coins or take them back. They leave a balance without its debt as it is. */
  loans?: readonly string[]
  /** The amount of an entry is the whole change of the balance, and the fee beside it is a part of that. */
  feesAreWithin?: true
  /** ccxt asks another endpoint when a list is asked for from before this moment, and that one has nothing after it. */
  splitAt?: string
  /** Null where ccxt confuses the widest range of one call with how far back the history goes. */
  retentionDays?: number | null
  /** `retentionDays` is how far back we ask. The exchange may have more. */
  isRetentionOurs?: true
  /** What the list lacks, as sentences for a person. Coverage and the catalogue show them. */
  leavesOut?: string
  /** Not read: the list is of another wallet, or ccxt's rows lack what makes them a movement. */
  isLeftOut?: true
  /**
   * Given by pair, and a pair takes hundreds of calls. Pairs with one known side are read in turns from the start, because
   * a first read of all of them would use up for hours what our address may ask of the exchange.
   */
  isSlow?: true
  /** The exchange has this list once for all pairs, and a second one that it gives only by pair, since that day. */
  bySymbol?: Pick<ListAbout, 'params' | 'limit' | 'spanDays' | 'isSlow'> & { launched: string }
}

/** Parameters of fetchBalance. */
export type WalletParams = Readonly<Record<string, unknown>>

/** Where the exchange's own answer says how much of a balance was borrowed: rows with a currency and an amount. */
export interface Borrowed {
  rows: string
  currency: string
  amount: string
}

/** How the exchange's answers name coins. */
interface NumberedCoins {
  /** Lists of an answer, by their names, and the members of their rows that have a coin's name and number. */
  lists: Readonly<Record<string, { name: string; number: string }>>
  /** The one with all coins. ccxt takes a coin's place in it for its number, but numbers may be left out. */
  all: string
  /** The coin in which the fees of contracts are paid. */
  ofContracts: { name: string; number: number }
}

/** Where contracts may be open whose losses the balances still have. */
export interface OpenLosses {
  /** Only in the wallet with exactly these parameters: none, if they are left out. */
  wallet?: WalletParams
  /**
   * Rows of the answer with what is left after all losses, with the balance, and with what was borrowed of it. Without
   * these, the answer does not say.
   */
  shown?: { rows: string; left: string; balance: string; borrowed: string }
}

interface RightsSource {
  /** ccxt's name of the endpoint. */
  endpoint: string
  place: string
  /**
   * Where the account's own number is, which all its keys share: in the same answer, or in that of an endpoint for which
   * a key needs a right that we do not ask for.
   */
  account?: string | { endpoint: string; place: string; right: string }
  expires?: string
}

export type Rights = RightsSource &
  (
    | { kind: 'flag'; readOnly: string; readWrite: string; name: string }
    | { kind: 'words' | 'table'; harmless: readonly string[]; needed: readonly string[] }
  )

export interface About {
  name?: string
  /** A brand or a region of this exchange: whether it takes the keys of the others is not documented. */
  accountsOf?: string
  /** Wallets of an exchange that another provider reads as well: coins move between the two at once. */
  walletsOf?: string
  /** As in a provider's definition. */
  countsInClaims?: true
  aliases?: readonly string[]
  website?: string
  rank?: number
  color?: string
  /** The boxes to check, in the exchange's own words. */
  permissions?: readonly string[]
  /** What must stay unchecked. */
  leaveEmpty?: readonly string[]
  /** Menu items that lead to the page where keys are made. */
  menu?: readonly string[]
  page?: string
  /** What the exchange calls the third credential. */
  third?: string
  limits?: readonly string[]
  /** The first day, for lists that are requested in many small pieces. */
  launched?: string
  lists?: Partial<Record<StreamName, ListAbout>>
  /**
   * Each wallet of an account. Several parameters for one wallet: which of them finds it depends on the account, and the
   * first that finds something counts.
   */
  wallets?: readonly (WalletParams | readonly WalletParams[])[]
  /**
   * ccxt's name of the endpoint whose one answer has all `wallets`. It is asked once, because a coin that is moved between
   * two answers would be found twice.
   */
  walletsIn?: string
  /** `wallets` has every wallet of an account, or `limits` says which of them are read. */
  namesWallets?: true
  /**
   * What ccxt's `total` makes of the debts that it lists beside it. `excluded`: it does not contain what was borrowed.
   * Otherwise it does, and this is how much. Without it, a balance beside a debt is in doubt.
   */
  borrowed?: 'excluded' | Borrowed
  /** Several coins may have one name. */
  numberedCoins?: NumberedCoins
  /** A member of a trade that its fee contains, and that ccxt adds to it. */
  partOfFee?: string
  openLosses?: OpenLosses
  rights?: Rights
  /** Accounts for which the endpoint says this are read by another provider, with all their assets. */
  elsewhere?: { endpoint: string; place: string; is: string; cost: number; reason: RefusalReason }
}
