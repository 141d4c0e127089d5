/**
 * The connector against a server with one prepared answer. The formats are those of binance-spot-api-docs (rest-api.md,
 * errors.md) and developers.binance.com (docs/wallet, docs/convert, docs/simple_earn, docs/fiat); all values are
 * invented.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { type Fault, NoAnswer } from '@assay/core'
import type { Balances } from '../kit/connector.ts'
import { credentials, faultOf, nowMs, useBinance, type Received } from './test-binance.ts'

const binance = useBinance()
const { received, answerBy, open } = binance

const rights = { ipRestrict: false, createTime: 1698645219000, enableReading: true, enableFixReadOnly: true }

describe('a signed call', () => {
  it('is signed over everything that is sent, and carries the key only in a header', async () => {
    answerBy({ apiRestrictions: { body: { ...rights, enableReading: false } } })
    await binance.reader.verify()
    const [{ query, headers }] = received as [Received]
    const [payload = '', signature] = query.split('&signature=')
    assert.equal(signature, createHmac('sha256', credentials.secretKey).update(payload).digest('hex'))
    assert.equal(new URLSearchParams(payload).get('timestamp'), String(nowMs))
    assert.equal(headers['x-mbx-apikey'], credentials.apiKey)
    assert.ok(!query.includes(credentials.apiKey))
  })

  it('that Binance rejects as too late or too early is repeated once, by Binance’s clock', async () => {
    const theirsMs = nowMs + 600_000
    binance.answer = ({ path, params }) => {
      if (path === '/api/v3/time') return { body: { serverTime: theirsMs } }
      const isInTime = params.get('timestamp') === String(theirsMs)
      return isInTime ? { body: { ...rights, enableReading: false } } : { status: 400, body: { code: -1021, msg: 'x' } }
    }
    await binance.reader.verify()
    await binance.reader.verify()
    // Refused, time fetched, accepted; from then on the difference is known.
    assert.deepEqual(
      received.map(({ path }) => path.split('/').at(-1)),
      ['apiRestrictions', 'time', 'apiRestrictions', 'apiRestrictions'],
    )
  })

  it('with a key that cannot be Binance’s is not sent', async () => {
    for (const apiKey of ['short', `${credentials.apiKey}\n`, 'ü'.repeat(64)]) {
      assert.equal((await faultOf(open({ ...credentials, apiKey }).verify())).fault, 'invalid_credentials')
    }
    assert.equal(received.length, 0)
  })

  const errors: readonly (readonly [status: number, code: number, fault: Fault])[] = [
    [400, -1022, 'invalid_credentials'],
    [400, -2008, 'invalid_credentials'],
    [401, -2014, 'invalid_credentials'],
    [401, -1002, 'missing_permission'],
    [400, -1130, 'unreadable_answer'],
    [400, -1007, 'venue_down'],
    [503, -1008, 'venue_down'],
    [403, 0, 'rate_limited'],
    [429, -1003, 'rate_limited'],
  ]
  for (const [status, code, fault] of errors) {
    it(`HTTP ${status} with code ${code} is ${fault}`, async () => {
      binance.answer = () => ({
        status,
        body: code === 0 ? '<html></html>' : { code, msg: `key ${credentials.apiKey}` },
      })
      const error = await faultOf(binance.reader.verify())
      assert.equal(error.fault, fault)
      // Binance counts the weight of an address.
      assert.equal(error.isOfAddress, fault === 'rate_limited')
      assert.equal(error instanceof NoAnswer, status >= 500)
      assert.ok(!error.message.includes(credentials.apiKey))
    })
  }

  it('−2015 under /api is investigated: the rights of the key show the cause', async () => {
    const rejected = { status: 401, body: { code: -2015, msg: 'x' } }
    answerBy({ account: rejected, apiRestrictions: { status: 400, body: { code: -2008, msg: 'x' } } })
    assert.equal((await faultOf(binance.reader.fetchBalances({}))).fault, 'invalid_credentials')
    answerBy({ account: rejected, apiRestrictions: rejected })
    assert.equal((await faultOf(binance.reader.fetchBalances({}))).fault, 'invalid_credentials')
    const { missing } = await binance.reader.verify()
    assert.equal(missing[0], 'Enable Reading')
    assert.match(missing[1] ?? '', /trusted IPs/)
    answerBy({ account: rejected, apiRestrictions: { body: rights } })
    assert.equal((await faultOf(binance.reader.fetchBalances({}))).fault, 'missing_permission')
  })

  it('429 and 418 give the time to wait', async () => {
    for (const status of [429, 418]) {
      binance.answer = () => ({ status, headers: { 'Retry-After': '17' }, body: { code: -1003, msg: 'x' } })
      const { fault, retryAfterMs } = await faultOf(binance.reader.verify())
      assert.deepEqual([fault, retryAfterMs], ['rate_limited', 17_000])
    }
    // Binance has sent 0, and bans an address that retries at once: the next full minute is the earliest.
    binance.answer = () => ({ status: 429, headers: { 'Retry-After': '0' }, body: { code: -1003, msg: 'x' } })
    assert.equal((await faultOf(binance.reader.verify())).retryAfterMs, 60_000)
  })
})

describe('the rights of a key', () => {
  it('the right to read is enough, and the account is identified by its number', async () => {
    const headers = { 'X-SAPI-USED-IP-WEIGHT-1M': '3' }
    answerBy({
      apiRestrictions: { headers, body: rights },
      account: { headers: { 'X-MBX-USED-WEIGHT-1M': '41' }, body: { balances: [], uid: 354937868 } },
    })
    const account = await binance.reader.verify()
    assert.deepEqual([account.excess, account.missing], [[], []])
    assert.deepEqual(account.spent, [
      { bucket: 'sapi', used: 3 },
      { bucket: 'weight', used: 41 },
    ])
    const other = await open({ ...credentials, apiKey: credentials.apiKey.toLowerCase() }).verify()
    assert.deepEqual([other.fingerprint, other.fingerprintOf], [account.fingerprint, 'account'])
  })

  it('every other right is excessive, even an unknown one', async () => {
    answerBy({
      apiRestrictions: { body: { ...rights, enableWithdrawals: true, enableMargin: false, enableMoonTrading: true } },
      account: { body: { balances: [], uid: 1 } },
    })
    assert.deepEqual((await binance.reader.verify()).excess, ['Enable Withdrawals', 'enableMoonTrading'])
  })

  it('an answer that names no rights is not a key without rights, and one without an account names none', async () => {
    for (const body of [{}, { code: '000001', success: false }, { message: 'busy' }]) {
      answerBy({ apiRestrictions: { body } })
      assert.equal((await faultOf(binance.reader.verify())).fault, 'unreadable_answer')
      answerBy({ apiRestrictions: { body: rights }, account: { body } })
      assert.equal((await faultOf(binance.reader.verify())).fault, 'unreadable_answer')
    }
  })

  it('a key without the right to read is reported, and no further call is made', async () => {
    answerBy({ apiRestrictions: { body: { ...rights, enableReading: false } } })
    assert.deepEqual((await binance.reader.verify()).missing, ['Enable Reading'])
    assert.equal(received.length, 1)
  })
})

describe('balances', () => {
  it('count Simple Earn once, and Lido as Lido', async () => {
    answerBy({
      account: {
        body: {
          balances: [
            { asset: 'BTC', free: '0.10000000', locked: '0.02000000' },
            { asset: 'LDBTC', free: '0.50000000', locked: '0.00000000' },
            { asset: 'LDO', free: '7.00000000', locked: '0.00000000' },
            { asset: 'LDLDO', free: '3.00000000', locked: '0.00000000' },
            // This coin only has such a name and is not in Simple Earn.
            { asset: 'LDQX', free: '1.00000000', locked: '0.00000000' },
          ],
        },
      },
      'flexible/position': {
        body: {
          rows: [
            { asset: 'BTC', totalAmount: '0.50000001' },
            { asset: 'LDO', totalAmount: '3' },
          ],
          total: 2,
        },
      },
      'locked/position': { body: { rows: [{ asset: 'DOT', amount: '40.00000000' }], total: 1 } },
    })
    const { balances, state } = await binance.reader.fetchBalances({})
    assert.deepEqual(
      balances.map(({ symbol, liquid, staked }) => [symbol, liquid, staked]),
      [
        ['BTC', '0.62000001', '0'],
        ['LDO', '10', '0'],
        ['LDQX', '1', '0'],
        ['DOT', '0', '40'],
      ],
    )
    assert.deepEqual(state, { assets: ['BTC', 'DOT', 'LDO', 'LDQX'], connectedAtMs: nowMs })
  })

  it('are in doubt while a part of Simple Earn is the collateral of a loan, whose coins are in the spot wallet', async () => {
    const readWith = async (collateralAmount: string): Promise<Balances> => {
      answerBy({
        account: { body: { balances: [{ asset: 'USDT', free: '700', locked: '0' }] } },
        'flexible/position': { body: { rows: [{ asset: 'BTC', totalAmount: '1', collateralAmount }], total: 1 } },
        'locked/position': { body: { rows: [], total: 0 } },
      })
      return binance.reader.fetchBalances({})
    }
    const free = await readWith('0.00000000')
    assert.deepEqual([free.isInDoubt, free.unreadable], [undefined, undefined])
    const owing = await readWith('1.00000000')
    assert.deepEqual([owing.isInDoubt, owing.unreadable], [true, ['a loan against Simple Earn']])
    assert.deepEqual(owing.balances, free.balances)
  })

  it('with a code that cannot be an asset’s are left out and named, and the others are read', async () => {
    const long = `LD${'X'.repeat(400)}`
    answerBy({
      account: {
        body: {
          balances: [long, '', 'BTC'].map((asset) => ({ asset, free: '1', locked: '0' })),
        },
      },
      'flexible/position': { body: { rows: [{ asset: '', totalAmount: '1' }], total: 1 } },
      'locked/position': { body: { rows: [{ asset: 'DOT', amount: '40' }], total: 1 } },
    })
    const { balances, unreadable, state } = await binance.reader.fetchBalances({})
    assert.deepEqual(
      balances.map(({ symbol }) => symbol),
      ['BTC', 'DOT'],
    )
    assert.deepEqual(unreadable, [`LD${'X'.repeat(38)}…`, 'an asset without a code'])
    assert.deepEqual(state?.['assets'], ['BTC', 'DOT'])
  })

  it('are not empty when Binance fails with HTTP 200', async () => {
    const replies = {
      account: { body: { balances: [] } },
      'flexible/position': { body: { rows: [], total: 0 } },
      'locked/position': { body: { rows: [], total: 0 } },
    }
    answerBy(replies)
    assert.deepEqual((await binance.reader.fetchBalances({})).balances, [])
    for (const name of Object.keys(replies)) {
      for (const body of [{}, { message: 'busy' }, { code: '000001', rows: [], success: false }]) {
        answerBy({ ...replies, [name]: { body } })
        assert.equal((await faultOf(binance.reader.fetchBalances({}))).fault, 'unreadable_answer')
      }
    }
  })
})
