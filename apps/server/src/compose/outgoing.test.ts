import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { fetchUntrusted } from './outgoing.ts'

/** Answers each request by what `answer` writes to its connection. */
async function startHost(t: TestContext, answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).once('data', () => answer(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n'

describe('a call to a host that is not trusted', () => {
  it('is ended when the host sends interim responses without an end', async (t) => {
    const url = await startHost(t, (socket) => {
      const flood = (): void => {
        while (!socket.destroyed && socket.write(interim.repeat(1_000)));
        socket.once('drain', flood)
      }
      flood()
    })
    const ended = await fetchUntrusted(url).catch((error: unknown) => error)
    assert.ok(ended instanceof TypeError)
    assert.deepEqual(
      ended.cause instanceof Error && 'code' in ended.cause ? ended.cause.code : undefined,
      'INTERIM_RESPONSES',
    )
  })

  it('has its answer when the host sends a few first', async (t) => {
    const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone'
    const url = await startHost(t, (socket) => void socket.end(interim.repeat(10) + answer))
    const response = await fetchUntrusted(url)
    assert.equal(response.status, 200)
    assert.equal(await response.text(), 'done')
  })

  it('still ends by the signal of its caller', async (t) => {
    const url = await startHost(t, () => undefined)
    const signal = AbortSignal.timeout(50)
    await assert.rejects(fetchUntrusted(url, { signal }), { name: 'TimeoutError' })
  })
})
