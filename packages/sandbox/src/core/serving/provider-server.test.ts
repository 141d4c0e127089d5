import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import type { Sandbox } from '../../index.ts'
import { control, openAccount, startTestSandbox, type TestAccount } from '../../testing/kraken-client.ts'

let sandbox: Sandbox
let account: TestAccount
before(async () => {
  sandbox = await startTestSandbox()
  account = await openAccount(sandbox, 'default')
})
afterEach(() => control(sandbox, 'DELETE', 'providers/kraken/faults'))
after(() => sandbox.close())

async function arm(fault: object): Promise<void> {
  await control(sandbox, 'POST', 'providers/kraken/faults', fault)
}

async function idsAt(offset: number, of = account): Promise<string[]> {
  const { result } = await of.ask('Ledgers', { ofs: String(offset) })
  return Object.keys((result as { ledger: object }).ledger)
}

describe('answers from in front of the provider', () => {
  const cases = [
    { kind: 'http_429', status: 429, retryAfter: null },
    { kind: 'http_429_retry_after', retry_after_s: 7, status: 429, retryAfter: '7' },
    { kind: 'http_418', status: 418, retryAfter: '1' },
    { kind: 'http_5xx', status: 503, retryAfter: null },
    { kind: 'down', status: 503, retryAfter: null },
    { kind: 'html', status: 200, retryAfter: null },
  ]
  for (const { status, retryAfter, ...fault } of cases) {
    it(`${fault.kind}: ${status}, a page instead of JSON, and the next call succeeds`, async () => {
      await arm({ ...fault, times: 1 })
      const response = await account.call('Balance')
      assert.equal(response.status, status)
      assert.equal(response.headers.get('retry-after'), retryAfter)
      assert.match(response.headers.get('content-type') ?? '', /^text\/html/)
      assert.match(await response.text(), /^<!DOCTYPE html>/)
      assert.deepEqual((await account.ask('Balance')).error, [])
    })
  }

  it('http_5xx can be any of them', async () => {
    await arm({ kind: 'http_5xx', status: 520 })
    assert.equal((await account.call('Balance')).status, 520)
  })
})

describe("answers in the provider's own words", () => {
  for (const [kind, word] of [
    ['rate_limited', 'EAPI:Rate limit exceeded'],
    ['revoked', 'EAPI:Invalid key'],
    ['service_unavailable', 'EService:Unavailable'],
  ]) {
    it(`${kind}: ${word}`, async () => {
      await arm({ kind, times: 1 })
      assert.deepEqual((await account.ask('Balance')).error, [word])
      assert.deepEqual((await account.ask('Balance')).error, [])
    })
  }
})

