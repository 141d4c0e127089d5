/** Five hundred of the campaign's twenty thousand (`npm run campaign -- bad-input`), against the whole service. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { badInputSettings, sendBadInput, signInForBadInput, type BadInputReport } from './bad-input.ts'
import { fetchDocuments } from '../documents/openapi-documents.ts'
import { startTestService } from '../service.ts'

it('every malformed request gets a deliberate answer, on every call', async (t) => {
  const { url } = await startTestService(t, { settings: badInputSettings })
  const { operations } = await fetchDocuments(url)
  const { byStatus, faults } = await sendBadInput({
    url,
    operations,
    requests: 500,
    seed: 1,
    signIn: () => signInForBadInput(url),
  })
  assert.deepEqual(faults, [])
  // Requests that fail at the first check say nothing about the others.
  for (const status of [200, 400, 401, 404, 405]) assert.ok((byStatus.get(status) ?? 0) > 0, String(status))
})

describe('the judge of the answers', () => {
  const problem = Buffer.from(
    JSON.stringify({
      type: 'about:blank',
      title: 'Bad request',
      status: 400,
      code: 'invalid_request',
      detail: 'x'.repeat(2_000),
      request_id: 'req_1',
      errors: [],
    }),
  )
  const headers = { 'content-type': 'application/problem+json', 'x-request-id': 'req_1' }

  /** What is found when every request that is HTTP is answered like this. */
  async function judge(t: TestContext, answer: (response: ServerResponse) => void): Promise<BadInputReport> {
    const server = createServer((request, response) => {
      request.on('error', () => undefined).resume()
      answer(response)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const signIn = async (): Promise<never> => ({}) as never
    const report = await sendBadInput({
      url: `http://127.0.0.1:${port}`,
      operations: [],
      requests: 40,
      seed: 1,
      signIn,
    })
    const isAnswered = (fault: string): boolean => fault.includes('application/problem+json')
    return { ...report, faults: report.faults.filter(isAnswered) }
  }

  it('reads a problem document that is compressed and sent in chunks', async (t) => {
    const { faults, byStatus } = await judge(t, (response) => {
      response.writeHead(400, { ...headers, 'content-encoding': 'gzip' })
      const packed = gzipSync(problem)
      response.write(packed.subarray(0, 10))
      response.end(packed.subarray(10))
    })
    assert.deepEqual(faults, [])
    assert.ok((byStatus.get(400) ?? 0) > 20)
  })

  it('reports a body that is cut short, and continues', async (t) => {
    const { faults, byStatus } = await judge(t, (response) => {
      response.writeHead(400, headers)
      response.end(problem.subarray(0, 100))
    })
    assert.ok(faults.length > 20)
    for (const fault of faults) assert.match(fault, /: a body that is not JSON\n/)
    assert.ok((byStatus.get(400) ?? 0) >= faults.length)
  })

  it('reports a problem document of another status', async (t) => {
    const { faults } = await judge(t, (response) => {
      response.writeHead(404, headers)
      response.end(problem)
    })
    assert.ok(faults.length > 20)
    for (const fault of faults) assert.match(fault, /: a problem document of another status\n/)
  })
})
