/** Callers that ask and do not read. */
import { defineEndpoint } from '@assay/contract'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { z } from 'zod'
import { until } from '../../../../../test/until.ts'
import { sendRaw, startTestServer, type TestServer } from '../test-server.ts'
import { unreadLimits, type UnreadLimits } from './unread.ts'

/** More than the kernel takes off the process for a caller who does not read. */
const longText = 'x'.repeat(16 * 1024 * 1024)

const getLong = defineEndpoint({
  ...{ summary: '', description: '', errors: [], example: { response: {} } },
  ...{ id: 'getLong', family: 'accounts_v2', method: 'GET', path: '/accounts/v2/long', scope: 'assets:read' },
  response: z.object({ text: z.string() }),
})

const getOpenLong = { ...getLong, id: 'getOpenLong', path: '/accounts/v2/open-long', scope: null } as const

function start(
  t: TestContext,
  unread: Partial<UnreadLimits>,
  others: { isChild?: boolean; trustedProxies?: string[] } = {},
): Promise<TestServer> {
  return startTestServer(t, {
    unread: { ...unreadLimits, ...unread },
    ...others,
    registerMore: (serve, app) => {
      for (const endpoint of [getLong, getOpenLong]) serve(app, endpoint, async () => ({ json: { text: longText } }))
    },
  })
}

const tokenOf = (caller: 'ann' | 'bob'): string => `Authorization: Bearer ${caller}`

