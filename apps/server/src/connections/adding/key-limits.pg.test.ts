/** One user with many keys must not keep the workers from the keys of others. */
import { Refusal } from '@assay/core'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { until } from '../../../../../test/until.ts'
import type { Owner } from '../../owner.ts'
import { openEngine, type Account } from '../../test-engine.ts'

function isRateLimited(error: unknown): boolean {
  assert.ok(error instanceof Refusal)
  assert.ok((error.retryAfterSeconds ?? 0) >= 1)
  return error.code === 'rate_limited'
}

describe('keys under verification', async () => {
  const engine = await openEngine()
  const offer = async (owner: Parameters<typeof engine.add>[0]): ReturnType<typeof engine.connections.add> => {
    const { apiKey, secretKey } = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    return engine.connections.add(owner, {
      providerId: 'kraken',
      displayLabel: null,
      credentials,
      connectSessionId: null,
    })
  }
  const listLanes = (userId: string): Promise<{ lane: string }[]> =>
    engine.db.rows(
      `select queue_name as lane from graphile_worker.jobs j join graphile_worker._private_jobs p on p.id = j.id
       where task_identifier = 'verify' and p.payload->'ref'->>'user_id' = $1`,
      [userId],
    )

  it('are at most three for each user and are verified one after another, so that other users do not wait', async () => {
    const owner = await engine.newOwner()
    const other = await engine.newOwner()
    // Six at the same moment: the limit holds for requests that do not see each other's rows.
    const offered = Array.from({ length: 6 }, () => offer(owner))
    const settled = Promise.allSettled(offered)
    let refused = 0
    for (const one of offered) one.catch(() => (refused += 1))
    await until('three keys under verification', async () => {
      const { length } = await listLanes(owner.userId)
      return length === 3 ? true : undefined
    })
    await assert.rejects(offer(owner), isRateLimited)
    assert.equal(new Set((await listLanes(owner.userId)).map(({ lane }) => lane)).size, 1)
    const others = offer(other)
    await until('the verification of the other user', async () =>
      (await listLanes(other.userId)).length === 1 ? true : undefined,
    )
    // One that came when the first keys are verified would be the fourth that is added.
    await until('the other three are refused', () => (refused === 3 ? true : undefined))
    await engine.drain()
    assert.equal((await others).added, true)
    const results = await settled
    assert.equal(results.filter((one) => one.status === 'fulfilled' && one.value.added).length, 3)
    for (const one of results) if (one.status === 'rejected') assert.ok(isRateLimited(one.reason))
    const { rows } = await engine.db.row<{ rows: number }>(
      'select count(*)::int as rows from connections where user_id = $1',
      [owner.userId],
    )
    assert.equal(rows, 3)
  })
})

describe('refused keys', async () => {
  const engine = await openEngine({ ASSAY_LIMIT_REFUSED_KEYS: '4' })

  it('are counted for each user: after the last allowed one, no key is tried for the rest of the hour', async () => {
    const owner = await engine.newOwner()
    const bad = await engine.newAccount('empty')
    await engine.control(`accounts/${bad.accountId}/key`, { revoked: true })
    for (let count = 0; count < 4; count += 1) {
      const { errors } = await engine.add(owner, bad)
      assert.equal(errors[0]?.cause, 'invalid_credentials')
    }
    const good = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey: good.apiKey, secretKey: good.secretKey } as const
    const request = { providerId: 'kraken', displayLabel: null, credentials, connectSessionId: null }
    await assert.rejects(engine.connections.add(owner, request), isRateLimited)
    assert.equal((await engine.add(await engine.newOwner(), good)).added, true)
    await engine.moveClock(3_600_000)
    await engine.connections.sweep()
    assert.deepEqual(await engine.db.rows('select from key_checks'), [])
    assert.equal((await engine.add(owner, await engine.newAccount('empty'))).added, true)
  })

  it('include those that the provider limits or does not answer for, but not checks that were made without a call', async () => {
    const owner = await engine.newOwner()
    const countRefused = async (): Promise<number> =>
      (await engine.db.rows('select from key_checks where user_key = $1::bigint and refused', [owner.userKey])).length
    const limited = await engine.newAccount('empty')
    const fail = (account: Account, fault: object): Promise<unknown> =>
      engine.control('providers/kraken/faults', { ...fault, account_id: account.accountId })
    await fail(limited, { kind: 'http_429_retry_after', retry_after_s: 600 })
    for (let count = 0; count < 6; count += 1) {
      assert.equal((await engine.add(owner, limited)).errors[0]?.cause, 'rate_limited')
    }
    // This key has to wait for ten minutes since the first check, so that the others called no provider.
    assert.equal(await countRefused(), 1)
    const down = await engine.newAccount('empty')
    await fail(down, { kind: 'down' })
    for (let count = 0; count < 3; count += 1) {
      assert.equal((await engine.add(owner, down)).errors[0]?.cause, 'venue_down')
    }
    assert.equal(await countRefused(), 4)
    const { apiKey, secretKey } = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'kraken', displayLabel: null, credentials, connectSessionId: null }
    await assert.rejects(engine.connections.add(owner, request), isRateLimited)
    assert.equal((await engine.add(await engine.newOwner(), await engine.newAccount('empty'))).added, true)
  })

  it('do not include an account that is connected already, which has a count of its own', async () => {
    const owner = await engine.newOwner()
    const account = await engine.newAccount('empty')
    assert.equal((await engine.add(owner, account)).added, true)
    for (let count = 0; count < 6; count += 1) {
      assert.equal((await engine.add(owner, account)).errors[0]?.cause, 'already_connected')
    }
  })
})

