import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { OpenApiOperation } from '@assay/contract'
import { toCurl } from './curl.ts'

const operation: OpenApiOperation = {
  operationId: 'x',
  summary: '',
  description: '',
  tags: [],
  security: [{ user: ['assets:read'] }],
  parameters: [],
  responses: {},
}

describe('the command of a call', () => {
  it('has path and query with encoded values, and lists separated by commas', () => {
    const parameters: OpenApiOperation['parameters'] = [
      { name: 'id', in: 'path', required: true, schema: {}, example: 'a/b' },
      { name: 'start_time', in: 'query', required: false, schema: {}, example: '2026-01-01T00:00:00+01:00' },
      { name: 'types', in: 'query', required: false, schema: {}, example: ['send', 'receive'] },
      { name: 'cursor', in: 'query', required: false, schema: {} },
    ]
    assert.equal(
      toCurl({ route: '/things/{id}', method: 'GET', operation: { ...operation, parameters } }, 'https://api.example'),
      `curl 'https://api.example/things/a%2Fb?start_time=2026-01-01T00%3A00%3A00%2B01%3A00&types=send,receive' \\
  -H 'Authorization: Bearer <access token>'`,
    )
  })

  it('has the body as one shell word, whatever it contains', () => {
    const requestBody = { content: { 'application/json': { example: { label: "Ann's $HOME" } } } }
    const sent = toCurl({ route: '/x', method: 'POST', operation: { ...operation, security: [], requestBody } }, '')
    assert.equal(
      sent,
      String.raw`curl '/x' \
  -H 'Content-Type: application/json' \
  -d '{"label":"Ann'\''s $HOME"}'`,
    )
  })

  it('names the method where curl would choose another', () => {
    assert.match(toCurl({ route: '/x', method: 'DELETE', operation }, ''), /^curl -X DELETE '\/x'/)
    assert.match(toCurl({ route: '/x', method: 'POST', operation }, ''), /^curl -X POST /)
  })
})
