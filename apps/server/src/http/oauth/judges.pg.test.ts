/**
 * Two certified client libraries, unmodified, go through every flow. Their only option is to allow http on loopback.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { demo, enterprise, redirectUri } from '../../oauth/test-oauth.ts'
import { startAuthServer } from './test-auth-server.ts'

describe('the authorization server, judged', async () => {
  const { url, oauth, tenants } = await startAuthServer()

  /** The user's part of the flow: the client's own authorization URL goes in, the callback URL comes out. */
  async function connect(authorizationUrl: URL): Promise<URL> {
    const request = await oauth.parseAuthorizationRequest(authorizationUrl.searchParams)
    const { tenantKey, tenantId } = request.client
    const owner = await tenants.ensureUser({ tenantKey, tenantId, externalUserId: 'ann' })
    const code = await oauth.issueAuthorizationCode({
      ...request,
      owner,
      connectSessionId: null,
      consent: { version: '1', text: 'Yes' },
    })
    return new URL(oauth.toCodeRedirect(request, code))
  }

  describe('by oauth4webapi', async () => {
    const loose = { [oauth4webapi.allowInsecureRequests]: true }
    const issuer = new URL(url)
    const discovery = await oauth4webapi.discoveryRequest(issuer, { algorithm: 'oauth2', ...loose })
    const server = await oauth4webapi.processDiscoveryResponse(issuer, discovery)
    const client = { client_id: demo.client_id }
    const secret = oauth4webapi.ClientSecretBasic(demo.client_secret)

    async function authorize() {
      const verifier = oauth4webapi.generateRandomCodeVerifier()
      const state = randomUUID()
      const asked = new URL(server.authorization_endpoint ?? '')
      asked.search = new URLSearchParams({
        client_id: client.client_id,
        redirect_uri: redirectUri,
        response_type: 'code',
        code_challenge: await oauth4webapi.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
      }).toString()
      const callback = oauth4webapi.validateAuthResponse(server, client, await connect(asked), state)
      return { callback, verifier }
    }

    async function redeem(authentication: oauth4webapi.ClientAuth) {
      const { callback, verifier } = await authorize()
      const response = await oauth4webapi.authorizationCodeGrantRequest(
        server,
        client,
        authentication,
        callback,
        redirectUri,
        verifier,
        loose,
      )
      return oauth4webapi.processAuthorizationCodeResponse(server, client, response)
    }

    it('short-term with the verifier alone gives no refresh token', async () => {
      const answer = await redeem(oauth4webapi.None())
      assert.equal(answer.expires_in, 900)
      assert.equal(answer.refresh_token, undefined)
    })

    for (const [name, authentication] of [
      ['client_secret_basic', secret],
      ['client_secret_post', oauth4webapi.ClientSecretPost(demo.client_secret)],
    ] as const) {
      it(`long-term with ${name}, then refresh, introspect and revoke`, async () => {
        const first = await redeem(authentication)
        const request = await oauth4webapi.refreshTokenGrantRequest(
          server,
          client,
          authentication,
          first.refresh_token ?? '',
          loose,
        )
        const second = await oauth4webapi.processRefreshTokenResponse(server, client, request)
        const ask = async () =>
          oauth4webapi.processIntrospectionResponse(
            server,
            client,
            await oauth4webapi.introspectionRequest(server, client, authentication, second.access_token, loose),
          )
        assert.equal((await ask()).active, true)
        const revocation = await oauth4webapi.revocationRequest(
          server,
          client,
          authentication,
          second.refresh_token ?? '',
          loose,
        )
        await oauth4webapi.processRevocationResponse(revocation)
        assert.deepEqual(await ask(), { active: false })
      })
    }

    it('client_credentials', async () => {
      const tenant = { client_id: enterprise.client_id }
      const response = await oauth4webapi.clientCredentialsGrantRequest(
        server,
        tenant,
        oauth4webapi.ClientSecretBasic(enterprise.client_secret),
        { scope: 'enterprise:read' },
        loose,
      )
      const answer = await oauth4webapi.processClientCredentialsResponse(server, tenant, response)
      assert.equal(answer.scope, 'enterprise:read')
    })

    it('a wrong secret gives an error that the library understands (RFC 6749 §5.2)', async () => {
      await assert.rejects(redeem(oauth4webapi.ClientSecretBasic('wrong')), (error: unknown) => {
        // It reads WWW-Authenticate first, as RFC 9110 §11.6.1 requires.
        return error instanceof oauth4webapi.WWWAuthenticateChallengeError && error.cause[0]?.scheme === 'basic'
      })
    })
  })

  describe('by openid-client', () => {
    const discover = (client: typeof demo, authentication?: openid.ClientAuth) =>
      openid.discovery(new URL(url), client.client_id, undefined, authentication, {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
      })

    async function redeem(configuration: openid.Configuration) {
      const pkceCodeVerifier = openid.randomPKCECodeVerifier()
      const expectedState = randomUUID()
      const asked = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'assets:read transactions:read offline_access',
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
        state: expectedState,
      })
      return openid.authorizationCodeGrant(configuration, await connect(asked), { pkceCodeVerifier, expectedState })
    }

    it('short-term', async () => {
      const answer = await redeem(await discover(demo, openid.None()))
      assert.equal(answer.scope, 'assets:read transactions:read offline_access')
      assert.equal(answer.refresh_token, undefined)
    })

    it('long-term, refresh with a narrower scope, introspect, revoke', async () => {
      const configuration = await discover(demo, openid.ClientSecretPost(demo.client_secret))
      const first = await redeem(configuration)
      const narrow = { scope: 'assets:read' }
      const second = await openid.refreshTokenGrant(configuration, first.refresh_token ?? '', narrow)
      assert.equal(second.scope, 'assets:read')
      assert.equal((await openid.tokenIntrospection(configuration, second.access_token)).scope, 'assets:read')
      await openid.tokenRevocation(configuration, second.access_token)
      assert.equal((await openid.tokenIntrospection(configuration, second.access_token)).active, false)
    })

    it('client_credentials', async () => {
      const configuration = await discover(enterprise, openid.ClientSecretBasic(enterprise.client_secret))
      const answer = await openid.clientCredentialsGrant(configuration)
      assert.equal(answer.scope, 'enterprise:read enterprise:manage')
    })

    it('a replayed code is invalid_grant', async () => {
      const configuration = await discover(demo, openid.ClientSecretPost(demo.client_secret))
      const checks = { pkceCodeVerifier: openid.randomPKCECodeVerifier(), expectedState: randomUUID() }
      const asked = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        code_challenge: await openid.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
        code_challenge_method: 'S256',
        state: checks.expectedState,
      })
      const callback = await connect(asked)
      await openid.authorizationCodeGrant(configuration, callback, checks)
      await assert.rejects(openid.authorizationCodeGrant(configuration, callback, checks), { error: 'invalid_grant' })
    })
  })
})
