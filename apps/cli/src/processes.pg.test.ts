/** `assay serve --role api --processes n`, through the real command line on a real PostgreSQL. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Agent, get, type IncomingMessage } from 'node:http'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { testKeyTexts } from '../../server/src/test-keys.ts'
import { createTenants } from '../../server/src/tenants/index.ts'
import { testDatabase, toDatabaseUrl } from '../../../test/postgres.ts'
import { reservePort } from '../../../test/reserve-port.ts'
import { until } from '../../../test/until.ts'
import { run, start, type Environment } from './test-cli.ts'

// An API process must not have the private keys; an empty value counts as not given.
const keys = { ...testKeyTexts('test'), ASSAY_SEALING_PRIVATE_KEYS: '' }
const processes = 2

interface Served {
  url: string
  pid: number
  db: Awaited<ReturnType<typeof testDatabase>>['db']
  output(): string
  /** Sends SIGTERM to the parent alone and resolves to its exit code. */
  stop(): Promise<number | null>
}

async function serveSeveral(t: TestContext, settings: Environment = {}): Promise<Served> {
  const { db, connection } = await testDatabase(t)
  const port = await reservePort(t)
  const environment = {
    DATABASE_URL: toDatabaseUrl(connection),
    ...keys,
    ASSAY_METRICS_TOKEN: 'scrape-me',
    ...settings,
  }
  const words = ['serve', '--role', 'api', '--processes', String(processes), '--port', String(port)]
  const { child, output, errors } = start(words, environment)
  const ended = once(child, 'close') as Promise<[number | null]>
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await until('the processes to be ready', async () => {
    if (child.exitCode !== null) assert.fail(await errors)
    return output().includes('"ready"') || undefined
  })
  const stop = async (): Promise<number | null> => {
    child.kill('SIGTERM')
    return (await ended)[0]
  }
  return { url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, db, output, stop }
}

interface Response {
  status: number
  text: string
}

/** Uses its own connection, so that each request goes to the next process. */
function ask(url: string, headers: Record<string, string> = {}): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = get(url, { agent: new Agent({ keepAlive: false }), headers }, (response) => {
      let text = ''
      response.on('data', (part: Buffer) => (text += part.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    request.on('error', reject)
  })
}

async function listChildren(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.trim().split(' ').map(Number)
}

const scrape = { authorization: 'Bearer scrape-me' }

/** How many requests of GET /healthz all processes together have counted. */
async function countHealthz(url: string): Promise<number> {
  const { text } = await ask(`${url}/metrics`, scrape)
  const line = /^assay_http_request_duration_seconds_count\{[^}]*route="\/healthz"[^}]*\} (\d+)$/m.exec(text)
  return Number(line?.[1] ?? 0)
}

