import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { listAssetsV1, listCatalog, listTransactions } from '@assay/contract'
import { Refusal } from '@assay/core'
import { createCursors, toSubject } from './cursor.ts'
import { linkHeaders, listParameters, openPage, type PagedEndpoint, type PageRequest } from './pages.ts'
import { parseQuery, queryOf } from '../request/query.ts'

const cursors = createCursors([new Uint8Array(32).fill(3)])
const transactions: PagedEndpoint = {
  endpoint: listTransactions,
  paging: listTransactions.paging,
  filters: listTransactions.query,
}

function read(query: string, { list = transactions, subject = 'ann' } = {}): PageRequest {
  return openPage(list, parseQuery(query, listParameters(list)), list.endpoint.path, cursors).claim(toSubject(subject))
}

function refusalOf(query: string, options: Parameters<typeof read>[1] = {}): Refusal {
  try {
    read(query, options)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new assert.AssertionError({ message: `${query} was not refused` })
}

const point = ['2026-03-02T10:11:12.345Z', 'txn_1']
const start = encodeURIComponent('2026-01-01T01:00:00+01:00')
const first = read(`asset_symbols=ETH,BTC&start_time=${start}&limit=5`)
const next = first.next(point)
const cursorIn = (whole: string): string => new URLSearchParams(queryOf(whole)).get('cursor') ?? ''
const bare = cursorIn(next)

describe('the first page', () => {
  it('has the default limit, no point, and filters in one canonical form', () => {
    assert.equal(read('').limit, 30)
    assert.equal(first.point, undefined)
    assert.deepEqual(first.filters, { asset_symbols: ['BTC', 'ETH'], start_time: '2026-01-01T00:00:00.000Z' })
  })

  it('next is empty on the last page', () => assert.equal(first.next(undefined), ''))

  it('next is a relative URI with path, filters as they were written, limit and cursor', () => {
    assert.match(
      next,
      /^\/accounts\/v2\/transactions\?asset_symbols=ETH%2CBTC&start_time=2026-01-01T01%3A00%3A00%2B01%3A00&limit=5&cursor=[\w-]+$/,
    )
  })

  it('v1 assets without a limit have no page size, and a Link only when more rows follow', () => {
    const list: PagedEndpoint = { endpoint: listAssetsV1, paging: listAssetsV1.paging, filters: listAssetsV1.query }
    const page = read('', { list })
    assert.equal(page.limit, null)
    assert.deepEqual(linkHeaders(page.next(undefined)), {})
    assert.match(linkHeaders(page.next(['x']))['Link'] ?? '', /^<\/platform\/v1\/assets\?cursor=[\w-]+>; rel="next"$/)
    assert.equal(refusalOf('next_uri=x', { list }).items[0]?.cause, 'unknown_parameter')
  })
})

describe('the next page is fetched', () => {
  const ways: Record<string, string> = {
    'by following next as it is': queryOf(next),
    'by cursor= with the cursor inside it, filters repeated': `asset_symbols=BTC,ETH&start_time=${start}&limit=5&cursor=${bare}`,
    'by cursor= with the cursor inside it, filters left out': `limit=5&cursor=${bare}`,
    'by cursor= with the whole next value': `cursor=${encodeURIComponent(next)}`,
    'by next_uri= with the whole next value': `next_uri=${encodeURIComponent(next)}`,
    'by next_uri= with the bare cursor': `limit=5&next_uri=${bare}`,
    'by the whole next value beside the first request': `asset_symbols=ETH,BTC&start_time=${start}&limit=5&cursor=${encodeURIComponent(next)}`,
  }
  for (const [way, query] of Object.entries(ways)) {
    it(way, () => {
      const page = read(query)
      assert.deepEqual(page.filters, first.filters)
      assert.deepEqual(page.point, point)
      assert.equal(page.limit, 5)
      assert.equal(page.next(point), next)
    })
  }

  it('with the default limit beside a bare cursor', () => assert.equal(read(`cursor=${bare}`).limit, 30))

  it('with a different limit, because limit is not a filter', () => {
    assert.equal(read(`cursor=${bare}&limit=100`).limit, 100)
    assert.equal(read(`cursor=${encodeURIComponent(next)}&limit=100`).limit, 100)
  })

  it('with the same filter written differently', () => {
    assert.deepEqual(read(`cursor=${bare}&start_time=2026-01-01T00:00:00Z&asset_symbols=ETH,BTC,ETH`).point, point)
  })
})

it('the bare cursor of a point is the one inside its next value', () => {
  assert.equal(first.cursor(point), bare)
})

describe('400', () => {
  for (const limit of ['0', '101', '1000', '-1', '1.5', '030', 'ten', '1e1', '%201']) {
    it(`limit=${limit}`, () => {
      const refusal = refusalOf(`limit=${limit}`)
      assert.equal(refusal.message, 'limit must be a whole number from 1 to 100')
      assert.match(refusal.items[0]?.message ?? '', /^must be a whole number from 1 to 100, got ("|-?[\d.]+$)/)
    })
  }

  it('a filter that contradicts the cursor is named', () => {
    assert.equal(refusalOf(`cursor=${bare}&asset_symbols=BTC`).items[0]?.parameter, 'asset_symbols')
  })

  it('a filter that the first request lacked is named', () => {
    assert.equal(refusalOf(`cursor=${bare}&types=send`).items[0]?.parameter, 'types')
  })

  it('a filter changed inside a whole next value is named', () => {
    const changed = next.replace('ETH%2CBTC', 'BTC')
    assert.equal(refusalOf(`cursor=${encodeURIComponent(changed)}`).items[0]?.parameter, 'asset_symbols')
  })

  it('an altered cursor is refused as such', () => {
    const altered = bare.startsWith('A') ? `B${bare.slice(1)}` : `A${bare.slice(1)}`
    for (const cursor of [altered, 'nonsense', `${bare}%20`]) {
      assert.match(
        refusalOf(`cursor=${cursor}`).message,
        /^cursor was altered, or is of another list, user or application/,
      )
    }
  })

  it('a cursor of another user, or of another list, is refused as such', () => {
    assert.match(refusalOf(`cursor=${bare}`, { subject: 'bob' }).message, /altered, or is of another/)
    const list: PagedEndpoint = { endpoint: listCatalog, paging: listCatalog.paging, filters: listCatalog.query }
    assert.match(refusalOf(`cursor=${bare}`, { list }).message, /altered, or is of another/)
  })

  it('a next value of another path, without a cursor, malformed, with a value that none has, or nested in itself', () => {
    const nested = `/accounts/v2/transactions?cursor=${encodeURIComponent(next)}`
    for (const value of [
      '/accounts/v2/assets?cursor=x',
      '/accounts/v2/transactions?limit=5',
      `${next}&x=1`,
      `${next}&types=trade`,
      next.replace('limit=5', 'limit=500'),
      nested,
      '/%',
    ]) {
      assert.equal(refusalOf(`next_uri=${encodeURIComponent(value)}`).items[0]?.parameter, 'next_uri', value)
    }
  })

  it('cursor and next_uri together', () => {
    assert.equal(refusalOf(`cursor=${bare}&next_uri=${bare}`).items[0]?.parameter, 'next_uri')
  })

  it('filters that are too long for next to fit in a URL', () => {
    const { message, items } = refusalOf(`asset_symbols=BTC&connection_ids=${hundredOf(80)}`)
    assert.match(message, /^connection_ids is too long: all filters have at most 4000 URL-encoded characters together$/)
    assert.equal(items[0]?.parameter, 'connection_ids')
    const written = Array.from({ length: 100 }, (_, index) => `${index}${'縄'.repeat(5)}`)
    assert.match(
      refusalOf(`asset_symbols=${encodeURIComponent(written.join())}`).message,
      / at most 4000 URL-encoded characters /,
    )
  })
})

/** Returns values of this length that are as random as ids. */
function hundredOf(length: number): string {
  const ids = Array.from({ length: 100 }, (_, index) =>
    createHash('sha512').update(String(index)).digest('base64url').toLowerCase().padEnd(length, 'x').slice(0, length),
  )
  return ids.toSorted().join(',')
}

it('a filter of a hundred ids has a next that fits into 8 KiB, even whole and encoded twice', () => {
  const ids = hundredOf(30)
  const next = read(`connection_ids=${ids}`).next(['2026-03-02T10:11:12.345Z', 'txn_5f3c0e8a9b7d4c21a6e0f4b2d8c19e37'])
  const whole = encodeURIComponent(next)
  assert.ok(whole.length < 7_800, String(whole.length))
  for (const query of [queryOf(next), `cursor=${whole}`, `cursor=${cursorIn(next)}`]) {
    assert.deepEqual(read(query).filters, { connection_ids: ids.split(',') })
  }
})

it('the catalogue’s cursors work for every caller', () => {
  const list: PagedEndpoint = { endpoint: listCatalog, paging: listCatalog.paging, filters: listCatalog.query }
  const catalogNext = read('kind=exchange', { list, subject: '' }).next(['kraken'])
  assert.deepEqual(read(queryOf(catalogNext), { list, subject: 'bob' }).point, ['kraken'])
})
