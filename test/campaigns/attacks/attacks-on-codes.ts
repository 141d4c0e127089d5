/** Attacks on the authorization request, codes and tokens (RFC 9700 §4, RFC 6819 §4). */
import { generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto'
import { authorize, demo, redeem } from '../../application.ts'
import {
  ask,
  askToken,
  bearer,
  beginConnectSession,
  codeFields,
  newPkce,
  postJson,
  refuse,
  type AttackWorld,
} from './attacks-world.ts'

type Attack = (world: AttackWorld) => Promise<void>

const isGone = async (url: string, token: string): Promise<boolean> =>
  (await ask(`${url}/accounts/v2/providers`, bearer(token))).status === 401

const withoutVerifier = (code: string): Record<string, string> =>
  Object.fromEntries(Object.entries(codeFields(code, '')).filter(([name]) => name !== 'code_verifier'))

/** A JWT by ES256 (RFC 7518 §3.4). */
function signToken(key: KeyObject, kid: string, claims: object): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = `${part({ alg: 'ES256', kid })}.${part(claims)}`
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

const secretOf = { client_id: demo.clientId, client_secret: demo.secret }

export const attacksOnCodes: Readonly<Record<string, Attack>> = {
  async 'code replay'({ url }) {
    const authorization = await authorize(url, 'replayed', [])
    const { access_token: token } = await redeem(url, authorization)
    const again = await askToken(url, codeFields(authorization.code, authorization.verifier))
    refuse(again.body['error'] === 'invalid_grant', 'a code worked twice')
    refuse(await isGone(url, token), 'tokens of a replayed code still work')
  },
  async 'code injection'({ url }) {
    const stolen = await authorize(url, 'injected', [])
    const own = await authorize(url, 'injector', [])
    const mixed = await askToken(url, codeFields(stolen.code, own.verifier))
    refuse(mixed.body['error'] === 'invalid_grant', 'a stolen code worked with another verifier')
    const { status } = await askToken(url, codeFields(stolen.code, stolen.verifier))
    refuse(status === 200, 'trying a stolen code spoiled it for its owner')
  },
  async 'PKCE downgrade: no verifier'({ url }) {
    const { code } = await authorize(url, 'downgraded', [])
    const fields = withoutVerifier(code)
    refuse((await askToken(url, fields)).status === 400, 'a code worked without verifier and secret')
  },
  async 'PKCE downgrade: plain for S256'({ url }) {
    const { code, verifier } = await authorize(url, 'plain', [])
    const challenge = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
    const asVerifier = Buffer.from(challenge).toString('base64url')
    const sent = { ...codeFields(code, asVerifier), code_challenge_method: 'plain' }
    refuse((await askToken(url, sent)).body['error'] === 'invalid_grant', 'the challenge worked as its own verifier')
  },
  async 'PKCE downgrade: plain at a strict client'({ url, tenants }) {
    await tenants.updateClient(demo.clientId, { s256Only: true, requireCodeVerifier: true })
    try {
      const { redirectTo, secret } = await beginConnectSession(url, {
        code_challenge_method: 'plain',
        code_challenge: 'v'.repeat(43),
      })
      refuse(secret === null && redirectTo?.includes('error=invalid_request') === true, 'plain at an s256_only client')
      const { code } = await authorize(url, 'strict', [])
      const fields = withoutVerifier(code)
      const { status } = await askToken(url, { ...fields, client_secret: demo.secret })
      refuse(status === 400, 'a secret replaced the verifier that the client must send')
    } finally {
      await tenants.updateClient(demo.clientId, { s256Only: false, requireCodeVerifier: false })
    }
  },
  async 'refresh replay'({ url }) {
    const first = await redeem(url, await authorize(url, 'refreshed', []))
    const rotate = (token: string) => askToken(url, { grant_type: 'refresh_token', refresh_token: token, ...secretOf })
    const second = await rotate(first.refresh_token)
    const third = await rotate(String(second.body['refresh_token']))
    const replayed = await rotate(first.refresh_token)
    refuse(replayed.body['error'] === 'invalid_grant', 'a spent refresh token worked')
    refuse(await isGone(url, String(third.body['access_token'])), 'the family survived a replay')
  },
  async 'refresh token of another client'({ url, sibling }) {
    const { refresh_token: token } = await redeem(url, await authorize(url, 'lent', []))
    const as = { client_id: sibling.clientId, client_secret: sibling.secret }
    const { status } = await askToken(url, { grant_type: 'refresh_token', refresh_token: token, ...as })
    refuse(status === 400, 'another client used a refresh token')
  },
  async 'scope escalation'({ url }) {
    const { verifier, challenge } = newPkce()
    const { body } = await postJson(`${url}/sandbox/authorizations`, {
      ...{ client_id: demo.clientId, code_challenge: challenge, code_challenge_method: 'S256', state: randomUUID() },
      ...{ user: 'narrow', providers: [], scope: 'assets:read offline_access' },
    })
    const { body: tokens } = await askToken(url, {
      ...codeFields(String(body['code']), verifier),
      client_secret: demo.secret,
    })
    const transactions = await ask(`${url}/accounts/v2/transactions`, bearer(String(tokens['access_token'])))
    refuse(transactions.status === 403, 'a scope that was not given was honoured')
    const wider = { grant_type: 'refresh_token', refresh_token: String(tokens['refresh_token']), ...secretOf }
    const widened = await askToken(url, { ...wider, scope: 'assets:read transactions:read' })
    refuse(widened.body['error'] === 'invalid_scope', 'a refresh widened the scope')
    const tenant = await askToken(url, { grant_type: 'client_credentials', ...secretOf, scope: 'enterprise:read' })
    refuse(tenant.status === 400, 'a client without enterprise scopes got one')
  },
  async 'mix-up'({ url, victim, stranger }) {
    const issuer = new URL(victim.authorization.redirect_to).searchParams.get('iss')
    const metadata = await ask(`${url}/.well-known/oauth-authorization-server`)
    refuse(issuer === url && metadata.body['issuer'] === url, 'an answer does not name its issuer (RFC 9207)')
    const { code, verifier } = await authorize(url, 'mixed', [])
    const fields = { ...codeFields(code, verifier), client_id: stranger.clientId, client_secret: stranger.secret }
    const elsewhere = await askToken(url, { ...fields, redirect_uri: 'https://other.example/cb' })
    refuse(elsewhere.body['error'] === 'invalid_grant', 'a code worked for another client')
  },
  async 'redirect_uri tricks'({ url }) {
    const tricks = [
      ...['http://127.0.0.1:4100/callback/', 'http://127.0.0.1:4100/callback/../x', 'http://127.0.0.1:4100/callbackx'],
      ...['http://evil@127.0.0.1:4100/callback', 'http://127.0.0.1:4100@evil.example/callback'],
      ...['http://127.0.0.1:4100/%63allback', 'http://127.0.0.1:4100/callback%2f', 'http://127.0.0.1:4100/callback#f'],
      ...['http://127.0.0.1:4101/callback', 'http://127.0.0.1/callback', 'http://localhost:4100/callback'],
      ...['http://[::1]:4100/callback', 'http://127.1:4100/callback', 'http://2130706433:4100/callback'],
      ...['HTTP://127.0.0.1:4100/callback', 'https://evil.example/callback', '//evil.example', 'javascript:alert(1)'],
    ]
    for (const trick of tricks) {
      const { secret, redirectTo } = await beginConnectSession(url, { redirect_uri: trick })
      refuse(secret === null && redirectTo === null, `redirect_uri ${trick} was taken`)
    }
  },
  async 'open redirect'({ url }) {
    for (const mistake of [{ scope: 'everything' }, { response_type: 'token' }, { code_challenge: 'short' }]) {
      const { redirectTo } = await beginConnectSession(url, { ...mistake, redirect_uri: 'https://evil.example/' })
      refuse(redirectTo === null, 'an error was sent to an address that is not registered')
    }
    const { redirectTo, secret } = await beginConnectSession(url, {
      client_id: 'cli_nobody',
      redirect_uri: demo.redirectUri,
    })
    refuse(redirectTo === null && secret === null, 'an unknown client was answered at its address')
  },
  async 'login_token replay'({ url, tenants }) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const kid = await tenants.addLoginKey(demo.clientId, publicKey.export({ format: 'jwk' }))
    const { challenge } = newPkce()
    const iat = Math.floor(Date.now() / 1_000)
    const claims = { iss: demo.clientId, sub: 'named', aud: url, code_challenge: challenge, iat, exp: iat + 60 }
    const write = (more: object = {}): string => signToken(privateKey, kid, { ...claims, jti: randomUUID(), ...more })
    const use = async (token: string) =>
      (await beginConnectSession(url, { code_challenge: challenge, login_token: token })).secret
    const token = write()
    refuse((await use(token)) !== null && (await use(token)) === null, 'a login token worked twice')
    const other = write({ code_challenge: newPkce().challenge })
    refuse((await use(other)) === null, 'a login token worked for another request')
    await tenants.removeLoginKey(demo.clientId, kid)
    refuse((await use(write())) === null, 'a removed login key signed a user in')
  },
}
