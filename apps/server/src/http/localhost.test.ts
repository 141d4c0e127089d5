/** A server at `localhost`, on a machine where that name has two addresses. */
import assert from 'node:assert/strict'
import dns from 'node:dns'
import { connect } from 'node:net'
import { it } from 'node:test'
import { startTestServer } from './test-server.ts'

const addresses = ['127.0.0.1', '127.0.0.2']

async function ask(host: string, port: number, request: string): Promise<string> {
  const socket = connect(port, host)
  socket.on('error', () => undefined)
  socket.write(request)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

it('answers and limits requests alike at each of its addresses', async (t) => {
  const lookUp = dns.lookup
  t.mock.method(dns, 'lookup', (name: string, ...words: unknown[]) => {
    const [options, answer] = words as [{ all?: boolean }, (...results: unknown[]) => void]
    if (name !== 'localhost') return void Reflect.apply(lookUp, dns, [name, ...words])
    const all = addresses.map((address) => ({ address, family: 4 }))
    setImmediate(() => (options.all === true ? answer(null, all) : answer(null, addresses[0], 4)))
  })
  const { server } = await startTestServer(t, { isChild: true })
  const port = Number(new URL(await server.listen({ host: 'localhost', port: 0 })).port)
  const head = 'Host: 127.0.0.1\r\nAuthorization: Bearer ann\r\n'
  const get = `GET /accounts/v2/rows HTTP/1.1\r\n${head}`
  for (const address of addresses) {
    const upgrade = await ask(address, port, `${get}Upgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n`)
    assert.match(upgrade, /^HTTP\/1\.1 200 /, address)
    const expectation = await ask(address, port, `${get}Expect: more\r\nConnection: close\r\n\r\n`)
    assert.match(expectation, /^HTTP\/1\.1 200 /, address)
    const crowd = ask(address, port, `${get}\r\n`.repeat(30))
    assert.equal(await crowd.catch(() => ''), '', address)
  }
})
