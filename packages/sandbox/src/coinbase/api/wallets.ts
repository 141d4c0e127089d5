/**
 * GET /v2/accounts, one of them, and the same wallets in GET /api/v3/brokerage/accounts. Sources:
 * https://docs.cdp.coinbase.com/coinbase-app/track-apis/accounts,
 * https://docs.cdp.coinbase.com/api-reference/advanced-trade-api/rest-api/accounts/list-accounts
 *
 * A wallet that was never used has its currency's code for an id and no times (github.com/ccxt/ccxt,
 * `fetchAccountsV2`). `updated_at` does not show whether something happened (github.com/rotki/rotki), so here it never
 * changes. Staked assets are in a separate wallet, which v3 does not list.
 */
import { hash } from 'node:crypto'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { decodeNumber, encodeNumber } from '../../core/ids.ts'
import { toShortText } from '../../core/units.ts'
import { unitDecimals, type Currency } from '../assets.ts'
import type { CoinbaseAccount } from '../authentication.ts'
import { balanceOf, toIso, type Wallet } from '../history.ts'
import { decodeUuid, encodeUuid, toUuid } from '../ids.ts'
import { CoinbaseRefusal, toMoney } from '../wire.ts'
import { parsePaging, spanOf, toPage } from './paging.ts'

const v3LimitDefault = 49
const v3LimitMax = 250

export function walletIdOf(account: CoinbaseAccount, wallet: Wallet): string {
  return encodeUuid(account.id, 'wallet', wallet.number)
}

export function walletPathOf(account: CoinbaseAccount, wallet: Wallet): string {
  return `/v2/accounts/${walletIdOf(account, wallet)}`
}

/** A wallet that was used, or the currency of one that was not. */
export function getWallet(account: CoinbaseAccount, id: string): Wallet | Currency {
  const { wallets, unused } = account.world()
  const number = decodeUuid(account.id, 'wallet', id)
  const found = wallets.find((wallet) => wallet.number === number) ?? unused.find(({ code }) => code === id)
  if (found === undefined) throw new CoinbaseRefusal('not_found')
  return found
}

export function listWallets(account: CoinbaseAccount, query: URLSearchParams, context: CallContext): object {
  const paging = parsePaging(query)
  const { wallets, unused } = account.world()
  const newestFirst = [...wallets.toReversed(), ...unused]
  const all = paging.order === 'desc' ? newestFirst : newestFirst.toReversed()
  const ids = all.map((one) => ('key' in one ? walletIdOf(account, one) : one.code))
  const span = spanOf(paging, (id) => {
    const index = ids.indexOf(id)
    return index === -1 ? undefined : { index, isThere: true }
  })
  const view = { count: all.length, cut: (offset: number, size: number) => all.slice(offset, offset + size) }
  const page = context.cutPage(view, span.offset, span.size)
  const data = page.map((one) => describeWallet(account, one, context.nowMs))
  return toPage('/v2/accounts', paging, data, { before: span.offset > 0, more: span.offset + span.size < all.length })
}

export function describeWallet(account: CoinbaseAccount, one: Wallet | Currency, nowMs: number): { id: string } {
  const isUsed = 'key' in one
  const currency = isUsed ? one.currency : one
  const id = isUsed ? walletIdOf(account, one) : one.code
  const openedAt = isUsed ? toIso(one.openedAtTicks) : null
  const more = {
    name: nameOf(isUsed ? one.key : one.code),
    primary: isUsed && one === primaryOf(account),
    type: currency.isFiat ? 'fiat' : isUsed && one.key.endsWith('/vault') ? 'vault' : 'wallet',
    currency: describeCurrency(currency),
    balance: toMoney(isUsed ? balanceOf(one, nowMs) : 0n, currency),
    created_at: openedAt,
    updated_at: openedAt,
    resource: 'account',
    resource_path: `/v2/accounts/${id}`,
    allow_deposits: true,
    allow_withdrawals: true,
  }
  return { id, ...more }
}

