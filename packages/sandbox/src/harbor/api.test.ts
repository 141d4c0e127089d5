import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startSandbox, type Sandbox } from '../index.ts'
import { openHarbor, type HarborClient } from '../testing/harbor-client.ts'
import { control, startTestSandbox } from '../testing/kraken-client.ts'

interface Entry {
  id: string
  reference: string
  time: string
  kind: string
  asset: string
  amount: string
  fee: string
  hash: string | null
  address: string | null
}
interface Page {
  entries: Entry[]
  next: string | null
}

let sandbox: Sandbox
let harbor: HarborClient
before(async () => {
  sandbox = await startTestSandbox()
  harbor = openHarbor(sandbox)
})
after(() => sandbox.close())

async function open(account: string): Promise<{ token: string; accountId: string; refresh_token?: string }> {
  const [scenario = '', name = '1'] = account.split(':')
  const body = { provider_id: 'harbor', scenario, account: name }
  const { account_id: accountId } = (await control(sandbox, 'POST', 'accounts', body)) as { account_id: string }
  const { access_token: token, refresh_token } = await harbor.signIn(account)
  return { token, accountId, ...(refresh_token !== undefined && { refresh_token }) }
}

async function readAll(token: string, query: Record<string, string> = {}): Promise<Entry[]> {
  const all: Entry[] = []
  for (let next: string | null = ''; next !== null;) {
    const parameters = new URLSearchParams({ ...query, ...(next !== '' && { cursor: next }) })
    const page: Page = await harbor.read<Page>(token, `/v1/entries?${parameters.toString()}`)
    all.push(...page.entries)
    next = page.next
  }
  return all
}

/** Reckoned in whole steps of 10^-18, apart from everything that made the numbers. */
function steps(text: string): bigint {
  const [, sign = '', whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,18}))?$/.exec(text) ?? []
  assert.notEqual(whole, '', `${text} is plain digits`)
  return BigInt(`${sign}${whole}${fraction.padEnd(18, '0')}`)
}

describe("Harbor's API", () => {
  it('the sum of amounts less fees is the balance of every asset, to the last digit', async () => {
    const { token, accountId } = await open('default:sums')
    const sums: Record<string, bigint> = {}
    for (const { asset, amount, fee } of await readAll(token)) {
      assert.ok(steps(fee) >= 0n)
      sums[asset] = (sums[asset] ?? 0n) + steps(amount) - steps(fee)
    }
    const { balances } = await harbor.read<{
      balances: { asset: string; name: string; available: string; staked: string }[]
    }>(token, '/v1/balances')
    const held = balances.map(({ asset, available, staked }) => [asset, steps(available) + steps(staked)])
    assert.deepEqual(Object.fromEntries(held), sums)
    assert.ok(balances.some(({ staked }) => staked !== '0'))
    const state = (await control(sandbox, 'GET', `accounts/${accountId}/state`)) as { balances: Record<string, string> }
    const told = Object.entries(state.balances).map(([asset, text]) => [asset, steps(text)])
    assert.deepEqual(Object.fromEntries(told), sums)
  })

  it('a page of any size: newest first, no row lost or doubled', async () => {
    const { token, accountId } = await open('default:pages')
    const { entries } = (await control(sandbox, 'GET', `accounts/${accountId}/state`)) as { entries: Entry[] }
    const expected = entries.toReversed()
    for (const limit of ['100', '50', '7']) assert.deepEqual(await readAll(token, { limit }), expected)
    assert.deepEqual(await readAll(token), expected)
  })

  it('rows that are booked between two pages neither hide one nor show one twice', async () => {
    const { token, accountId } = await open('default:moving')
    const expected = await readAll(token)
    const first = await harbor.read<Page>(token, '/v1/entries?limit=60')
    const path = `accounts/${accountId}/entries`
    await control(sandbox, 'POST', path, { entries: [{ type: 'deposit', asset: 'EUR', amount: '5' }] })
    const rest = await harbor.read<Page>(token, `/v1/entries?limit=100&cursor=${first.next ?? ''}`)
    assert.deepEqual([...first.entries, ...rest.entries], expected)
  })

  it('from is included, to is not', async () => {
    const { token } = await open('default:edges')
    const all = await readAll(token)
    const [newer, older] = [all[20], all[90]]
    assert.ok(newer && older && newer.time !== older.time)
    const within = all.filter(({ time }) => time >= older.time && time < newer.time)
    assert.deepEqual(await readAll(token, { from: older.time, to: newer.time, limit: '9' }), within)
  })

  it('a cursor is good for its own from, to and account only', async () => {
    const { token } = await open('default:cursor')
    const from = '2025-01-01T00:00:00.000Z'
    const { next } = await harbor.read<Page>(token, `/v1/entries?from=${from}&limit=5`)
    const cursor = next ?? ''
    assert.equal((await harbor.get(token, `/v1/entries?from=${from}&cursor=${cursor}`)).status, 200)
    assert.equal((await harbor.get(token, `/v1/entries?cursor=${cursor}`)).status, 400)
    assert.equal((await harbor.get(token, `/v1/entries?from=${from}&to=${from}&cursor=${cursor}`)).status, 400)
    const other = await open('default:another')
    assert.equal((await harbor.get(other.token, `/v1/entries?from=${from}&cursor=${cursor}`)).status, 400)
  })

  it('answers 400 to what it cannot read and 404 to what is not there', async () => {
    const { token } = await open('empty')
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'from=yesterday', 'to=2026-01-01', 'cursor=']) {
      assert.equal((await harbor.get(token, `/v1/entries?${query}`)).status, 400, query)
    }
    assert.equal((await harbor.get(token, '/v1/orders')).status, 404)
    assert.equal((await harbor.get(token, '/constructor')).status, 404)
  })

  it('401: no token, and every token once the control API has revoked; signing in again begins anew', async () => {
    const { token, accountId, refresh_token = '' } = await open('default:revoked')
    const none = await fetch(`${harbor.url}/v1/me`)
    assert.equal(none.status, 401)
    assert.deepEqual(await none.json(), { error: 'invalid_token' })
    assert.match(none.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/)
    await control(sandbox, 'POST', `accounts/${accountId}/key`, { revoked: true })
    assert.equal((await harbor.get(token, '/v1/me')).status, 401)
    await assert.rejects(harbor.refresh({ refresh_token }), { error: 'invalid_grant' })
    const again = await open('default:revoked')
    assert.equal((await harbor.get(again.token, '/v1/me')).status, 200)
  })

  it('403: a token whose right to read was taken away; who it is can still be asked', async () => {
    const { token, accountId } = await open('default:forbidden')
    await control(sandbox, 'POST', `accounts/${accountId}/key`, { permissions: ['trade'] })
    const refused = await harbor.get(token, '/v1/entries')
    assert.deepEqual([refused.status, await refused.json()], [403, { error: 'insufficient_scope' }])
    assert.deepEqual((await harbor.read<{ scopes: string[] }>(token, '/v1/me')).scopes, ['trade'])
    await control(sandbox, 'POST', `accounts/${accountId}/key`, { permissions: ['none'] })
    assert.deepEqual((await harbor.read<{ scopes: string[] }>(token, '/v1/me')).scopes, [])
    assert.equal((await harbor.get(token, '/v1/balances')).status, 403)
  })

  it('429 with Retry-After: the eleventh request of a second, for each account; at fast pace a hundredth of one', async () => {
    let nowMs = Date.UTC(2026, 10, 15)
    for (const [pace, windowMs] of [
      ['real', 100],
      ['fast', 1],
    ] as const) {
      const own = await startSandbox({ seed: 's', pace, log: () => undefined, now: () => nowMs })
      try {
        const client = openHarbor(own)
        const [{ access_token }, other] = [await client.signIn(), await client.signIn('empty')]
        for (let count = 0; count < 10; count += 1) await client.read(access_token, '/v1/me')
        const refused = await client.get(access_token, '/v1/me')
        assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1'])
        assert.equal((await client.get(other.access_token, '/v1/me')).status, 200)
        nowMs += windowMs
        assert.equal((await client.get(access_token, '/v1/me')).status, 200)
      } finally {
        await own.close()
      }
    }
  })
})

