/** The tenant's webhook, received by a real server: signed, in order of events, tried again, and never redirected. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { openAdmin } from '@assay/server/admin'
import { parseConfig } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { verifyWebhook } from '@assay/sdk'
import { connect, untilRead } from '../application.ts'
import { startTestService, type TestService } from '../service.ts'
import { until } from '../until.ts'

interface Received {
  headers: IncomingHttpHeaders
  body: string
}

async function startReceiver(
  t: TestContext,
  /** By how often this message has come. */
  answer: (tries: number) => number,
): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(parts).toString() })
      const tries = listTries(received, request.headers['webhook-id'])
      response.writeHead(answer(tries.length), { location: '/elsewhere' }).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, received }
}

function listTries(received: readonly Received[], id: unknown): Received[] {
  return received.filter(({ headers }) => headers['webhook-id'] === id)
}

async function setWebhook(service: TestService, url: string): Promise<string> {
  const admin = await openAdmin(parseConfig(service.environment, 'command'), createLog({ level: 'error' }))
  try {
    const [tenant] = await admin.tenants.listTenants()
    return await admin.webhooks.set(tenant?.tenantId ?? '', url)
  } finally {
    await admin.close()
  }
}

interface Message {
  type: string
  data: { change?: string; connection_id: string; added?: number; changed?: number; removed?: number }
}

const messagesOf = (received: readonly Received[], type: string): Message['data'][] =>
  received.flatMap(({ body }) => {
    const message = JSON.parse(body) as Message
    return message.type === type ? [message.data] : []
  })
const changesOf = (received: readonly Received[]): (string | undefined)[] =>
  messagesOf(received, 'connection.changed').map(({ change }) => change)

describe('connection.changed', () => {
  it('is sent for a first read and for a removal, signed as Standard Webhooks requires', async (t) => {
    const service = await startTestService(t)
    const { url, received } = await startReceiver(t, () => 204)
    const secret = await setWebhook(service, url)
    const { token, authorization } = await connect(service.url, 'told', [{ provider_id: 'kraken', scenario: 'empty' }])
    await untilRead(service.url, token)
    await until('word of the first read', () => changesOf(received).includes('read') || undefined)
    const id = authorization.connections[0]?.connection_id ?? ''
    await fetch(`${service.url}/accounts/v2/providers?connection_id=${id}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${token}` },
    })
    await until('word of the removal', () => changesOf(received).includes('removed') || undefined)
    // Nothing was read that could change, and the answer to the removal has said that everything is destroyed.
    for (const type of ['transactions.changed', 'connection.destroyed']) {
      assert.deepEqual(messagesOf(received, type), [])
    }
    for (const { headers, body } of received) {
      const text = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`
      const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
      assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(text).digest('base64')}`)
      assert.equal((JSON.parse(body) as { data: { connection_id: string } }).data.connection_id, id)
    }
  })

  it('can be verified after the sandbox clock was moved', async (t) => {
    const service = await startTestService(t)
    const { url, received } = await startReceiver(t, () => 204)
    const secret = await setWebhook(service, url)
    const moved = await fetch(`${service.url}/sandbox/clock`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ advance_ms: 30 * 86_400_000 }),
    })
    assert.equal(moved.status, 200)
    await connect(service.url, 'later', [{ provider_id: 'kraken', scenario: 'empty' }])
    const { headers, body } = await until('word of the first read', () => received[0])
    // Throws when the header is more than five minutes away from real time.
    const event = (await verifyWebhook({ headers, body }, secret)) as { timestamp: string }
    // What happened is dated by the service's own clock, as everything that the API says.
    assert.ok(Date.parse(event.timestamp) > Date.now() + 29 * 86_400_000)
  })

  it('announces new transactions once, however many commits brought them', async (t) => {
    const service = await startTestService(t)
    const { url, received } = await startReceiver(t, () => 204)
    await setWebhook(service, url)
    const { token, authorization } = await connect(service.url, 'counted', [{ provider_id: 'kraken' }])
    await untilRead(service.url, token)
    const id = authorization.connections[0]?.connection_id
    await until('word of transactions', () => messagesOf(received, 'transactions.changed').length > 0 || undefined)
    const messages = messagesOf(received, 'transactions.changed')
    assert.equal(messages.length, 1)
    assert.equal(messages[0]?.connection_id, id)
    assert.ok((messages[0]?.added ?? 0) > 0)
  })

  it('is retried with the same id after a failure, and a redirect counts as a failure', async (t) => {
    const service = await startTestService(t)
    const { url, received } = await startReceiver(t, (tries) => [500, 302, 200][tries - 1] ?? 200)
    await setWebhook(service, url)
    const { token } = await connect(service.url, 'told again', [{ provider_id: 'kraken', scenario: 'empty' }])
    await untilRead(service.url, token)
    const first = await until('the first try', () => received[0])
    const tries = () => listTries(received, first.headers['webhook-id'])
    await until('three tries', () => tries()[2])
    assert.equal(new Set(tries().map(({ body }) => body)).size, 1)
  })

  it('is sent only to loopback addresses in sandbox mode', async (t) => {
    const service = await startTestService(t, { role: 'api' })
    await assert.rejects(setWebhook(service, 'https://example.com/hook'), /loopback/)
    await assert.rejects(setWebhook(service, 'ftp://127.0.0.1/hook'), /https/)
  })
})
