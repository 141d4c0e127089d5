/**
 * Where cancel requests go. A server that records what it receives, over TLS with a shared key, plays the server in
 * between.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import { sendCancel, type Cancellable } from './cancel.ts'

const psk = { psk: Buffer.alloc(16, 7), identity: 'test' }
const ciphers = { ciphers: 'PSK', minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' } as const
const sslRequest = '0000000804d2162f'
const cancelRequest = '0000001004d2162e0000000700000009'

/** Answers a request for TLS with this letter, and records what arrives in the clear and over TLS. */
async function listen(t: TestContext, letter: string): Promise<{ port: number; clear: string[]; secret: string[] }> {
  const [clear, secret]: [string[], string[]] = [[], []]
  const behindTls = tls.createServer({ ...ciphers, pskCallback: () => psk.psk }, (secure) => {
    secure.once('data', (more: Buffer) => {
      secret.push(more.toString('hex'))
      secure.destroy()
    })
  })
  behindTls.on('tlsClientError', (_, socket) => void socket.destroy())
  const server = createServer((socket: Socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (bytes) => {
      clear.push(bytes.toString('hex'))
      if (bytes.toString('hex') !== sslRequest) return void socket.destroy()
      socket.write(letter)
      if (letter !== 'S') return void socket.on('data', (more) => clear.push(more.toString('hex')))
      behindTls.emit('connection', socket)
    })
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, clear, secret }
}

const toClient = (port: number, ssl: Cancellable['ssl']): Cancellable => ({
  ...{ processID: 7, secretKey: 9, host: '127.0.0.1', port, ssl, sslNegotiation: 'postgres' },
})
const withTls = { ...ciphers, pskCallback: () => psk, checkServerIdentity: () => undefined }

describe('a cancel request', () => {
  it('uses TLS when the connection does, so that its secret key is not sent in the clear', async (t) => {
    const { port, clear, secret } = await listen(t, 'S')
    await sendCancel(toClient(port, withTls))
    assert.deepEqual([clear, secret], [[sslRequest], [cancelRequest]])
  })

  it('is not sent at all when the server, or one in between, offers no TLS', async (t) => {
    for (const letter of ['N', 'SS', 'E']) {
      const { port, clear } = await listen(t, letter)
      await sendCancel(toClient(port, withTls))
      assert.deepEqual(clear, [sslRequest], letter)
    }
  })

  it('is sent in the clear when the connection is', async (t) => {
    const { port, clear } = await listen(t, 'S')
    await sendCancel(toClient(port, false))
    assert.deepEqual(clear, [cancelRequest])
  })
})
