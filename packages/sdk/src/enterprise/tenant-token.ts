/**
 * The tenant's own access token (RFC 6749 §4.4), requested when it is first needed and again when it expires, once for
 * all waiting calls. The client's secret is always at hand, so nothing has to be stored.
 */
import { marginMs, postForm, type TokenClient, type TokenHolder } from '../tokens.ts'

interface TenantToken {
  accessToken: string
  expiresAtMs: number
}

export function createTenantTokenHolder(client: TokenClient, scope: string): Pick<TokenHolder, 'get'> {
  let token: TenantToken | undefined
  let asking: Promise<string> | undefined

  async function ask(): Promise<string> {
    const text = await postForm(client, '/oauth/token', { grant_type: 'client_credentials', scope })
    const body = JSON.parse(text) as { access_token: string; expires_in: number }
    token = { accessToken: body.access_token, expiresAtMs: Date.now() + body.expires_in * 1_000 }
    return token.accessToken
  }

  return {
    async get(refused) {
      if (token !== undefined && token.accessToken !== refused && token.expiresAtMs - marginMs > Date.now()) {
        return token.accessToken
      }
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return asking
    },
  }
}
