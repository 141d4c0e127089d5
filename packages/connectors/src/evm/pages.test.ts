/** Pages of an index, against a chain on loopback that is written from the documents alone (test-chain.ts). */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { SourceError } from '@assay/core'
import type { Page, RawRecord, AccountReader } from '../kit/connector.ts'
import { connector } from './connector.ts'
import { startChain, timeOf, type TestChain } from './test-chain.ts'

const address = '0x52908400098527886e0f7030069857d2e4169ee7'
const other = '0x8617e340b3d01fa5f11f306f4090fd50e238070d'

const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, '0')}`

function transfer(number: number, block: number, more: Record<string, unknown> = {}) {
  return {
    blockNumber: String(block),
    timeStamp: String(timeOf(block)),
    hash: hashOf(number),
    blockHash: hashOf(1_000_000 + block),
    from: other,
    to: address,
    contractAddress: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
    value: '1000000',
    tokenName: 'USD Coin',
    tokenSymbol: 'USDC',
    tokenDecimal: '6',
    gasPrice: '1',
    gasUsed: '21000',
    ...more,
  }
}

async function openWallet(t: TestContext): Promise<{ chain: TestChain; reader: AccountReader }> {
  const chain = await startChain(t)
  return { chain, reader: connector.open({ type: 'wallet', address }, chain.io) }
}

interface Walk {
  records: RawRecord[]
  last: Page
  pages: number
}

async function walk(
  reader: AccountReader,
  stream: string,
  { start = 0, end = 20_001, lastingMark = '' } = {},
): Promise<Walk> {
  const window = { unit: 'block', start, end } as const
  const records: RawRecord[] = []
  let pageMark: string | null = null
  for (let pages = 1; ; pages += 1) {
    const request = {
      stream,
      partition: '1',
      window,
      pageMark,
      lastingMark: lastingMark === '' ? null : lastingMark,
      state: {},
    }
    const page: Page = await reader.fetchPage(request)
    records.push(...page.records)
    if (page.next === null) return { records, last: page, pages }
    pageMark = page.next
    assert.ok(pages < 100, 'the walk does not end')
  }
}

const keysOf = (records: readonly RawRecord[]): string[] => [...new Set(records.map(({ key }) => key))]

describe('pages of an index', () => {
  it('a list that is longer than an index gives is read by blocks, and every row comes once', async (t) => {
    const { chain, reader } = await openWallet(t)
    const rows = Array.from({ length: 12_000 }, (_, index) => transfer(index, 1 + Math.floor(index / 7)))
    chain.lists.set('tokentx', rows)
    const { records } = await walk(reader, 'erc20')
    assert.equal(records.length, 12_000)
    assert.equal(keysOf(records).length, 12_000)
    const deepest = Math.max(...chain.questions.map((query) => Number(query.get('page')) * Number(query.get('offset'))))
    assert.ok(deepest <= 10_000, `${deepest} rows were requested`)
  })

  it('a block that fills several pages is read to its end, even when all its rows say the same', async (t) => {
    const { chain, reader } = await openWallet(t)
    const rows = [
      transfer(1, 5),
      ...Array.from({ length: 3_500 }, () => transfer(2, 9)),
      transfer(3, 9),
      transfer(4, 10),
    ]
    chain.lists.set('tokentx', rows)
    const { records } = await walk(reader, 'erc20')
    assert.equal(keysOf(records).length, rows.length)
  })

  it('blocks that fill one page each are read one after another', async (t) => {
    const { chain, reader } = await openWallet(t)
    const rows = Array.from({ length: 12_000 }, (_, index) => transfer(index, 5 + Math.floor(index / 1_000)))
    chain.lists.set('tokentx', rows)
    const { records } = await walk(reader, 'erc20')
    assert.equal(keysOf(records).length, rows.length)
  })

  it('a block that a stranger filled with more rows than an index gives hides only its own rows', async (t) => {
    const { chain, reader } = await openWallet(t)
    const flood = Array.from({ length: 10_001 }, (_, index) => transfer(10 + index, 9))
    chain.lists.set('tokentx', [transfer(1, 5), ...flood, transfer(2, 10), transfer(3, 11)])
    const { records, last } = await walk(reader, 'erc20')
    const missed = records.filter(({ unreadable }) => unreadable !== undefined)
    assert.deepEqual(
      missed.map(({ unreadable, occurredAtMs }) => [unreadable, occurredAtMs]),
      [['block 9 has more rows than an index gives', timeOf(9) * 1000]],
    )
    assert.equal(keysOf(records).length, 1 + 10_000 + 1 + 2)
    assert.deepEqual(last.complete, { unit: 'block', start: 0, end: 20_001 })
    const again = await walk(reader, 'erc20', { start: 9, end: 10 })
    assert.deepEqual(
      again.records.filter(({ unreadable }) => unreadable !== undefined),
      missed,
    )
  })

  it('a block with as many rows as an index gives, and no others, has an end', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.lists.set(
      'tokentx',
      Array.from({ length: 9_999 }, (_, index) => transfer(index, 9)),
    )
    const { records } = await walk(reader, 'erc20')
    assert.equal(keysOf(records).length, 9_999)
    assert.ok(records.every(({ unreadable }) => unreadable === undefined))
  })

  it('an index that gives fewer rows for a page than requested does not end a list', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.rowsMax = 100
    chain.lists.set(
      'tokentx',
      Array.from({ length: 5_000 }, (_, index) => transfer(index, 1 + Math.floor(index / 7))),
    )
    const { records } = await walk(reader, 'erc20')
    assert.equal(keysOf(records).length, 5_000)
    assert.ok(records.every(({ unreadable }) => unreadable === undefined))
  })

  it('a block with more rows than such an index gives is reported, and the list continues after it', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.rowsMax = 100
    const flood = Array.from({ length: 1_500 }, (_, index) => transfer(10 + index, 9))
    chain.lists.set('tokentx', [transfer(1, 5), ...flood, transfer(2, 10)])
    const { records } = await walk(reader, 'erc20')
    const missed = records.flatMap(({ unreadable }) => unreadable ?? [])
    assert.deepEqual(missed, ['block 9 has more rows than an index gives'])
    assert.equal(keysOf(records).length, 1 + 1_000 + 1 + 1)
  })

  for (const [name, ignored, length] of [
    ['the first block', 'startblock', 12_000],
    ['the last block', 'endblock', 3],
    ['the page', 'page', 3],
    ['the page of a long list', 'page', 12_000],
  ] as const) {
    it(`an index that does not honour ${name} of a query is a named fault, and not a walk without end`, async (t) => {
      const { chain, reader } = await openWallet(t)
      const rows = Array.from({ length }, (_, index) => transfer(index, 500 + (index >> 1)))
      chain.lists.set('tokentx', length > 3 ? rows : [...rows, transfer(9_000, 9_000)])
      chain.toQuery = (query) => {
        const read = new URLSearchParams(query)
        if (ignored === 'page') read.set('page', '1')
        else read.delete(ignored)
        return read
      }
      const end = ignored === 'endblock' ? 1_000 : 20_001
      await assert.rejects(walk(reader, 'erc20', { end }), isFault('unreadable_answer'))
    })
  }

  it('every page mark can be resumed by a new reader', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.lists.set(
      'tokentx',
      Array.from({ length: 2_600 }, (_, index) => transfer(index, 1 + (index >> 4))),
    )
    const whole = await walk(reader, 'erc20')
    const window = { unit: 'block', start: 0, end: 20_001 } as const
    const seen: RawRecord[] = []
    let pageMark: string | null = null
    do {
      const request = { stream: 'erc20', partition: '1', window, pageMark, lastingMark: null, state: {} }
      const page: Page = await connector.open({ type: 'wallet', address }, chain.io).fetchPage(request)
      seen.push(...page.records)
      pageMark = page.next
    } while (pageMark !== null)
    assert.deepEqual(keysOf(seen), keysOf(whole.records))
  })

  it('a window has both its edges: the first block is in it, the end is not', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.lists.set(
      'tokentx',
      [99, 100, 199, 200].map((block) => transfer(block, block)),
    )
    const { records } = await walk(reader, 'erc20', { start: 100, end: 200 })
    assert.deepEqual(
      records.map(({ occurredAtMs }) => occurredAtMs),
      [timeOf(100) * 1000, timeOf(199) * 1000],
    )
  })

  it('reports the times of its edges, between which no other block lies', async (t) => {
    const { reader } = await openWallet(t)
    const { last } = await walk(reader, 'erc20', { start: 100, end: 200 })
    assert.deepEqual(last.times, { startMs: timeOf(99) * 1000 + 1, endMs: timeOf(200) * 1000 })
    assert.deepEqual(last.complete, { unit: 'block', start: 100, end: 200 })
  })

  it('up to the newest block, it is read until now', async (t) => {
    const { chain, reader } = await openWallet(t)
    const { last } = await walk(reader, 'erc20')
    assert.deepEqual(last.times, { startMs: timeOf(1) * 1000, endMs: chain.nowMs })
  })

  it('keeps rows as the index wrote them, and one that cannot be parsed does not fail its page', async (t) => {
    const { chain, reader } = await openWallet(t)
    const long = '12345678901234567890.123456789012345678901234567890'
    const text = `{"status":"1","message":"OK","result":[${JSON.stringify(transfer(1, 9)).replace('"1000000"', '1000000').slice(0, -1)},"odd":${long}},{"blockNumber":"?"}]}`
    chain.answers.push({ status: 200, text })
    const { records } = await walk(reader, 'erc20')
    assert.deepEqual(
      records.map(({ unreadable }) => unreadable !== undefined),
      [false, true],
    )
    assert.ok(records[0]?.body.includes(`"odd":${long}`))
  })

  it('gives the same record of a row however many blocks have followed', async (t) => {
    const { chain, reader } = await openWallet(t)
    const bodies: string[] = []
    for (const confirmations of ['64', '65']) {
      chain.lists.set('tokentx', [transfer(1, 9, { confirmations })])
      bodies.push(...(await walk(reader, 'erc20')).records.map(({ body }) => body))
    }
    assert.equal(bodies.length, 2)
    assert.equal(bodies[0], bodies[1])
  })

  it('reads transactions whose calldata strangers have made as long as nodes relay it, and keeps none of it', async (t) => {
    const { chain, reader } = await openWallet(t)
    const input = `0x${'00'.repeat(128 * 1024)}`
    const rows = Array.from({ length: 100 }, (_, index) => transfer(index, 9 + index, { input }))
    chain.lists.set('txlist', rows)
    const { records } = await walk(reader, 'transactions')
    assert.equal(keysOf(records).length, 100)
    assert.ok(records.every(({ body, unreadable }) => unreadable === undefined && body.length < 1_000))
  })
})

describe('rows that are not final yet', () => {
  it('is pending until the chain is deep enough above it, and watched until it is twice as deep', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.lists.set(
      'tokentx',
      [19_936, 19_937, 20_000].map((block) => transfer(block, block)),
    )
    const { records, last } = await walk(reader, 'erc20')
    assert.deepEqual(
      records.map(({ pending }) => pending ?? false),
      [false, true, true],
    )
    const blocks: number[][] = []
    for (const height of [20_064, 20_127, 20_128]) {
      chain.height = height
      const later = connector.open({ type: 'wallet', address }, chain.io)
      const again = await walk(later, 'erc20', { start: 17_600, end: height + 1, lastingMark: last.lastingMark ?? '' })
      assert.ok(again.records.every(({ pending }) => pending !== true))
      const watched = JSON.parse(again.last.lastingMark ?? '') as { block: number }[]
      blocks.push(watched.map(({ block }) => block))
    }
    assert.deepEqual(blocks, [[19_937, 20_000], [20_000], []])
  })

  it('is withdrawn when a replaced block had it, and stays when the index is only behind', async (t) => {
    const { chain, reader } = await openWallet(t)
    const [gone, moved, behind] = [transfer(1, 19_990), transfer(2, 19_991), transfer(3, 19_992)]
    chain.lists.set('tokentx', [gone, moved, behind])
    const first = await walk(reader, 'erc20')
    const keys = keysOf(first.records)
    chain.lists.set('tokentx', [{ ...transfer(2, 19_995), value: '999999' }])
    for (const { hash, blockHash, blockNumber } of [transfer(2, 19_995), behind]) {
      const number = `0x${Number(blockNumber).toString(16)}`
      chain.receipts.set(hash, { transactionHash: hash, blockHash, blockNumber: number })
    }
    const second = await walk(reader, 'erc20', { start: 17_600, lastingMark: first.last.lastingMark ?? '' })
    const [goneKey = '', movedKey = '', behindKey = ''] = keys
    const { withdrawn = [] } = second.last
    assert.deepEqual(
      [goneKey, movedKey, behindKey].map((key) => withdrawn.includes(key)),
      [true, true, false],
    )
    assert.equal(second.records.length, 1)
    assert.ok(!keys.includes(second.records[0]?.key ?? ''))
  })

  it('has one key in either block, where it says the same', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.lists.set('txlist', [transfer(1, 19_990)])
    const first = await walk(reader, 'transactions')
    chain.lists.set('txlist', [transfer(1, 19_993)])
    const second = await walk(reader, 'transactions', { start: 17_600, lastingMark: first.last.lastingMark ?? '' })
    assert.deepEqual(keysOf(second.records), keysOf(first.records))
    assert.equal(second.last.withdrawn, undefined)
  })
})

function isFault(fault: string): (error: unknown) => boolean {
  return (error) => error instanceof SourceError && error.fault === fault
}

describe('answers of an index', () => {
  const said = (status: string, message: string, result: unknown = null): string =>
    JSON.stringify({ status, message, result })

  for (const text of [
    said('0', 'No transactions found', []),
    said('0', 'No internal transactions found', []),
    said('0', 'No token transfers found', []),
  ]) {
    it(`${text} is an empty list`, async (t) => {
      const { chain, reader } = await openWallet(t)
      chain.answers.push({ status: 200, text })
      const { records, pages } = await walk(reader, 'erc20')
      assert.deepEqual([records.length, pages], [0, 1])
    })
  }

  it('a list of withdrawals that the index does not have is empty', async (t) => {
    const { chain, reader } = await openWallet(t)
    chain.answers.push({ status: 400, text: said('0', 'Unknown action') })
    assert.deepEqual((await walk(reader, 'withdrawals')).records, [])
  })

  for (const [name, fault, status, text] of [
    ['"Max rate limit reached"', 'rate_limited', 200, said('0', 'NOTOK', 'Max rate limit reached')],
    ['a limit by the second', 'rate_limited', 200, said('0', 'NOTOK', 'Max calls per sec rate limit reached (5/sec)')],
    ['HTTP 429', 'rate_limited', 429, '{}'],
    ['HTTP 503', 'venue_down', 503, '{}'],
    [
      'a query that timed out',
      'venue_down',
      200,
      said('0', 'Query Timeout occured. Please select a smaller result dataset'),
    ],
    ['a page for browsers', 'venue_down', 200, '<html>maintenance</html>'],
    ['half of the JSON', 'unreadable_answer', 200, '{"status":"1","result":[{'],
    ['an unknown action', 'unreadable_answer', 200, said('0', 'Unknown action')],
    ['a wrong key', 'unreadable_answer', 200, said('0', 'NOTOK', 'Invalid API Key')],
    ['rows that are not a list', 'unreadable_answer', 200, said('1', 'OK', {})],
    ['blocks that are not indexed yet', 'data_hole', 200, said('2', 'Internal transactions are being indexed', [])],
  ] as const) {
    it(`${name} is ${fault}`, async (t) => {
      const { chain, reader } = await openWallet(t)
      chain.answers.push({ status, text })
      await assert.rejects(walk(reader, 'erc20'), isFault(fault))
    })
  }
})
