/**
 * The definitions of all exchanges that the generic connector reads, built from data. Every process loads this file.
 */
import { dayMs, hourMs } from '@assay/core'
import type { Budget, Stream } from '../../kit/connector.ts'
import type { CredentialField, KeyGuide, ProviderDefinition, ProviderMetadata } from '../../kit/definition.ts'
import type { About } from './about.ts'
import { findAbout } from './abouts.ts'
import { exchanges } from './exchanges.ts'
import type { ExchangeFacts } from './facts.ts'
import { listReadLists, type ReadList } from './lists.ts'

const byId: ReadonlyMap<string, ExchangeFacts> = new Map(exchanges.map((facts) => [facts.id, facts]))

/** Throws for an id that is not in the catalogue, which is a bug of the caller. */
export function getFacts(exchangeId: string): ExchangeFacts {
  const facts = byId.get(exchangeId)
  if (facts === undefined) throw new RangeError(`no exchange ${JSON.stringify(exchangeId)}`)
  return facts
}

export const ccxtDefinitions: readonly ProviderDefinition[] = exchanges.map(toDefinition)

function toDefinition(facts: ExchangeFacts): ProviderDefinition {
  const about = findAbout(facts.id)
  const name = about.name ?? facts.name
  const lists = listReadLists(facts)
  const [first, ...others] = [...Map.groupBy(lists, ({ stream }) => stream).values()].map((parts) =>
    toStream(name, parts),
  )
  return {
    metadata: toMetadata(facts, about, name, lists),
    streams: first === undefined ? [noHistory(name)] : [first, ...others],
    // This span joins the fills of one order. If a limit order stays open longer, its later fills are a new
    // transaction.
    storySpanMs: 7 * dayMs,
    // The two sides of a conversion are entries of the ledger, which some exchanges keep by coin.
    ...(!lists.some(({ stream, by }) => stream === 'ledger' && by !== null) && { storiesStayInLists: true }),
    ...(about.accountsOf !== undefined && { accountsOf: about.accountsOf }),
    ...(about.walletsOf !== undefined && { walletsOf: about.walletsOf }),
    ...(about.countsInClaims === true && { countsInClaims: true as const }),
    settlesMs: 60_000,
    // 2: fees within the ledgers of Bybit and OKX are charged once, more types of Bybit's loans are known, and so are more
    // sentences of Bitfinex.
    connectorVersion: 2,
    baseUrl: `https://${facts.hosts[0] ?? ''}`,
    hosts: facts.hosts.slice(1),
  }
}

function toStream(name: string, parts: readonly ReadList[]): Stream {
  const [list] = parts as [ReadList, ...ReadList[]]
  const what = {
    trades: 'trades',
    deposits: 'deposits',
    withdrawals: 'withdrawals',
    transfers: 'transfers',
    ledger: 'ledger entries',
  }
  const providerLimit = findLimit(name, what[list.stream], list)
  return {
    name: list.stream,
    unit: 'ms',
    partitioned: parts.some(({ by }) => by !== null),
    // pages.ts splits the window into pieces that the exchange accepts, so the years before it existed cost little.
    windowMax: null,
    retentionMs: list.retentionDays === null ? null : list.retentionDays * dayMs,
    // Transfers change until they are final. Unfinished ones are read again at any age; the overlap is for late rows.
    overlap: list.stream === 'trades' || list.stream === 'ledger' ? hourMs : dayMs,
    cost: { calls: list.cost },
    required: list.isRequired,
    providerLimit,
    remedy: providerLimit === null ? null : `${name} may offer the whole history as a file.`,
  }
}

function findLimit(name: string, what: string, list: ReadList): string | null {
  const limits = [findTimeLimit(name, what, list), list.leavesOut].filter((limit) => limit !== null)
  return limits.length === 0 ? null : limits.join(' ')
}

function findTimeLimit(name: string, what: string, list: ReadList): string | null {
  const { retentionDays, isRetentionOurs, isWhole } = list
  if (retentionDays !== null) {
    return isRetentionOurs
      ? `${name} is asked only for ${what} of the last ${retentionDays} days.`
      : `${name} keeps ${what} for ${retentionDays} days.`
  }
  return isWhole ? null : `${name} cannot list ${what} between two dates, so only part of a long history is read.`
}

function noHistory(name: string): Stream {
  return {
    name: 'history',
    unit: 'ms',
    partitioned: false,
    windowMax: null,
    retentionMs: null,
    overlap: hourMs,
    cost: {},
    required: true,
    providerLimit: `The history of ${name} cannot be read: only balances are shown.`,
    remedy: `${name} may offer the history as a file.`,
  }
}

