/**
 * Says who the user is and what the caller may do: GET /v2/user, /v2/user/auth, /api/v3/brokerage/key_permissions.
 * Source: https://docs.cdp.coinbase.com/coinbase-app/oauth2-integration/scopes (`GET /user` needs no scope, and tells
 * more with `wallet:user:read` and `wallet:user:email`; `GET /user/auth` tells what was granted); field names of the
 * permissions as in github.com/coinbase/coinbase-advanced-py, `coinbase/rest/types/data_api_types.py`.
 */
import type { Caller, CoinbaseAccount } from '../authentication.ts'
import { encodeUuid } from '../ids.ts'
import { CoinbaseRefusal } from '../wire.ts'
import { portfolioIdOf } from './wallets.ts'

const registeredAt = '2020-11-02T09:14:55Z'

/** This id is the same for every key and every sign-in of an account. */
export function userIdOf(account: CoinbaseAccount): string {
  return encodeUuid(account.id, 'user', 0)
}

export function showUser({ account, scopes }: Caller): object {
  const id = userIdOf(account)
  const isDetailed = scopes.has('wallet:user:read')
  return {
    data: {
      id,
      name: `${account.scenario.title} ${account.number.slice(0, 4)}`,
      username: null,
      profile_location: null,
      profile_bio: null,
      profile_url: null,
      avatar_url: `https://images.example.com/avatar/${id}.png`,
      resource: 'user',
      resource_path: `/v2/users/${id}`,
      ...(isDetailed && {
        time_zone: 'Amsterdam',
        native_currency: account.world().nativeCurrency,
        country: { code: 'NL', name: 'Netherlands', is_in_europe: true },
        state: null,
        region_supports_crypto_to_crypto_transfers: true,
        created_at: registeredAt,
      }),
      ...(scopes.has('wallet:user:email') && { email: `nora+${account.number.slice(0, 8)}@example.com` }),
    },
  }
}

export function showAuthorization({ via, scopes }: Caller): object {
  return { data: { method: via === 'oauth' ? 'oauth' : 'api_key', scopes: [...scopes], oauth_meta: {} } }
}

/** Only a key has permissions; a sign-in has scopes instead. */
export function showKeyPermissions({ account, via }: Caller): object {
  if (via === 'oauth') throw new CoinbaseRefusal('PERMISSION_DENIED')
  const { permissions } = account.key
  return {
    can_view: permissions.includes('view'),
    can_trade: permissions.includes('trade'),
    can_transfer: permissions.includes('transfer'),
    portfolio_uuid: portfolioIdOf(account),
    portfolio_type: permissions.includes('other-portfolio') ? 'CONSUMER' : 'DEFAULT',
  }
}