export function describeCurrency(currency: Currency): object {
  const { code, name, exponent, isFiat } = currency
  const sortIndex = 100 + (parseInt(hash('sha256', code).slice(0, 4), 16) % 900)
  const shared = {
    code,
    name,
    color: `#${hash('sha256', code).slice(0, 6).toUpperCase()}`,
    sort_index: sortIndex,
    exponent,
  }
  if (isFiat) return { ...shared, type: 'fiat' }
  const slug = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  return { ...shared, type: 'crypto', address_regex: '^[A-Za-z0-9]{20,100}$', asset_id: assetIdOf(code), slug }
}

export function assetIdOf(code: string): string {
  return toUuid(hash('sha256', `coinbase asset\n${code}`).slice(0, 30), '5')
}

export function listBrokerageAccounts(account: CoinbaseAccount, query: URLSearchParams, nowMs: number): object {
  const text = query.get('limit') ?? String(v3LimitDefault)
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit < 1 || limit > v3LimitMax) throw new CoinbaseRefusal('INVALID_ARGUMENT')
  const cursor = query.get('cursor') ?? ''
  const offset = cursor === '' ? 0 : decodeNumber(account.id, 'accounts cursor', cursor)
  if (offset === undefined) throw new CoinbaseRefusal('INVALID_ARGUMENT')
  const all = tradable(account)
  const page = all.slice(offset, offset + limit)
  const hasNext = offset + limit < all.length
  return {
    accounts: page.map((wallet) => describeBrokerageAccount(account, wallet, nowMs)),
    has_next: hasNext,
    cursor: hasNext ? encodeNumber(account.id, 'accounts cursor', offset + limit) : '',
    size: page.length,
  }
}

export function showBrokerageAccount(account: CoinbaseAccount, id: string, nowMs: number): object {
  const wallet = tradable(account).find((one) => walletIdOf(account, one) === id)
  if (wallet === undefined) throw new CoinbaseRefusal('NOT_FOUND')
  return { account: describeBrokerageAccount(account, wallet, nowMs) }
}

export function portfolioIdOf(account: CoinbaseAccount): string {
  return encodeUuid(account.id, 'portfolio', 0)
}

function tradable(account: CoinbaseAccount): Wallet[] {
  return account.world().wallets.filter(({ key }) => !key.includes('/') && key !== 'ETH2')
}

function describeBrokerageAccount(account: CoinbaseAccount, wallet: Wallet, nowMs: number): object {
  const { code, isFiat } = wallet.currency
  const openedAt = toIso(wallet.openedAtTicks).replace('Z', '.000Z')
  return {
    uuid: walletIdOf(account, wallet),
    name: nameOf(wallet.key),
    currency: code,
    available_balance: { value: toShortText(balanceOf(wallet, nowMs), unitDecimals), currency: code },
    default: true,
    active: true,
    created_at: openedAt,
    updated_at: openedAt,
    deleted_at: null,
    type: isFiat ? 'ACCOUNT_TYPE_FIAT' : 'ACCOUNT_TYPE_CRYPTO',
    ready: true,
    hold: { value: '0', currency: code },
    retail_portfolio_id: portfolioIdOf(account),
    platform: 'ACCOUNT_PLATFORM_CONSUMER',
  }
}

/** There is one primary account, and it is a wallet. */
function primaryOf(account: CoinbaseAccount): Wallet | undefined {
  const { wallets } = account.world()
  return wallets.find(({ key }) => key === 'BTC') ?? wallets.find(({ currency }) => !currency.isFiat)
}

function nameOf(key: string): string {
  const [code = '', purpose] = key.split('/')
  if (code === 'ETH2') return 'Staked ETH'
  if (purpose === 'staked') return `Staked ${code}`
  return purpose === 'vault' ? `${code} Vault` : `${code} Wallet`
}