function toMetadata(facts: ExchangeFacts, about: About, name: string, lists: readonly ReadList[]): ProviderMetadata {
  const isAddress = facts.credentials.includes('walletAddress')
  return {
    provider_id: facts.id,
    name,
    aliases: about.aliases ?? [],
    kind: 'exchange',
    connection_types: [isAddress ? 'wallet' : 'api_key'],
    // An address has no permissions. A key's permissions are checked if the exchange reports them.
    permission_check: isAddress || about.rights !== undefined ? 'full' : 'none',
    credential_fields: isAddress ? [addressField(name)] : toKeyFields(facts, about, name),
    required_permissions: isAddress ? [] : (about.permissions ?? ['Read']),
    guide: isAddress ? null : toGuide(about),
    features: { holdings: true, staking: false, transactions: lists.length > 0 },
    known_limits: listLimits(facts, about, name, lists),
    status: 'beta',
    website: about.website ?? facts.website,
    brand: { color: about.color ?? '#5b6472', short_name: [...name].slice(0, 2).join('') },
    popularity_rank: about.rank ?? null,
  }
}

function addressField(name: string): CredentialField {
  const hint = `The public address of your account at ${name}.`
  return { name: 'address', label: 'Address', secret: false, required: true, hint, shape: null }
}

function toKeyFields({ credentials }: ExchangeFacts, about: About, name: string): CredentialField[] {
  const third = credentials.find((asked) => asked === 'password' || asked === 'uid' || asked === 'accountId')
  const shared = { required: true, shape: null }
  const hasKey = credentials.includes('apiKey')
  const key = hasKey ? 'API key' : 'Merchant ID'
  return [
    {
      ...shared,
      name: 'api_key',
      label: key,
      secret: false,
      hint: `Create it at ${name} with read permission only.`,
    },
    credentials.includes('privateKey')
      ? {
          ...shared,
          name: 'secret_key',
          label: 'Private key',
          secret: true,
          hint: `The private half of the key pair whose public half you gave to ${name}. Paste all of it, from -----BEGIN to the end.`,
        }
      : { ...shared, name: 'secret_key', label: 'Secret key', secret: true, hint: 'Most exchanges show it only once.' },
    ...(third === undefined || !hasKey
      ? []
      : [
          {
            ...shared,
            name: 'passphrase' as const,
            label: about.third ?? 'Passphrase',
            secret: true,
            hint: thirdHint(third),
          },
        ]),
  ]
}

function thirdHint(third: string): string {
  return third === 'password'
    ? 'The passphrase that you chose for this key, not your login password.'
    : 'Shown next to the key.'
}

function toGuide({ menu, page, leaveEmpty }: About): KeyGuide | null {
  if (menu === undefined || page === undefined) return null
  return { page, menu, leave_empty: leaveEmpty ?? [], shown_once: null }
}

function listLimits(facts: ExchangeFacts, about: About, name: string, lists: readonly ReadList[]): string[] {
  const streams = new Set(lists.map(({ stream }) => stream))
  const hasFunding = streams.has('transfers') || (streams.has('deposits') && streams.has('withdrawals'))
  const partial = lists.filter(({ isWhole, retentionDays }) => !isWhole && retentionDays === null)
  return [
    ...(about.limits ?? []),
    ...new Set(lists.flatMap(({ leavesOut }) => leavesOut ?? [])),
    ...(lists.length === 0 ? [`The history of ${name} cannot be read: only balances are shown.`] : []),
    ...(lists.length > 0 && !streams.has('trades') ? [`Trades at ${name} cannot be read.`] : []),
    ...(lists.length > 0 && !hasFunding ? [`Some or all deposits and withdrawals at ${name} cannot be read.`] : []),
    ...(lists.some(({ by }) => by === 'symbol')
      ? [`${name} lists trades by pair only, so trades of delisted pairs may be missing.`]
      : []),
    ...(partial.length > 0
      ? [`Only part of a long history at ${name} is read (${partial.map(({ stream }) => stream).join(', ')}).`]
      : []),
    ...(facts.spot ? [] : ['Profits and losses on contracts are not in the history.']),
    ...(about.namesWallets === true
      ? []
      : [
          'Assets that are staked, lent, or held in a margin or futures wallet are shown only if the exchange includes them in the balance.',
        ]),
  ]
}

/** ccxt's rate limit for an exchange. It applies to our IP address, because most exchanges count calls by address. */
export function toBudget(facts: ExchangeFacts): Budget {
  const { intervalMs, balanceCost } = facts
  const { wallets = [{}], elsewhere } = findAbout(facts.id)
  const balances = balanceCost * wallets.flat().length + (elsewhere?.cost ?? 0)
  const perSecond = 1_000 / Math.max(1, intervalMs)
  // The capacity covers the most expensive call and the requests that load the markets. It is larger than any call: the
  // background waits for more tokens than a person's call needs, and both would wait for the same full bucket.
  const capacity = Math.ceil(Math.max(perSecond, balances + 10, ...facts.lists.map(({ cost }) => cost + 1)))
  const tier = (share: number): { capacity: number; refillPerSecond: number } => ({
    capacity,
    refillPerSecond: perSecond * share,
  })
  return {
    buckets: [{ name: 'calls', scope: 'address', tiers: [tier(1), tier(1 / 2), tier(1 / 8)] }],
    verify: { calls: balances + 5 },
    balances: { calls: balances },
    partitions: { calls: 1 },
  }
}
