import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { WebhookError } from './errors.ts'
import { verifyWebhook } from './webhooks.ts'

const secret = `whsec_${Buffer.from('a secret of some length, 24+').toString('base64')}`
const nowMs = Date.UTC(2026, 2, 2)
const body =
  '{"type":"connection.changed","timestamp":"2026-03-02T00:00:00.000Z","data":{"change":"read","user_id":"usr_1","connection_id":"con_1"}}'

function signed(content: string, key = secret, seconds = nowMs / 1_000): Record<string, string> {
  const bytes = Buffer.from(key.replace('whsec_', ''), 'base64')
  const signature = createHmac('sha256', bytes).update(`msg_1.${seconds}.${content}`).digest('base64')
  return { 'webhook-id': 'msg_1', 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` }
}

describe('a webhook', () => {
  it('is accepted when the secret signed it, from Headers or a plain record', async () => {
    const headers = signed(body)
    assert.deepEqual(await verifyWebhook({ headers, body }, secret, { nowMs }), JSON.parse(body))
    assert.deepEqual(await verifyWebhook({ headers: new Headers(headers), body }, secret, { nowMs }), JSON.parse(body))
  })

  it('is an event whose type determines its data', async () => {
    const event = await verifyWebhook({ headers: signed(body), body }, secret, { nowMs })
    assert.equal(event.type === 'connection.changed' ? event.data.change : undefined, 'read')
  })

  it('is accepted while a secret is being replaced, on either side', async () => {
    const other = `whsec_${Buffer.from('another secret, 24 bytes').toString('base64')}`
    const both = `${signed(body, other)['webhook-signature']} v1a,xyz ${signed(body)['webhook-signature']}`
    await verifyWebhook({ headers: { ...signed(body), 'webhook-signature': both }, body }, secret, { nowMs })
    await verifyWebhook({ headers: signed(body, other), body }, [secret, other], { nowMs })
  })

  const forged: [string, () => Parameters<typeof verifyWebhook>][] = [
    ['its body was changed', () => [{ headers: signed(body), body: `${body} ` }, secret, { nowMs }]],
    ['its id was changed', () => [{ headers: { ...signed(body), 'webhook-id': 'msg_2' }, body }, secret, { nowMs }]],
    ['another secret signed it', () => [{ headers: signed(body, 'whsec_AAAA'), body }, secret, { nowMs }]],
    ['it is older than five minutes', () => [{ headers: signed(body), body }, secret, { nowMs: nowMs + 301_000 }]],
    ['it comes from the future', () => [{ headers: signed(body), body }, secret, { nowMs: nowMs - 301_000 }]],
    ['it has no signature', () => [{ headers: { ...signed(body), 'webhook-signature': '' }, body }, secret, { nowMs }]],
    [
      'its signature is not base64',
      () => [{ headers: { ...signed(body), 'webhook-signature': 'v1,%' }, body }, secret, { nowMs }],
    ],
    ['the secret is empty', () => [{ headers: signed(body, 'whsec_'), body }, 'whsec_', { nowMs }]],
    ['its time is not a number', () => [{ headers: { ...signed(body), 'webhook-timestamp': 'now' }, body }, secret]],
  ]
  for (const [why, request] of forged) {
    it(`is refused when ${why}`, () => assert.rejects(verifyWebhook(...request()), WebhookError))
  }
})