describe('assay serve --role api --processes', () => {
  it('answers a connection that was on its way to a process when that process ended', async (t) => {
    const { url, pid } = await serveSeveral(t)
    const [first = 0] = await listChildren(pid)
    // A process that stands still takes no connection; the parent keeps giving it every second one.
    process.kill(first, 'SIGSTOP')
    const answers = Promise.all(Array.from({ length: 10 }, () => ask(`${url}/healthz`)))
    let answered = 0
    answers.catch(() => undefined)
    const others = Array.from({ length: 4 }, () => ask(`${url}/healthz`).then(() => (answered += 1)))
    await until('the other process has answered its share', async () => answered >= 2 || undefined)
    process.kill(first, 'SIGKILL')
    assert.deepEqual(new Set((await answers).map(({ status }) => status)), new Set([200]))
    await Promise.all(others)
  })

  it('shares limits and metrics, and replaces a process that dies', async (t) => {
    const limit = 10
    const { url, pid } = await serveSeveral(t, { ASSAY_LIMIT_ADDRESS: String(limit) })
    const first = await listChildren(pid)
    assert.equal(first.length, processes)

    const statuses: number[] = []
    for (let count = 0; count < 2 * limit; count += 1) {
      statuses.push((await ask(`${url}/accounts/v2/providers`, { authorization: 'Bearer wrong' })).status)
    }
    // A wrong token is counted by its sender's address: once for all processes.
    assert.deepEqual(statuses, [
      ...Array.from({ length: limit }, () => 401),
      ...Array.from({ length: limit }, () => 429),
    ])

    for (let count = 0; count < 7; count += 1) assert.equal((await ask(`${url}/healthz`)).status, 200)
    // An answer may reach us before its process has counted it.
    await until('all requests in the sum', async () => ((await countHealthz(url)) === 7 ? true : undefined))

    const [victim = 0] = first
    process.kill(victim, 'SIGKILL')
    const second = await until('another process', async () => {
      const now = await listChildren(pid)
      return now.length === processes && !now.includes(victim) ? now : undefined
    })
    assert.ok(second.includes(first[1] ?? 0))
    assert.equal((await ask(`${url}/readyz`)).status, 200)
    assert.equal(await countHealthz(url), 7, 'a sum of counters does not go down')
  })

  it('counts the followers of a session across all processes, and frees the places of a process that dies', async (t) => {
    const { url, pid, db } = await serveSeveral(t)
    const tenants = createTenants({ db })
    const { tenantId } = await tenants.createTenant('Example Ltd')
    const { client } = await tenants.createClient(tenantId, {
      ...{ name: 'Northwind', scopes: ['assets:read'], redirectUris: ['https://app.example/callback'] },
    })
    const query = new URLSearchParams({
      ...{ client_id: client.clientId, code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' },
      state: '6f1c3a0e-0000-4000-8000-000000000000',
    })
    const begun = await fetch(`${url}/connect/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: query.toString() }),
    })
    const { session_secret: secret } = (await begun.json()) as { session_secret: string }
    const followers: IncomingMessage[] = []
    t.after(() => followers.forEach((one) => one.destroy()))
    const follow = (): Promise<number> =>
      new Promise((resolve, reject) => {
        const options = { agent: new Agent({ keepAlive: false }), headers: { authorization: `Bearer ${secret}` } }
        get(`${url}/connect/v1/session/events`, options, (response) => {
          response.on('error', () => undefined)
          followers.push(response)
          resolve(response.statusCode ?? 0)
        }).on('error', reject)
      })
    const statuses: number[] = []
    for (let count = 0; count < 6; count += 1) statuses.push(await follow())
    assert.deepEqual(statuses, [200, 200, 200, 200, 429, 429])
    const [victim = 0] = await listChildren(pid)
    process.kill(victim, 'SIGKILL')
    await until('another process', async () => {
      const now = await listChildren(pid)
      return now.length === processes && !now.includes(victim) ? true : undefined
    })
    assert.deepEqual([await follow(), await follow(), await follow()], [200, 200, 429])
  })

  it('answers every request that is in progress when the parent is asked to stop', async (t) => {
    const { url, pid, db, stop } = await serveSeveral(t, { ASSAY_STOP_GRACE: '60000' })
    const children = await listChildren(pid)
    const requests = 8
    let answers: Promise<Response[]> = Promise.resolve([])
    let stopped: Promise<number | null> = Promise.resolve(null)
    await db.transaction(async (tx) => {
      // Every request looks up its token in this table, so the requests wait for this transaction to end.
      await tx.execute('lock table access_tokens in access exclusive mode')
      const bearer = { authorization: `Bearer ${randomBytes(40).toString('base64url')}` }
      answers = Promise.all(Array.from({ length: requests }, () => ask(`${url}/accounts/v2/providers`, bearer)))
      const waiting = `select count(*)::int as count from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and application_name = 'assay'`
      await until('all requests to wait', async () => {
        // Runs outside the transaction, which would see the same activity each time.
        const { count } = await db.row<{ count: number }>(waiting)
        return count === requests || undefined
      })
      stopped = stop()
      // No new connection is accepted: both processes have begun to stop.
      await until('the port to close', () =>
        ask(`${url}/healthz`).then(
          () => undefined,
          () => true as const,
        ),
      )
    })
    assert.deepEqual(
      (await answers).map(({ status }) => status),
      Array.from({ length: requests }, () => 401),
    )
    assert.equal(await stopped, 0)
    for (const child of children) assert.throws(() => process.kill(child, 0), { code: 'ESRCH' })
  })

  it('is refused with an explanation for an invalid number, another role, the embedded database or port 0', async () => {
    const environment = { DATABASE_URL: 'postgres://assay@localhost:1/assay', ...keys }
    const refuse = async (words: string[], given: Environment = environment): Promise<string> => {
      const { code, err } = await run(['serve', ...words], given)
      assert.equal(code, 2, err)
      return err
    }
    const embedded = { ...environment, DATABASE_URL: '' }
    const [none, many, worker, all, noDatabase, noPort] = await Promise.all([
      refuse(['--role', 'api', '--processes', '0']),
      refuse(['--role', 'api', '--processes', 'two']),
      refuse(['--role', 'worker', '--processes', '2']),
      refuse(['--processes', '2']),
      refuse(['--role', 'api', '--processes', '2'], embedded),
      refuse(['--role', 'api', '--processes', '2', '--port', '0']),
    ])
    assert.match(none, /--processes must be a whole number from 1 to 64, got "0"/)
    assert.match(many, /got "two"/)
    assert.match(worker, /--processes is for --role api.*ASSAY_WORKER_CONCURRENCY/)
    assert.match(all, /--processes is for --role api.*assay serve --role worker/)
    assert.match(noDatabase, /--processes needs DATABASE_URL/)
    assert.match(noPort, /--processes needs a port that is not 0/)
  })

  it('exits with 1 and the reason when its port is in use', async (t) => {
    const { connection } = await testDatabase(t)
    const blocker = (await import('node:net')).createServer()
    const port = await reservePort(t)
    blocker.listen(port, '127.0.0.1')
    await once(blocker, 'listening')
    t.after(() => blocker.close())
    const environment = { DATABASE_URL: toDatabaseUrl(connection), ...keys }
    const { code, err } = await run(['serve', '--role', 'api', '--processes', '2', '--port', String(port)], environment)
    assert.equal(code, 1)
    assert.match(err, new RegExp(`port ${port} is in use`))
    assert.doesNotMatch(err, /\n\s+at /)
  })
})