describe('the control API of Harbor', () => {
  it('books entries with hash and address under one reference, and refuses what nobody has', async () => {
    const { token, accountId } = await open('empty:booked')
    const path = `accounts/${accountId}/entries`
    const hash = `0x${'ab'.repeat(32)}`
    const entry = { type: 'deposit', asset: 'ETH', amount: '1', time: '2026-11-01T08:00:00.123Z', hash, address: '0x1' }
    const { ids } = (await control(sandbox, 'POST', path, { entries: [entry] })) as { ids: string[] }
    const swap = [
      { type: 'swap', asset: 'ETH', amount: '-0.5', fee: '0.000000000000000001' },
      { type: 'swap', asset: 'BTC', amount: '0.01' },
    ]
    await control(sandbox, 'POST', path, { entries: swap })
    const [, , first] = await readAll(token)
    assert.deepEqual([first?.id, first?.hash, first?.address, first?.time], [ids[0], hash, '0x1', entry.time])
    assert.equal(new Set((await readAll(token)).map(({ reference }) => reference)).size, 2)
    const tooMuch = { entries: [{ type: 'withdrawal', asset: 'ETH', amount: '-0.5' }] }
    await assert.rejects(control(sandbox, 'POST', path, tooMuch), /400.*would be -0\.000000000000000001/)
    const malformed = { entries: [{ type: 'deposit', asset: 'no code', amount: '1' }] }
    await assert.rejects(control(sandbox, 'POST', path, malformed), /400.*not an asset code/)
  })

  it('sets faults on the token endpoint of one account, and counts calls without their tokens', async () => {
    const { accountId, refresh_token = '' } = await open('default:faults')
    const fault = { kind: 'service_unavailable', times: 1, account_id: accountId, endpoint: '/oauth/token' }
    await control(sandbox, 'POST', 'providers/harbor/faults', fault)
    await assert.rejects(harbor.refresh({ refresh_token }))
    assert.equal((await harbor.refresh({ refresh_token })).scope, 'read')
    const log = JSON.stringify(await control(sandbox, 'GET', `log?account_id=${accountId}`))
    assert.match(log, /"endpoint":"\/oauth\/token","status":503/)
    assert.equal(log.includes(refresh_token), false)
  })

  it('repeats rows when told to', async () => {
    const { token, accountId } = await open('default:repeated')
    await control(sandbox, 'POST', 'providers/harbor/faults', {
      kind: 'duplicate_rows',
      rows: 2,
      account_id: accountId,
    })
    const all = await readAll(token, { limit: '100' })
    assert.equal(all.length - new Set(all.map(({ id }) => id)).size, 2)
  })
})