describe('what is kept of a key', async () => {
  const engine = await openEngine()
  /** The lane of the key that was used last. */
  const findLane = async (): Promise<string> =>
    (await engine.db.row<{ lane: string }>('select key_lane as lane from key_nonces order by high_water desc limit 1'))
      .lane
  /** Tables with rows that name the lane. */
  const listTables = async (lane: string): Promise<string[]> => {
    const tables = await engine.db.rows<{ name: string }>(
      `select table_name as name from information_schema.tables
       where table_schema = 'public' and table_type = 'BASE TABLE' order by table_name`,
    )
    const naming: string[] = []
    for (const { name } of tables) {
      const found = await engine.db.rows(`select from ${name} t where strpos(t::text, $1) > 0 limit 1`, [lane])
      if (found.length > 0) naming.push(name)
    }
    return naming
  }
  const sweepAfter = async (ms: number): Promise<void> => {
    await engine.moveClock(ms)
    await engine.connections.sweep()
  }
  const newRevoked = async (): Promise<Account> => {
    const account = await engine.newAccount('empty')
    await engine.control(`accounts/${account.accountId}/key`, { revoked: true })
    return account
  }
  const refuse = async (owner: Owner, account: Account): Promise<string> => {
    assert.equal((await engine.add(owner, account)).added, false)
    return findLane()
  }
  const minuteMs = 60_000
  const hourMs = 60 * minuteMs

  it('that was refused is gone from every table an hour later', async () => {
    const lane = await refuse(await engine.newOwner(), await newRevoked())
    await sweepAfter(59 * minuteMs)
    assert.deepEqual(await listTables(lane), ['budgets', 'key_checks', 'key_nonces'])
    await sweepAfter(minuteMs)
    assert.deepEqual(await listTables(lane), [])
  })

  it('that its provider has limited stays for as long as the key has to wait', async () => {
    const owner = await engine.newOwner()
    const account = await newRevoked()
    await refuse(owner, account)
    await engine.moveClock(20 * minuteMs)
    const fault = { kind: 'http_429_retry_after', retry_after_s: 36_000, account_id: account.accountId }
    await engine.control('providers/kraken/faults', fault)
    const lane = await refuse(owner, account)
    await sweepAfter(40 * minuteMs)
    assert.ok((await listTables(lane)).includes('budgets'))
    await sweepAfter(20 * minuteMs)
    assert.deepEqual(await listTables(lane), [])
  })

  it('that was given again meanwhile stays until the last check is an hour old', async () => {
    const owner = await engine.newOwner()
    const account = await newRevoked()
    const lane = await refuse(owner, account)
    await engine.moveClock(59 * minuteMs)
    await refuse(owner, account)
    await sweepAfter(minuteMs)
    assert.deepEqual(await listTables(lane), ['budgets', 'key_checks', 'key_nonces'])
    await sweepAfter(hourMs)
    assert.deepEqual(await listTables(lane), [])
  })

  it('of a user who was deleted since is gone an hour later, and does not name the user', async () => {
    const owner = await engine.newOwner()
    const lane = await refuse(owner, await newRevoked())
    await engine.db.transaction((tx) => engine.connections.removeAll(tx, owner))
    assert.deepEqual(await engine.db.rows('select from key_checks where user_key = $1::bigint', [owner.userKey]), [])
    await sweepAfter(hourMs)
    assert.deepEqual(await listTables(lane), [])
  })

  it('that a connection is read with stays, even if it is not read within that hour', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    await engine.drain({ delayed: true })
    const opened = await engine.connections.open(ref)
    assert.ok(opened)
    const list = async (): Promise<object[][]> => [
      await engine.db.rows('select * from key_nonces where key_lane = $1', [opened.keyLane]),
      await engine.db.rows('select * from budgets where strpos(bucket, $1) > 0', [opened.keyLane]),
    ]
    const before = await list()
    assert.deepEqual(
      before.map(({ length }) => length),
      [1, 1],
    )
    await sweepAfter(2 * hourMs)
    assert.deepEqual(await engine.db.rows('select from key_checks where user_key = $1::bigint', [ref.userKey]), [])
    assert.deepEqual(await list(), before)
  })
})