/** A connection that has sent these requests and reads nothing. */
async function ask(
  t: TestContext,
  { url }: TestServer,
  paths: readonly string[],
  header = tokenOf('ann'),
): Promise<{ isOpen(): Promise<boolean> }> {
  const socket: Socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' })
  socket.on('error', () => undefined)
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  socket.pause()
  const head = `Host: 127.0.0.1\r\n${header}`
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\n${head}\r\n\r\n`).join(''))
  return {
    // A write tells: the other end answers with a reset once it has closed.
    isOpen: async () => {
      if (socket.destroyed) return false
      await new Promise((resolve) => socket.write('\r\n', resolve))
      return !socket.destroyed
    },
  }
}

async function openSockets({ server }: TestServer): Promise<number> {
  return new Promise((resolve, reject) =>
    server.app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error))),
  )
}

describe('an answer that is not read', () => {
  for (const isChild of [false, true]) {
    it(`is cut off when it is not taken in time${isChild ? ', also in one of several processes' : ''}`, async (t) => {
      const server = await start(t, { takenWithinMs: 200, lookEveryMs: 50 }, { isChild })
      const silent = await ask(t, server, ['/accounts/v2/long'])
      await until('the end', async () => ((await silent.isOpen()) ? undefined : true))
    })
  }

  it('does not concern a request that is still being worked on', async (t) => {
    const [begun, finished] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
    const server = await startTestServer(t, {
      unread: { ...unreadLimits, takenWithinMs: 100, lookEveryMs: 20 },
      registerMore: (serve, app) =>
        serve(app, getLong, async () => {
          begun.resolve(undefined)
          await finished.promise
          return { json: { text: 'at last' } }
        }),
    })
    const answer = server.get('/accounts/v2/long')
    await begun.promise
    // Several times what an answer may wait for: the connection would be cut off by now.
    await new Promise((resolve) => setTimeout(resolve, 400))
    finished.resolve(undefined)
    assert.deepEqual(await (await answer).json(), { text: 'at last' })
  })

  it('counts with all others, and those that have waited longest are cut off', async (t) => {
    const server = await start(t, { bytesMax: 20 * 1024 * 1024, lookEveryMs: 50 })
    const first = await ask(t, server, ['/accounts/v2/long'])
    await until('it waits', async () => ((await openSockets(server)) === 1 ? true : undefined))
    await new Promise((resolve) => setTimeout(resolve, 150))
    assert.equal(await first.isOpen(), true, 'one answer may wait')
    const second = await ask(t, server, ['/accounts/v2/long'])
    await until('the end of the first', async () => ((await first.isOpen()) ? undefined : true))
    await new Promise((resolve) => setTimeout(resolve, 150))
    assert.equal(await second.isOpen(), true)
    assert.equal((await server.get('/accounts/v2/rows')).status, 200)
  })

  const callers = [
    { who: 'caller', path: '/accounts/v2/long', slowOne: tokenOf('bob'), greedyOne: tokenOf('ann') },
    {
      who: 'address behind the same proxy',
      path: '/accounts/v2/open-long',
      slowOne: 'X-Forwarded-For: 192.0.2.1',
      greedyOne: 'X-Forwarded-For: 198.51.100.1',
    },
  ]
  for (const { who, path, slowOne, greedyOne } of callers) {
    it(`is not cut off for another ${who} who leaves more unread`, async (t) => {
      const limits = { bytesMax: 40 * 1024 * 1024, lookEveryMs: 50 }
      const server = await start(t, limits, { trustedProxies: ['127.0.0.1'] })
      const slow = await ask(t, server, [path], slowOne)
      await until('it waits', async () => ((await openSockets(server)) === 1 ? true : undefined))
      await new Promise((resolve) => setTimeout(resolve, 150))
      const greedy: Awaited<ReturnType<typeof ask>>[] = []
      for (let count = 0; count < 6; count += 1) greedy.push(await ask(t, server, [path], greedyOne))
      await until('the end of one of them', async () => {
        for (const one of greedy) if (!(await one.isOpen())) return true
        return undefined
      })
      // The first write to a connection that was closed still succeeds.
      for (let writes = 0; writes < 3; writes += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100))
        assert.equal(await slow.isOpen(), true)
      }
    })
  }

  it('holds back the requests behind it: what is pipelined is worked on when the answer before was taken', async (t) => {
    let begun = 0
    const server = await startTestServer(t, {
      registerMore: (serve, app) =>
        serve(app, getLong, async () => {
          begun += 1
          return { json: { text: longText } }
        }),
    })
    await ask(t, server, ['/accounts/v2/long', '/accounts/v2/long', '/accounts/v2/broken%'])
    await until('the first', () => (begun > 0 ? true : undefined))
    assert.equal((await server.get('/accounts/v2/rows')).status, 200)
    assert.equal(begun, 1)
    assert.equal(server.lines.filter((line) => line.includes('"status":400')).length, 0)
  })

  it('has few others behind it: a connection with more is closed', async (t) => {
    const server = await start(t, { queuedMax: 3, takenWithinMs: 3_600_000 })
    const crowded = await ask(t, server, ['/accounts/v2/long', ...Array.from({ length: 4 }, () => '/accounts/v2/rows')])
    await until('the end', async () => ((await crowded.isOpen()) ? undefined : true))
    assert.equal((await server.get('/accounts/v2/rows')).status, 200)
  })
})

describe('requests that are pipelined (RFC 9112 §9.3.2)', () => {
  it('are answered in their order, where the answers are read', async (t) => {
    const server = await start(t, {})
    const ids = Array.from({ length: 1 + unreadLimits.queuedMax }, (_, at) => `thing-${at}`)
    const text = await fetchPipelined(
      server,
      ids.map((id) => (id === 'thing-4' ? '/accounts/v2/broken%' : `/accounts/v2/things/${id}`)),
    )
    const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
    assert.deepEqual(
      statuses,
      ids.map((id) => (id === 'thing-4' ? '400' : '200')),
    )
    assert.deepEqual(
      [...text.matchAll(/thing-\d+/g)].map(([id]) => id),
      ids.filter((id) => id !== 'thing-4'),
    )
  })
})

/** What comes back for requests that were sent at once on one connection. */
async function fetchPipelined({ url }: TestServer, paths: readonly string[]): Promise<string> {
  const head = 'Host: 127.0.0.1\r\nAuthorization: Bearer ann'
  const last = paths.length - 1
  const requests = paths.map(
    (path, at) => `GET ${path} HTTP/1.1\r\n${head}${at === last ? '\r\nConnection: close' : ''}\r\n\r\n`,
  )
  return sendRaw(url, requests.join(''))
}
