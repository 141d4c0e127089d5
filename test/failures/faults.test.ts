/**
 * Everything a provider can do to a reader. One service, one account for each fault, all read at the same time. In the
 * end either the API serves exactly what the simulated Kraken holds, or it says precisely what is missing.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ofConnection } from '../of-connection.ts'
import { authorize, fetchJson, redeem, walk, type Page } from '../application.ts'
import {
  explainedBySymbol,
  heldBySymbol,
  movedBySymbol,
  toUnits,
  type KrakenState,
  type ServedTransaction,
} from '../reconciler.ts'
import { startTestService, type TestService } from '../service.ts'
import { until } from '../until.ts'

/**
 * As short as a stalled call needs to be noticed. A call that is slower on a busy machine is one more fault that
 * passes.
 */
const providerTimeoutMs = 1_500

interface Fault {
  kind: string
  [member: string]: unknown
}

interface Reader {
  token: string
  accountId: string
  connectionId: string
}

interface ConnectionState {
  status: string
  status_cause: string | null
  status_message: string | null
  last_synced_at: string | null
}

interface AddAnswer {
  data: { connection_id: string | null }
  errors: { cause: string }[]
}

interface StreamCoverage {
  stream: string
  windows: { start_time: string; end_time: string }[]
  holes: { start_time: string; end_time: string; cause: string; message: string }[]
}

/**
 * Faults that pass. Each hits in the middle of the first read, after the key was verified and the balances were read.
 */
const passing: Record<string, Fault[]> = {
  '429 without Retry-After': [{ kind: 'http_429', endpoint: 'Ledgers', after: 2, times: 2 }],
  '429 with Retry-After': [{ kind: 'http_429_retry_after', endpoint: 'Ledgers', after: 2, times: 2 }],
  'a ban of the address (418)': [{ kind: 'http_418', endpoint: 'Ledgers', after: 2, times: 1 }],
  'too many calls, in the provider’s own words': [{ kind: 'rate_limited', after: 5, times: 3 }],
  '500, 502, 503 and 504': [500, 502, 503, 504].map((status, index) => {
    return { kind: 'http_5xx', status, endpoint: 'Ledgers', after: 2 + index, times: 1 }
  }),
  'a connection reset in the middle of a body': [{ kind: 'reset', endpoint: 'Ledgers', after: 3, times: 2 }],
  'half of the JSON': [{ kind: 'truncated_json', endpoint: 'Ledgers', after: 3, times: 2 }],
  'HTML in place of JSON': [{ kind: 'html', endpoint: 'Ledgers', after: 3, times: 2 }],
  'a call that hangs for a minute': [{ kind: 'stall', endpoint: 'Ledgers', after: 3, times: 1 }],
  'a clock ten minutes ahead': [{ kind: 'clock_skew', skew_ms: 600_000 }],
  'a clock ten minutes behind': [{ kind: 'clock_skew', skew_ms: -600_000 }],
  'rows that move while they are read': [{ kind: 'shifting_page', endpoint: 'Ledgers', after: 1, times: 4 }],
  'rows booked late, where it was read already': [
    { kind: 'shifting_page', endpoint: 'Ledgers', after: 6, times: 2, late_ms: 67 * 86_400_000 },
    { kind: 'shifting_page', endpoint: 'Ledgers', after: 10, times: 1, late_ms: 68 * 86_400_000 },
  ],
  'rows that are on two pages': [{ kind: 'duplicate_rows', endpoint: 'Ledgers', after: 1, rows: 7 }],
  'deposits that are on two pages': [{ kind: 'duplicate_rows', endpoint: 'DepositStatus', rows: 3 }],
}