describe('checks that leave no further account', async () => {
  const engine = await openEngine({ ASSAY_LIMIT_REPEATED_CHECKS: '3' })
  const assertRefused = async (owner: Owner): Promise<void> => {
    const { apiKey, secretKey } = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'kraken', displayLabel: null, credentials, connectSessionId: null }
    let isSettled = false
    const offered = engine.connections.add(owner, request).finally(() => (isSettled = true))
    offered.catch(() => undefined)
    await until('an answer', async () => {
      await engine.drain({ enough: async () => isSettled })
      return isSettled ? true : undefined
    })
    await assert.rejects(offered, isRateLimited)
    assert.equal((await engine.add(await engine.newOwner(), await engine.newAccount('empty'))).added, true)
  }

  it('are counted for each user: an account that is connected already is not checked all day', async () => {
    const owner = await engine.newOwner()
    const account = await engine.newAccount('empty')
    for (let count = 0; count < 4; count += 1) assert.equal((await engine.add(owner, account)).added, count === 0)
    await assertRefused(owner)
    await engine.moveClock(3_600_000)
    await engine.connections.sweep()
    assert.deepEqual(await engine.db.rows('select from key_checks where user_key = $1::bigint', [owner.userKey]), [])
    assert.equal((await engine.add(owner, await engine.newAccount('empty'))).added, true)
  })

  it('include repairs', async () => {
    const owner = await engine.newOwner()
    const account = await engine.newAccount('empty')
    const { connectionId } = await engine.add(owner, account)
    for (let count = 0; count < 3; count += 1) {
      assert.equal((await engine.add(owner, account, { repairOf: connectionId ?? '' })).added, true)
    }
    await assertRefused(owner)
  })

  it('include accounts and wallets that were removed again', async () => {
    const owner = await engine.newOwner()
    const account = await engine.newAccount('empty')
    const wallet = { providerId: 'evm', credentials: { type: 'wallet', address: `0x${'6'.repeat(40)}` } } as const
    for (let count = 0; count < 3; count += 1) {
      const { connectionId } = await engine.add(owner, account, count === 1 ? wallet : {})
      await engine.connections.remove(owner, { connectionId: connectionId ?? '', by: { actor: 'user' } })
    }
    await assertRefused(owner)
  })

  it('include accounts whose connection was removed while they were checked', async () => {
    const owner = await engine.newOwner()
    await engine.db.execute(
      `create function remove_pending() returns trigger language plpgsql as $$ begin
         delete from connections where status = 'pending' and key_lane = new.key_lane; return null; end $$`,
    )
    await engine.db.execute(
      'create trigger remove_pending after insert on key_nonces for each row execute function remove_pending()',
    )
    for (let count = 0; count < 3; count += 1) {
      assert.equal((await engine.add(owner, await engine.newAccount('empty'))).added, false)
    }
    await engine.db.execute('drop trigger remove_pending on key_nonces')
    await assertRefused(owner)
  })

  it('include accounts whose connect session ended without a code', async () => {
    const owner = await engine.newOwner()
    for (let count = 0; count < 3; count += 1) {
      const { connectionId } = await engine.add(owner, await engine.newAccount('empty'))
      await engine.db.execute("update connections set session_id = 'ses_left' where id = $1", [connectionId])
      await engine.db.transaction((tx) => engine.connections.discardSession(tx, owner, 'ses_left'))
    }
    await assertRefused(owner)
  })

  it('do not include accounts that are removed an hour after their check, or later', async () => {
    const owner = await engine.newOwner()
    const added = []
    for (let count = 0; count < 3; count += 1) added.push(await engine.add(owner, await engine.newAccount('empty')))
    await engine.moveClock(3_600_000)
    for (const { connectionId } of added) {
      await engine.connections.remove(owner, { connectionId: connectionId ?? '' })
    }
    assert.equal((await engine.add(owner, await engine.newAccount('empty'))).added, true)
  })

  it('do not include accounts that stay', async () => {
    const owner = await engine.newOwner()
    for (let count = 0; count < 5; count += 1) {
      assert.equal((await engine.add(owner, await engine.newAccount('empty'))).added, true)
    }
  })
})

