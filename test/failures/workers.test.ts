/**
 * Three worker processes and keys that allow one call at a time: Kraken refuses a nonce that is not higher than the
 * last one, and two calls at once may arrive in either order. The simulated Kraken notes calls of one key that meet.
 */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ofConnection } from '../of-connection.ts'
import { authorize, fetchJson, redeem, type Page } from '../application.ts'
import { startTestService, untilAtRest, type TestService } from '../service.ts'
import { until } from '../until.ts'

const assay = path.resolve(import.meta.dirname, '../../apps/cli/bin/assay.mjs')

interface Log {
  requests: { endpoint: string; status: number; error: string | null; count: number }[]
  overlaps: number
}

interface Reader {
  token: string
  accountId: string
  connectionId: string
}

describe('three workers', () => {
  let service: TestService
  const hooks: (() => unknown)[] = []
  const workers: ChildProcess[] = []

  async function control<T>(route: string, body?: object): Promise<T> {
    const init = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(`${service.sandbox.controlUrl}/control/${route}`, init)
    assert.equal(response.status, 200, await response.clone().text())
    return (await response.json()) as T
  }
  async function clearFaults(): Promise<void> {
    const cleared = await fetch(`${service.sandbox.controlUrl}/control/providers/kraken/faults`, { method: 'DELETE' })
    assert.equal(cleared.status, 200)
  }
  /**
   * A worker sends six heartbeats in the time after which it counts as dead, so the others must not be much less
   * patient.
   */
  function startWorker(silentAfterMs: number): ChildProcess {
    const settings = { ASSAY_WORKER_CONCURRENCY: '3', ASSAY_WORKER_SILENT_AFTER: String(silentAfterMs) }
    const worker = spawn(process.execPath, [assay, 'worker'], {
      env: { PATH: process.env['PATH'], ...service.environment, ...settings },
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    workers.push(worker)
    return worker
  }
  async function connect(name: string, fault?: object): Promise<Reader> {
    const { access_token: token } = await redeem(service.url, await authorize(service.url, name, []))
    const made = await control<{ account_id: string; credentials: object }>('accounts', {
      provider_id: 'kraken',
      scenario: 'default',
      account: name,
    })
    if (fault !== undefined) await control('providers/kraken/faults', { ...fault, account_id: made.account_id })
    const response = await fetch(`${service.url}/accounts/v2/providers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ provider_id: 'kraken', connection: { type: 'api_key', ...made.credentials } }),
    })
    const { data, errors } = (await response.json()) as { data: { connection_id: string | null }; errors: unknown[] }
    assert.ok(data.connection_id !== null, JSON.stringify(errors))
    return { token, accountId: made.account_id, connectionId: data.connection_id }
  }
  async function refresh({ token }: Reader, kind: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`${service.url}/accounts/v2/${kind}/refresh`, { method: 'POST', headers, body: '{}' })
    assert.equal(response.status, 200)
  }
  const untilActive = (reader: Reader): Promise<true> =>
    until(
      'the end of the read',
      async () => {
        const { data } = await fetchJson<Page<{ status: string }>>(service.url, '/accounts/v2/providers', reader.token)
        return data[0]?.status === 'active' ? true : undefined
      },
      100,
    )
  before(async () => {
    service = await startTestService({ after: (end) => void hooks.push(end as () => unknown) }, { role: 'api' })
    // A call that takes a while can be met by another.
    await control('providers/kraken/faults', { kind: 'latency_ms', latency_ms: 15 })
  })
  after(async () => {
    for (const worker of workers) worker.kill('SIGKILL')
    for (const end of hooks) await end()
  })

  it('never use one key at the same time, nor a nonce out of order, even when refreshes arrive while they read', async () => {
    for (let count = 0; count < 3; count += 1) startWorker(20_000)
    const alive = (): Promise<unknown[]> => service.db.rows('select from worker_heartbeats')
    await until('three workers', async () => ((await alive()).length === 3 ? true : undefined), 100)
    const readers = await Promise.all(['a', 'b', 'c', 'd'].map((name) => connect(name)))
    // The refreshes come during the first read of each, and both kinds at the same time.
    await Promise.all(readers.flatMap((reader) => ['assets', 'transactions'].map((kind) => refresh(reader, kind))))
    await Promise.all(readers.map((reader) => untilActive(reader)))
    await untilAtRest(service)
    for (const { accountId } of readers) {
      const { requests, overlaps } = await control<Log>(`log?account_id=${accountId}`)
      assert.equal(overlaps, 0, `${overlaps} calls of one key met`)
      assert.deepEqual(
        requests.filter(({ error }) => error !== null),
        [],
      )
      const balances = requests.find(({ endpoint }) => endpoint.endsWith('BalanceEx'))
      assert.ok((balances?.count ?? 0) >= 2, JSON.stringify(requests))
    }
    assert.equal((await alive()).length, 3)
  })

  it('do not collide with one that was presumed dead and comes back: it leaves the key to the other', async () => {
    const [stood] = workers
    for (const worker of workers.slice(1)) {
      worker.kill('SIGTERM')
      await once(worker, 'exit')
    }
    assert.ok(stood)
    // After some pages every further one takes two seconds. The provider is in this process, and answers nothing while
    // it does not look: it sees that there are pages long before the last one.
    const slow = { kind: 'latency_ms', latency_ms: 2_000, endpoint: 'Ledgers', after: 4 }
    const reader = await connect('taken over', slow)
    const countEntries = async (): Promise<number> => {
      const rows = await service.db.rows(`select from raw_records where ${ofConnection} and stream = 'ledger'`, [
        reader.connectionId,
      ])
      return rows.length
    }
    await until('some pages', async () => ((await countEntries()) > 100 ? true : undefined))
    stood.kill('SIGSTOP')
    await clearFaults()
    const standstill = await countEntries()
    startWorker(5_000)
    // Two workers now believe that they own the connection.
    await until('the other to read on', async () => ((await countEntries()) > standstill + 100 ? true : undefined))
    stood.kill('SIGCONT')
    await untilActive(reader)
    await untilAtRest(service)
    const { requests, overlaps } = await control<Log>(`log?account_id=${reader.accountId}`)
    assert.equal(overlaps, 0, `${overlaps} calls of one key met`)
    assert.deepEqual(
      requests.filter(({ error }) => error !== null),
      [],
    )
    const { ledger } = await control<{ ledger: unknown[] }>(`accounts/${reader.accountId}/state`)
    assert.equal(await countEntries(), ledger.length)
  })
})
