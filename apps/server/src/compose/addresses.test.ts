import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { parseConfig } from '../config/config.ts'
import { startAtAddresses, type Addresses } from './addresses.ts'

const host = '127.0.0.1'
const settings = { ASSAY_MODE: 'sandbox', ASSAY_SANDBOX_URL: 'http://127.0.0.1:9' }

async function listen(port: number): Promise<ReturnType<typeof createServer>> {
  const server = createServer().listen(port, host)
  await once(server, 'listening')
  return server
}

describe('the address of a service', () => {
  it('with port 0 changes when the port is taken before it is bound', async (t) => {
    const seen: Addresses[] = []
    const server = await startAtAddresses(parseConfig({ ...settings, ASSAY_PORT: '0' }), async (addresses) => {
      seen.push(addresses)
      if (seen.length === 1) {
        const other = await listen(addresses.port)
        t.after(() => other.close())
      }
      return listen(addresses.port)
    })
    t.after(() => server.close())
    const [first, second] = seen
    assert.equal(seen.length, 2)
    assert.notEqual(first?.port, second?.port)
    assert.equal((server.address() as AddressInfo).port, second?.port)
    assert.equal(second?.baseUrl, `http://${host}:${second?.port}`)
  })

  it('with a fixed port never uses another port', async (t) => {
    const taken = await listen(0)
    t.after(() => taken.close())
    const { port } = taken.address() as AddressInfo
    const starting = startAtAddresses(parseConfig({ ...settings, ASSAY_PORT: String(port) }), () => listen(port))
    await assert.rejects(starting, { code: 'EADDRINUSE', port })
  })
})
