/**
 * Every request that the OpenAPI documents show is sent to a running service, in an order a person could go through,
 * and answered with the documented status and a body that its schema describes. A call that is not sent here fails the
 * test.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openResource, until, type SignedIn } from '../../apps/server/src/http/test-resource.ts'
import { redeem } from '../application.ts'
import { fetchDocuments, toRequest, type Operation } from './openapi-documents.ts'

/** As the documents write them. */
const standIn = {
  connection: 'con_01jq8n7x2zf4tb9v6h3m5kcdwe',
  transaction: 'txn_5f3c0e8a9b7d4c21a6e0f4b2d8c19e37',
  refresh: 'rfr_01jq8n9c4mf5dbr3e8w6x2vtya',
  user: 'usr_01jq8n5v8qe3xr7t2m9k4hzwpc',
  grant: 'grt_01jq8n7x2zf4tb9v6h3m5kcdwe',
  session: '4c7a2f0e-6d0b-4c55-9a0e-1f5b7f3f8f11',
  mailedCode: '123456',
  apiKey: 'the key',
  secretKey: 'the secret',
}

/** Of the challenge in the example of createSession: RFC 7636, appendix B. */
const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'

interface Answer {
  status: number
  headers: Headers
  text: string
}

describe('the examples of the OpenAPI documents', async () => {
  const api = await openResource()
  const { operations, findFault, problem } = await fetchDocuments(api.url)
  const left = new Set(operations.map(({ operationId }) => operationId))

  const find = (id: string): Operation => {
    const operation = operations.find(({ operationId }) => operationId === id)
    assert.ok(operation !== undefined, `${id} is in no document`)
    return operation
  }

  /** Sends the example of a call and compares the answer with the document. */
  const send = async (
    id: string,
    token?: string,
    facts: Record<string, string> = {},
    status = 200,
  ): Promise<Answer> => {
    left.delete(id)
    const operation = find(id)
    const { method, target, body } = toRequest(operation, facts)
    const response = await fetch(`${api.url}${target}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    })
    const [mediaType = ''] = (response.headers.get('content-type') ?? '').split(';')
    const text = mediaType === 'application/x-ndjson' ? await readLine(response) : await response.text()
    assert.equal(response.status, status, `${method} ${target}: ${text}`)
    const fault = findFault(operation, { status, mediaType, body: JSON.parse(text) as unknown })
    assert.equal(fault, undefined, `${method} ${target}: ${text}`)
    for (const name of ['x-request-id', 'ratelimit', 'ratelimit-policy']) assert.ok(response.headers.has(name), name)
    return { status, headers: response.headers, text }
  }
  const ask = async <T>(...given: Parameters<typeof send>): Promise<T> => JSON.parse((await send(...given)).text) as T

  const { session_secret: keySession } = await ask<{ session_secret: string }>('createSession')
  /** A key of an account with nothing in it. */
  const freshKey = async (): Promise<Record<string, string>> => {
    const { fields } = await ask<{ fields: { api_key: string; secret_key: string } }>('createSandboxKey', keySession)
    return { [standIn.apiKey]: fields.api_key, [standIn.secretKey]: fields.secret_key }
  }
  /** A worker sends it. */
  const mailedCode = async (id: string, secret: string): Promise<string> => {
    type Help = { mail: { code: string } | null }
    const { mail } = await until(
      () => ask<Help>(id, secret),
      ({ mail: arrived }) => arrived !== null,
    )
    return mail?.code ?? ''
  }
  const newcomer = async (name: string): Promise<{ token: string; facts: Record<string, string>; user: SignedIn }> => {
    const user = await api.signIn(name, { providers: [{ provider_id: 'kraken', scenario: 'empty' }], read: false })
    const facts = { [standIn.connection]: user.connectionIds[0] ?? '', [standIn.user]: user.user_id }
    return { token: user.access_token, facts, user }
  }
  const ann = await api.signIn('ann', { providers: [{ provider_id: 'kraken' }] })
  const [connectionId = ''] = ann.connectionIds
  const ofAnn = { [standIn.connection]: connectionId, [standIn.user]: ann.user_id }

  it('v2: the calls with which a user reads work', async () => {
    const token = ann.access_token
    await send('listCatalog')
    await send('listProviders', token)
    await send('getCoverage', token, ofAnn)
    await send('getProof', token, ofAnn)
    await send('listAssets', token)
    await send('getAssetHistory', token)
    const { data } = await ask<{ data: { id: string }[] }>('listTransactions', token)
    await send('getTransaction', token, { [standIn.transaction]: data[0]?.id ?? '' })
    await send('explainTransaction', token, { [standIn.transaction]: data[0]?.id ?? '' })
    await send('exportTransactions', token)
    await send('listTransactionChanges', token)
    await send('makeClaim', token)
  })

  it('v2: the calls with which a user connects, refreshes and removes work', async () => {
    const { token, facts } = await newcomer('bob')
    await send('addProvider', token, await freshKey())
    await send('refreshAssets', token, facts)
    const { data } = await ask<{ data: { refresh_id: string } }>('refreshTransactions', token, facts)
    await send('getRefresh', token, { [standIn.refresh]: data.refresh_id })
    await send('removeProvider', token, facts)
  })

  it('v1: the same calls work, in v1’s own format', async () => {
    for (const id of ['listProvidersV1', 'listAssetsV1', 'listTransactionsV1']) await send(id, ann.access_token)
    const { token, facts } = await newcomer('cleo')
    await send('addProviderV1', token, await freshKey())
    await send('refreshAssetsV1', token, facts)
    await send('refreshTransactionsV1', token, facts)
    await send('removeProviderV1', token, facts)
  })

  it('a sign-in at a provider that was never begun is invalid_state, wherever it is completed', async () => {
    for (const id of ['completeProvider', 'completeProviderV1']) {
      const { errors } = await ask<{ errors: { cause: string }[] }>(id, ann.access_token, {}, 400)
      assert.equal(errors[0]?.cause, 'invalid_state')
    }
    await send('completeSessionCallback', keySession, {}, 400)
    assert.deepEqual(await ask('forwardProviderAnswer'), { redirect_to: null })
    assert.deepEqual(await ask('findProviderAsker'), { asker: null })
  })

  it('enterprise: a tenant can read what its users granted, and end a consent', async () => {
    const token = await api.enterpriseToken()
    for (const id of [
      'listEnterpriseTransactions',
      'listEnterpriseChanges',
      'listUsers',
      'searchUsers',
      'continueUserSearch',
      'listAccounts',
      'listEnterpriseProviders',
      'getUserStats',
      'getAccountStats',
      'getBalanceStats',
      'getTopAssets',
    ])
      await send(id, token)
    for (const id of ['getUser', 'listUserAssets', 'listUserTransactions']) await send(id, token, ofAnn)
    await send('endUser', token, (await newcomer('dan')).facts)
  })

  it('connect: the flow can be left and resumed', async () => {
    type Session = { session_secret: string; session: { session_id: string } }
    const signIn = async (): Promise<Session> => {
      const begun = await ask<Session>('createSession')
      await send('requestSessionCode', begun.session_secret)
      const code = await mailedCode('getSandboxHelp', begun.session_secret)
      await send('enterSessionCode', begun.session_secret, { [standIn.mailedCode]: code })
      await send('giveConsent', begun.session_secret, { [standIn.session]: begun.session.session_id })
      return begun
    }
    const first = await signIn()
    const add = async (secret: string): Promise<string> =>
      (await ask<{ data: { connection_id: string } }>('addSessionConnection', secret, await freshKey())).data
        .connection_id
    const added = await add(first.session_secret)
    await send('removeSessionConnection', first.session_secret, { [standIn.connection]: added })
    await add(first.session_secret)
    await send('getSession', first.session_secret)
    await send('followSession', first.session_secret)

    await api.moveClock(60)
    const second = await signIn()
    await send('resumeSession', second.session_secret, { [standIn.session]: first.session.session_id })
    const { redirect_to: address } = await ask<{ redirect_to: string }>('finishSession', second.session_secret)
    await redeem(api.url, { code: new URL(address).searchParams.get('code') ?? '', verifier })
    await send('declineSession', keySession)
  })

  it('manage: a user can view, revoke and delete', async () => {
    const { session_secret: secret } = await ask<{ session_secret: string }>('createManageSession')
    await api.moveClock(60)
    await send('requestManageCode', secret)
    const code = await mailedCode('getManageSandboxHelp', secret)
    await send('enterManageCode', secret, { [standIn.mailedCode]: code })
    // This is the person of the flow above.
    type Me = { connections: { connection_id: string }[]; grants: { grant_id: string }[] }
    const { connections, grants } = await ask<Me>('getMe', secret)
    await send('removeMyConnection', secret, { [standIn.connection]: connections[0]?.connection_id ?? '' })
    await send('revokeMyGrant', secret, { [standIn.grant]: grants[0]?.grant_id ?? '' })
    await send('deleteMe', secret)
    const { session_secret: other } = await ask<{ session_secret: string }>('createManageSession')
    await send('endManageSession', other)
  })

  it('are all of them', () => assert.deepEqual([...left], []))

  it('of the export table have the documented header row', async () => {
    const { headers, text } = await api.call('GET', '/accounts/v2/transactions/export?format=csv', ann.access_token)
    const content = find('exportTransactions').responses['200']?.['content'] as { 'text/csv': { example: string } }
    assert.match(headers.get('content-type') ?? '', /^text\/csv/)
    assert.equal(text.split('\r\n')[0], content['text/csv'].example.split('\r\n')[0])
  })

  it('of refusals match what the service returns', async () => {
    const said = async (...call: Parameters<typeof api.call>): Promise<unknown> => ({
      ...(await api.call<object>(...call)).body,
      request_id: 'req_01jq8n7x2zf4tb9v6h3m5kcdwe',
    })
    const token = ann.access_token
    const narrow = await api.signIn('eve', { scope: 'providers:read' })
    assert.deepEqual(await said('GET', '/accounts/v2/transactions?limit=1000', token), problem('v2', 'invalid_request'))
    assert.deepEqual(await said('GET', '/accounts/v2/assets', 'wrong'), problem('v2', 'invalid_token'))
    assert.deepEqual(await said('GET', '/accounts/v2/assets', narrow.access_token), problem('v2', 'insufficient_scope'))
    assert.deepEqual(await said('GET', '/accounts/v2/providers/con_x/coverage', token), problem('v2', 'not_found'))
    const large = { provider_id: 'x'.repeat(70_000) }
    assert.deepEqual(await said('POST', '/accounts/v2/providers', token, large), problem('v2', 'payload_too_large'))
  })
})

/** The first item of a continuing stream is enough. */
async function readLine(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    if (text.includes('\n')) break
  }
  return text.slice(0, text.indexOf('\n'))
}
