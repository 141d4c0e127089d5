/** Pages, retention and rate limits. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Sandbox } from '../index.ts'
import { startTestSandbox } from '../testing/kraken-client.ts'
import { openOkxAccount, send, type OkxBody, type OkxTestAccount } from '../testing/okx-client.ts'

const at = { nowMs: Date.UTC(2026, 10, 15) }
let sandbox: Sandbox
let account: OkxTestAccount
before(async () => {
  sandbox = await startTestSandbox({ pace: 'real', now: () => at.nowMs })
  account = await openOkxAccount(sandbox, 'default')
})
after(() => sandbox.close())

type Parameters = Record<string, string | number>

async function body(path: string, parameters: Parameters = {}, of = account): Promise<OkxBody> {
  at.nowMs += 5_000
  return (await (await send(sandbox, of, `/api/v5/${path}`, parameters, at.nowMs)).json()) as OkxBody
}

const ask = async (path: string, parameters: Parameters = {}, of = account): Promise<Record<string, string>[]> =>
  (await body(path, parameters, of)).data

describe('pages of OKX', () => {
  it('of bills and fills follow `after`, the id of a bill, and show every row once, newest first', async () => {
    for (const [path, count] of [
      ['account/bills-archive', 1340],
      ['trade/fills-history', 452],
    ] as const) {
      const seen: Record<string, string>[] = []
      for (let after = ''; ;) {
        const page = await ask(path, { instType: path.startsWith('trade') ? 'SPOT' : '', ...(after && { after }) })
        if (page.length === 0) break
        seen.push(...page)
        after = page.at(-1)?.['billId'] ?? ''
      }
      assert.equal(seen.length, count)
      assert.equal(new Set(seen.map(({ billId }) => billId)).size, count)
      const ids = seen.map(({ billId }) => BigInt(billId ?? 0))
      assert.ok(ids.every((id, index) => index === 0 || id < (ids[index - 1] ?? 0n)))
    }
  })

  it('of bills also follow `before`, `begin` and `end`', async () => {
    const range = { begin: Date.UTC(2025, 2, 7), end: Date.UTC(2025, 2, 8) - 1 }
    const day = await ask('account/bills-archive', range)
    assert.equal(day.length, 6)
    const newer = await ask('account/bills-archive', { ...range, before: day[3]?.['billId'] ?? '' })
    assert.deepEqual(newer, day.slice(0, 3))
    assert.equal((await ask('account/bills-archive', { ...range, ccy: 'USDT' })).length, 3)
    assert.equal((await ask('account/bills-archive', { instType: 'SPOT', type: 1 })).length, 0)
    assert.equal((await body('account/bills-archive', { after: 'elsewhere' })).code, '51000')
    assert.equal((await body('account/bills-archive', { limit: 101 })).code, '51000')
    assert.equal((await body('trade/fills-history')).code, '50014', 'the instrument type is required')
  })

  it('of the funding account follow times that belong to neither side, so that twins may be lost at an edge', async () => {
    const both = Date.UTC(2025, 7, 30, 15, 45, 59)
    const amounts = async (range: Parameters): Promise<(string | undefined)[]> =>
      (await ask('asset/deposit-history', { ccy: 'LTC', ...range })).map(({ amt }) => amt)
    assert.deepEqual(await amounts({}), ['7.25', '12.5'])
    assert.deepEqual(await amounts({ limit: 1 }), ['7.25'])
    assert.deepEqual(await amounts({ after: both }), [])
    assert.deepEqual(await amounts({ before: both }), [])
    assert.deepEqual(await amounts({ after: both + 1, before: both - 1 }), ['7.25', '12.5'])
    const internal = await ask('asset/deposit-history', { type: 3 })
    assert.deepEqual([internal.length, internal[0]?.['amt'], internal[0]?.['txId']], [1, '250', ''])
  })
})

describe('the retention of OKX', () => {
  it('is a week or three months for bills, three months for fills and one for funding bills; deposits are kept', async () => {
    const forgetful = await openOkxAccount(sandbox, 'forgotten')
    const oldest = async (path: string, parameters: Parameters = {}): Promise<string | undefined> => {
      const rows = await ask(path, parameters, forgetful)
      return rows.length === 0 ? undefined : new Date(Number(rows.at(-1)?.['ts'])).toISOString().slice(0, 10)
    }
    assert.equal(await oldest('account/bills', { limit: 100 }), undefined)
    assert.equal(await oldest('account/bills-archive', { limit: 100 }), '2026-08-21')
    assert.equal(await oldest('trade/fills-history', { instType: 'SPOT' }), '2026-08-21')
    assert.equal(await oldest('asset/bills'), '2026-10-31')
    assert.equal(await oldest('asset/bills-history', { after: Date.UTC(2023, 0, 1) }), '2022-05-03')
    assert.equal(await oldest('asset/deposit-history'), '2022-05-03')
  })
})

describe('limits of OKX', () => {
  const statusOf = async (of: OkxTestAccount, path: string): Promise<[number, string]> => {
    const response = await send(sandbox, of, `/api/v5/${path}`, {}, at.nowMs)
    return [response.status, ((await response.json()) as OkxBody).code]
  }

  it('are counted for each endpoint and account, and answered with HTTP 429 and 50011', async () => {
    at.nowMs += 60_000
    for (let call = 0; call < 5; call += 1) assert.deepEqual(await statusOf(account, 'account/config'), [200, '0'])
    assert.deepEqual(await statusOf(account, 'account/config'), [429, '50011'])
    assert.deepEqual(await statusOf(account, 'account/balance'), [200, '0'])
    const other = await openOkxAccount(sandbox, 'default', 'other')
    assert.deepEqual(await statusOf(other, 'account/config'), [200, '0'])
    at.nowMs += 2_000
    assert.deepEqual(await statusOf(account, 'account/config'), [200, '0'])
  })

  it('rate_limited: allows one call of an endpoint; large: has no limit', async () => {
    const poor = await openOkxAccount(sandbox, 'rate_limited')
    assert.deepEqual(await statusOf(poor, 'account/config'), [200, '0'])
    assert.deepEqual(await statusOf(poor, 'account/config'), [429, '50011'])
    const robot = await openOkxAccount(sandbox, 'large')
    for (let call = 0; call < 7; call += 1) assert.deepEqual(await statusOf(robot, 'account/config'), [200, '0'])
  })

  it('of public endpoints are counted by address', async () => {
    at.nowMs += 60_000
    const statuses: number[] = []
    for (let call = 0; call < 11; call += 1) {
      statuses.push((await fetch(`${sandbox.urls.okx}/api/v5/public/time`)).status)
    }
    assert.deepEqual([statuses.filter((status) => status === 200).length, statuses.at(-1)], [10, 429])
  })
})