describe('a provider that misbehaves', () => {
  let service: TestService
  const hooks: (() => unknown)[] = []
  const readers = new Map<string, Reader>()

  async function control<T>(path: string, body?: object): Promise<T> {
    const init = body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const response = await fetch(`${service.sandbox.controlUrl}/control/${path}`, init)
    assert.equal(response.status, 200, await response.clone().text())
    return (await response.json()) as T
  }
  /** Through the public endpoint: what integrators use for their own tests. */
  async function arm(fault: Fault & { account_id: string }): Promise<void> {
    const response = await fetch(`${service.url}/sandbox/providers/kraken/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fault),
    })
    assert.equal(response.status, 200, await response.clone().text())
  }
  const stateOf = ({ accountId }: Reader): Promise<KrakenState> => control(`accounts/${accountId}/state`)
  const book = ({ accountId }: Pick<Reader, 'accountId'>, ...entries: object[]): Promise<unknown> =>
    control(`accounts/${accountId}/entries`, { entries })
  const find = async ({ token }: Reader): Promise<ConnectionState> => {
    const { data } = await fetchJson<Page<ConnectionState>>(service.url, '/accounts/v2/providers', token)
    assert.ok(data[0])
    return data[0]
  }
  const coverageOf = async ({ token, connectionId }: Reader): Promise<StreamCoverage[]> => {
    const path = `/accounts/v2/providers/${connectionId}/coverage`
    return (await fetchJson<{ data: { streams: StreamCoverage[] } }>(service.url, path, token)).data.streams
  }
  const untilStatus = (reader: Reader, ...wanted: string[]): Promise<ConnectionState> =>
    until(
      `a connection that is ${wanted.join(' or ')}`,
      async () => {
        const found = await find(reader)
        return wanted.includes(found.status) ? found : undefined
      },
      100,
    )
  /** Reads again and waits for the end of that. */
  async function refresh({ token }: Reader): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    for (const kind of ['assets', 'transactions']) {
      const asked = await fetch(`${service.url}/accounts/v2/${kind}/refresh`, { method: 'POST', headers, body: '{}' })
      const { data } = (await asked.json()) as { data: { refresh_id: string } }
      await until(
        'the refresh',
        async () => {
          const path = `/accounts/v2/refreshes/${data.refresh_id}`
          const { status } = (await fetchJson<{ data: { status: string } }>(service.url, path, token)).data
          return status === 'succeeded' ? true : undefined
        },
        100,
      )
    }
  }

  async function connect(name: string, choices: { scenario?: string; faults?: Fault[]; entries?: object[][] } = {}) {
    const { scenario = 'default', faults = [], entries = [] } = choices
    const { access_token: token } = await redeem(service.url, await authorize(service.url, name, []))
    const made = await control<{ account_id: string; credentials: object }>('accounts', {
      provider_id: 'kraken',
      scenario,
      account: name,
    })
    const accountId = made.account_id
    for (const together of entries) await book({ accountId }, ...together)
    for (const fault of faults) await arm({ ...fault, account_id: accountId })
    const connection = { type: 'api_key', ...made.credentials }
    const connectionId = await until('a key that was checked', () => sendKey(token, connection), 1_000)
    return { token, accountId, connectionId }
  }

  /** Undefined when the key could not be checked: a busy machine may take longer than a provider may here. */
  async function sendKey(token: string, connection: object): Promise<string | undefined> {
    const response = await fetch(`${service.url}/accounts/v2/providers`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ provider_id: 'kraken', connection }),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    const { data, errors } = JSON.parse(text) as AddAnswer
    if (data.connection_id !== null) return data.connection_id
    assert.ok(errors[0] !== undefined && ['venue_down', 'rate_limited', 'internal'].includes(errors[0].cause), text)
    return undefined
  }

  /** Every entry is explained and every balance held, to the last digit, once. */
  async function assertExact(reader: Reader): Promise<ServedTransaction[]> {
    const state = await stateOf(reader)
    const transactions = await walk<ServedTransaction>(service.url, '/accounts/v2/transactions?limit=100', reader.token)
    assert.deepEqual(explainedBySymbol(transactions), movedBySymbol(state))
    assert.equal(new Set(transactions.map(({ id }) => id)).size, transactions.length)
    const { entries } = await service.db.row<{ entries: number }>(
      `select count(*)::int as entries from raw_records
       where ${ofConnection} and stream = 'ledger'`,
      [reader.connectionId],
    )
    assert.equal(entries, state.ledger.length)
    return transactions
  }

  before(async () => {
    service = await startTestService(
      { after: (end) => void hooks.push(end as () => unknown) },
      { settings: { ASSAY_PROVIDER_TIMEOUT: String(providerTimeoutMs), ASSAY_WORKER_CONCURRENCY: '8' } },
    )
    // A few at a time, because adding a key gives up after half a minute when it could not be checked.
    const names = Object.keys(passing)
    for (let first = 0; first < names.length; first += 4) {
      const few = names.slice(first, first + 4)
      const made = await Promise.all(few.map((name) => connect(name, { faults: passing[name] ?? [] })))
      few.forEach((name, index) => made[index] && readers.set(name, made[index]))
    }
  })
  after(async () => {
    for (const end of hooks) await end()
  })

  for (const name of Object.keys(passing)) {
    it(`with ${name} is read to the end, exactly`, async () => {
      const reader = readers.get(name)
      assert.ok(reader)
      await untilStatus(reader, 'active')
      // What happened while it was read belongs to the next run.
      if (name === 'rows that move while they are read') await refresh(reader)
      await assertExact(reader)
      const holes = (await coverageOf(reader)).flatMap((stream) => stream.holes)
      assert.deepEqual(holes, [])
    })
  }

  it('with an unknown type, asset and suffix is read to the end, and each is marked as incomplete', async () => {
    const reader = await connect('unknown things', {
      scenario: 'empty',
      entries: [
        [{ type: 'quantum_rebate', asset: 'ZUSD', amount: '12.5' }],
        [{ type: 'deposit', asset: 'ZQNT', amount: '3.000000000000000007' }],
        [{ type: 'deposit', asset: 'DOT.Q9', amount: '4.25' }],
      ],
    })
    await untilStatus(reader, 'active')
    const transactions = await assertExact(reader)
    assert.equal(transactions.length, 3)
    const [suffix, asset, type] = transactions
    assert.equal(type?.type, 'uncategorized')
    for (const one of [suffix, asset]) assert.notDeepEqual(one?.incomplete, [], JSON.stringify(one))
  })

  it('with amounts of 1e-18 and 1e+15 keeps every digit', async () => {
    const amounts = ['0.000000000000000001', '1000000000000000', '999999999999999.999999999999999999']
    const reader = await connect('large and small', {
      scenario: 'empty',
      entries: amounts.map((amount) => [{ type: 'deposit', asset: 'ZQNT', amount }]),
    })
    await untilStatus(reader, 'active')
    const transactions = await assertExact(reader)
    const served = transactions.flatMap(({ inputs }) => inputs.map(({ amount }) => amount))
    assert.deepEqual(served.toSorted(), amounts.toSorted())
    const assets = await walk<{ asset_symbol: string; exact: { total_holdings: string } }>(
      service.url,
      '/accounts/v2/assets?limit=100',
      reader.token,
    )
    const held = new Map(assets.map((one) => [one.asset_symbol, toUnits(one.exact.total_holdings)]))
    assert.deepEqual(held, heldBySymbol(await stateOf(reader)))
  })

  it('that revokes the key halfway keeps the data read so far, and names what is missing', async () => {
    const reader = await connect('revoked', { faults: [{ kind: 'revoked', endpoint: 'Ledgers', after: 4 }] })
    const { status_cause } = await untilStatus(reader, 'needs_reauth')
    assert.equal(status_cause, 'invalid_credentials')
    const streams = await coverageOf(reader)
    const ledger = streams.find(({ stream }) => stream === 'ledger')
    assert.ok(ledger)
    assert.ok(
      ledger.holes.every(({ cause }) => cause === 'invalid_credentials'),
      JSON.stringify(ledger),
    )
    // All time is either covered or a hole: before the last days, which were read first, and after the read began.
    const [window] = ledger.windows
    assert.deepEqual(
      ledger.holes
        .map((hole) => [hole.start_time, hole.end_time])
        .flat()
        .slice(1, 3),
      [window?.start_time, window?.end_time],
    )
    const { entries } = await service.db.row<{ entries: number }>(
      `select count(*)::int as entries from raw_records
       where ${ofConnection} and stream = 'ledger'`,
      [reader.connectionId],
    )
    assert.ok(entries > 0)
  })

  it('whose key has expired is reported as such, when the provider had named the expiry', async () => {
    const reader = await connect('expired', { scenario: 'empty' })
    await untilStatus(reader, 'active')
    await control(`accounts/${reader.accountId}/key`, { valid_until: new Date(Date.now() + 600_000).toISOString() })
    await runAgain(reader)
    // For this key, ten minutes have passed.
    await control(`accounts/${reader.accountId}/key`, { expired: true })
    const later = "update connections set key_expires_at = key_expires_at - interval '10 minutes' where id = $1"
    assert.equal(await service.db.execute(later, [reader.connectionId]), 1)
    await runAgain(reader)
    assert.equal((await untilStatus(reader, 'needs_reauth')).status_cause, 'key_expired')
  })

  /** The regular run. It checks the key once a day, so the last check is backdated by a day. */
  async function runAgain({ connectionId }: Reader): Promise<void> {
    // A first read is followed by a short run of the lists alone, which does not check the key.
    const planned = `select from graphile_worker.jobs
      where key = $1 and locked_at is null and run_at > clock_timestamp() + interval '5 minutes'`
    await until('the next run to be planned', () => service.db.maybeRow(planned, [`sync:${connectionId}`]))
    const { seen } = await service.db.row<{ seen: string }>(
      'select last_synced_at::text as seen from connections where id = $1',
      [connectionId],
    )
    // A user who comes back has later runs planned sooner. This one is due already, so that it is not planned again.
    await service.db.execute(
      'update connections set rights_checked_at = null, next_sync_at = clock_timestamp() where id = $1',
      [connectionId],
    )
    await service.db.execute(
      `select graphile_worker.reschedule_jobs(array[id], run_at => clock_timestamp())
       from graphile_worker.jobs where key = $1`,
      [`sync:${connectionId}`],
    )
    await until('the run', async () => {
      const row = await service.db.row<{ done: boolean }>(
        "select last_synced_at::text <> $2 or status = 'needs_reauth' as done from connections where id = $1",
        [connectionId, seen],
      )
      return row.done ? true : undefined
    })
  }

  it('whose list of deposits fails still serves the ledger, and coverage shows the gap', async () => {
    const reader = await connect('no deposits', { faults: [{ kind: 'http_5xx', endpoint: 'DepositStatus' }] })
    await until(
      'the transactions',
      async () => {
        const state = await stateOf(reader)
        const moved = movedBySymbol(state)
        const found = await walk<ServedTransaction>(service.url, '/accounts/v2/transactions?limit=100', reader.token)
        return JSON.stringify([...explainedBySymbol(found)].map(String)) === JSON.stringify([...moved].map(String))
          ? true
          : undefined
      },
      250,
    )
    // The transactions are served before the run has come to the lists, and to its end.
    const streams = await until('the lists', async () => {
      const all = await coverageOf(reader)
      return all.find(({ stream }) => stream === 'withdrawals')?.windows.length === 1 ? all : undefined
    })
    const holes = Object.fromEntries(streams.map(({ stream, holes: all }) => [stream, all.length]))
    assert.deepEqual(holes['deposits'], 1, JSON.stringify(streams))
    const { status } = await until('what keeps it', async () => {
      const found = await find(reader)
      return found.status_cause === 'venue_down' ? found : undefined
    })
    assert.equal(status, 'syncing')
  })
})