describe('a key that is given with a wrong secret', async () => {
  const engine = await openEngine()

  it('takes neither the key nor its budget from the job of the user who has the right one', async () => {
    const ref = await engine.connect(await engine.newOwner(), 'empty')
    // No job of its own takes the key meanwhile.
    await engine.drain({ delayed: true })
    const opened = await engine.connections.open(ref)
    assert.ok(opened)
    const ask = engine.metering.startAsking(opened, { interactive: false })
    const call = async (): Promise<string> => (await ask({ counter: 1 }, async () => ({}))).kind
    assert.equal(await call(), 'answer')
    const listOwn = (): Promise<object[]> =>
      engine.db.rows('select bucket, tokens from budgets where bucket like $1', [`%${opened.keyLane}`])
    const before = await listOwn()
    const wrong = { accountId: ref.accountId, apiKey: ref.apiKey, secretKey: Buffer.alloc(64, 7).toString('base64') }
    const { errors } = await engine.add(await engine.newOwner(), wrong)
    assert.equal(errors[0]?.cause, 'invalid_credentials')
    assert.deepEqual(await listOwn(), before)
    assert.equal(await call(), 'answer')
  })
})

describe('a wallet that is given again and again', async () => {
  const engine = await openEngine()

  it('leaves one row of nonces, and not one for each time', async () => {
    const owner = await engine.newOwner()
    const address = `0x${'5'.repeat(40)}`
    const give = async (): Promise<string | undefined> => {
      const credentials = { type: 'wallet', address } as const
      const more = { providerId: 'evm', credentials }
      return (await engine.add(owner, await engine.newAccount('empty'), more)).errors[0]?.cause
    }
    const countNonces = async (): Promise<number> => (await engine.db.rows('select from key_nonces')).length
    assert.equal(await give(), undefined)
    const before = await countNonces()
    for (let count = 0; count < 3; count += 1) assert.equal(await give(), 'already_connected')
    await engine.moveClock(3_600_000)
    await engine.connections.sweep()
    assert.equal(await countNonces(), before)
  })
})

describe('connections of one user', async () => {
  const engine = await openEngine({ ASSAY_LIMIT_CONNECTIONS: '2' })

  it('have a limit, because a user could add any number of strangers’ wallets; removing one makes room', async () => {
    const owner = await engine.newOwner()
    const first = await engine.add(owner, await engine.newAccount('empty'))
    assert.equal((await engine.add(owner, await engine.newAccount('empty'))).added, true)
    const { apiKey, secretKey } = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'kraken', displayLabel: null, credentials, connectSessionId: null }
    await assert.rejects(engine.connections.add(owner, request), (error) => {
      assert.ok(error instanceof Refusal)
      return error.code === 'invalid_request' && /at most 2 accounts/.test(error.message)
    })
    assert.equal((await engine.add(await engine.newOwner(), await engine.newAccount('empty'))).added, true)
    await engine.connections.remove(owner, { connectionId: first.connectionId ?? '', by: { actor: 'user' } })
    assert.equal((await engine.add(owner, await engine.newAccount('empty'))).added, true)
  })
})

describe('an account that is connected and removed again and again', async () => {
  // A fifth as many removed transactions may be remembered.
  const engine = await openEngine({ ASSAY_LIMIT_RECORDS: '2000' })

  it('is refused when too many of its removed transactions are remembered; other users are not concerned', async () => {
    const owner = await engine.newOwner()
    const ref = await engine.connect(owner, 'default')
    const countTransactions = async (): Promise<number> =>
      Number((await engine.connections.find(owner, ref.connectionId))?.transaction_count ?? 0)
    await engine.drain({ delayed: true, enough: async () => (await countTransactions()) > 400 })
    await engine.connections.remove(owner, { connectionId: ref.connectionId })
    const { apiKey, secretKey } = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'kraken', displayLabel: null, credentials, connectSessionId: null }
    await assert.rejects(engine.connections.add(owner, request), isRateLimited)
    assert.equal((await engine.add(await engine.newOwner(), await engine.newAccount('empty'))).added, true)
  })

  it('is refused when the audit log has too many entries of a day about its user, and taken the day after', async () => {
    const owner = await engine.newOwner()
    const addEntries = (entries: number): Promise<number> =>
      engine.db.execute(
        `insert into audit_entries (tenant_id, at, actor, action, subject, fields, user_id)
         select $1, $2::timestamptz, 'application', 'connection.added', 'con_' || entry, '{}', $3
         from generate_series(1, $4::int) entry`,
        [owner.tenantId, engine.db.now(), owner.userId, entries],
      )
    await addEntries(1_998)
    assert.equal((await engine.add(owner, await engine.newAccount('empty'))).added, true)
    await addEntries(1)
    const { apiKey, secretKey } = await engine.newAccount('empty')
    const credentials = { type: 'api_key', apiKey, secretKey } as const
    const request = { providerId: 'kraken', displayLabel: null, credentials, connectSessionId: null }
    await assert.rejects(engine.connections.add(owner, request), isRateLimited)
    assert.equal((await engine.add(await engine.newOwner(), await engine.newAccount('empty'))).added, true)
    await engine.moveClock(86_400_000)
    assert.equal((await engine.add(owner, await engine.newAccount('empty'))).added, true)
  })
})