describe('answers that do not arrive as they were sent', () => {
  it('reset: the connection breaks in the middle of the body', async () => {
    await arm({ kind: 'reset', times: 1 })
    const response = await account.call('Ledgers')
    assert.equal(response.status, 200)
    await assert.rejects(response.text())
  })

  it('truncated_json: the body ends early and the connection stays open', async () => {
    await arm({ kind: 'truncated_json', times: 1 })
    const text = await (await account.call('Ledgers')).text()
    assert.match(text, /^\{"error":\[\],"result":/)
    assert.throws(() => JSON.parse(text), SyntaxError)
  })

  it('stall: nothing comes for a minute, by default', async () => {
    await arm({ kind: 'stall', times: 1 })
    // Whichever of the two arrives first is held back; the other one is answered meanwhile.
    const hangingUp = new AbortController()
    const calls = [1, 2].map(() => fetch(`${sandbox.urls.kraken}/0/public/Time`, { signal: hangingUp.signal }))
    const outcomes = calls.map((call) => call.then(({ status }) => status).catch((error: Error) => error.name))
    assert.equal(await Promise.race(outcomes), 200)
    hangingUp.abort()
    assert.deepEqual((await Promise.all(outcomes)).toSorted(), [200, 'AbortError'])
    await arm({ kind: 'stall', times: 1, duration_ms: 30 })
    const began = performance.now()
    assert.deepEqual((await account.ask('Balance')).error, [])
    assert.ok(performance.now() - began >= 29)
  })

  it('latency_ms: delays every answer by that time', async () => {
    await arm({ kind: 'latency_ms', latency_ms: 25, times: 2 })
    for (let call = 0; call < 2; call += 1) {
      const began = performance.now()
      await account.ask('Balance')
      assert.ok(performance.now() - began >= 24)
    }
  })
})

describe('a provider that is wrong about time or rows', () => {
  it('clock_skew: its clock is ten minutes ahead, or as far as given', async () => {
    const fixed = await startTestSandbox({ now: () => 1_794_700_000_000 })
    try {
      const time = async (): Promise<number> =>
        ((await (await fetch(`${fixed.urls.kraken}/0/public/Time`)).json()) as { result: { unixtime: number } }).result
          .unixtime
      await control(fixed, 'POST', 'providers/kraken/faults', { kind: 'clock_skew', times: 1 })
      assert.equal(await time(), 1_794_700_600)
      await control(fixed, 'POST', 'providers/kraken/faults', { kind: 'clock_skew', skew_ms: -600_000, times: 1 })
      assert.equal(await time(), 1_794_699_400)
      assert.equal(await time(), 1_794_700_000)
    } finally {
      await fixed.close()
    }
  })

  it('duplicate_rows: a page begins with the last rows of the one before', async () => {
    const first = await idsAt(0)
    const second = await idsAt(50)
    await arm({ kind: 'duplicate_rows', rows: 4, times: 1 })
    assert.deepEqual(await idsAt(50), [...first.slice(-4), ...second])
    assert.deepEqual(await idsAt(50), second)
  })

  it('shifting_page: a row is inserted after each page, so the next one begins with a row already seen', async () => {
    const shifting = await openAccount(sandbox, 'default', 'shifting')
    const before = [...(await idsAt(0, shifting)), ...(await idsAt(50, shifting))]
    await arm({ kind: 'shifting_page', times: 1, account_id: shifting.accountId })
    assert.deepEqual(await idsAt(0, shifting), before.slice(0, 50))
    assert.deepEqual(await idsAt(50, shifting), before.slice(49, 99))
    assert.equal((await idsAt(0, shifting))[1], before[0])
  })

  it('shifting_page with late_ms: the row is booked into the past, behind the rows that are newer', async () => {
    const shifting = await openAccount(sandbox, 'default', 'shifting late')
    const before = await idsAt(0, shifting)
    await arm({ kind: 'shifting_page', times: 1, account_id: shifting.accountId, late_ms: 60 * 86_400_000 })
    assert.deepEqual(await idsAt(0, shifting), before)
    const after = await idsAt(0, shifting)
    assert.equal(after[0], before[0])
    assert.equal(after.filter((id) => !before.includes(id)).length, 1)
  })
})

describe('weather', () => {
  it('down: every call with a key of that scenario gets a 503, and no other call does', async () => {
    const down = await openAccount(sandbox, 'down')
    assert.equal((await down.call('GetApiKeyInfo')).status, 503)
    assert.equal((await down.call('Balance')).status, 503)
    assert.deepEqual((await account.ask('Balance')).error, [])
  })

  it('flaky: the same calls fail in every process, and a reader that retries gets every row once', async () => {
    const again = await startTestSandbox()
    try {
      const runs = [await readFlaky(sandbox), await readFlaky(again)]
      assert.deepEqual(runs[0], runs[1])
      const held = (await control(sandbox, 'GET', `accounts/${runs[0]?.accountId}/state`)) as {
        ledger: { id: string }[]
      }
      assert.deepEqual(runs[0]?.ids.toSorted(), held.ledger.map((entry) => entry.id).toSorted())
      assert.ok(new Set(runs[0]?.failures).size >= 6, `${runs[0]?.failures.join()}`)
    } finally {
      await again.close()
    }
  })

  it('revoked_later: works for twelve calls, or an hour', async () => {
    const counted = await openAccount(sandbox, 'revoked_later', 'counted')
    for (let call = 0; call < 12; call += 1) assert.deepEqual((await counted.ask('GetApiKeyInfo')).error, [])
    assert.deepEqual((await counted.ask('GetApiKeyInfo')).error, ['EAPI:Invalid key'])
    const timed = await openAccount(sandbox, 'revoked_later', 'timed')
    assert.deepEqual((await timed.ask('GetApiKeyInfo')).error, [])
    await control(sandbox, 'POST', 'clock', { offset_ms: 3_600_000 })
    assert.deepEqual((await timed.ask('GetApiKeyInfo')).error, ['EAPI:Invalid key'])
  })

  it('invalid_credentials: the key is never known', async () => {
    const refused = await openAccount(sandbox, 'invalid_credentials')
    assert.deepEqual((await refused.ask('GetApiKeyInfo')).error, ['EAPI:Invalid key'])
  })
})

/** Reads all ledger pages twice, each until it arrives whole: once is not enough to meet every kind of failure. */
async function readFlaky(from: Sandbox): Promise<{ accountId: string; ids: string[]; failures: string[] }> {
  const flaky = await openAccount(from, 'flaky')
  const ids = new Set<string>()
  const failures: string[] = []
  for (let round = 1; round <= 2; round += 1) {
    for (let offset = 0, total = 1; offset < total;) {
      const page = await readPage(flaky, offset)
      if (typeof page === 'string') {
        failures.push(page)
        continue
      }
      for (const id of Object.keys(page.ledger)) ids.add(id)
      total = page.count
      offset += 50
    }
  }
  return { accountId: flaky.accountId, ids: [...ids], failures }
}

async function readPage(from: TestAccount, offset: number): Promise<string | { ledger: object; count: number }> {
  const response = await from.call('Ledgers', { ofs: String(offset) })
  if (response.status !== 200) return `status ${response.status}`
  const text = await response.text().catch(() => undefined)
  if (text === undefined) return 'reset'
  if (text.startsWith('<')) return 'html'
  try {
    const { error, result } = JSON.parse(text) as { error: string[]; result: { ledger: object; count: number } }
    return error[0] ?? result
  } catch {
    return 'broken JSON'
  }
}
