import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { endpoints } from './endpoints/index.ts'
import { anyRangeTimeParameter, isoTimeParameter, line, list, rangeTimeParameter, readRange } from './values.ts'

describe('a line of text', () => {
  const label = line(80)
  const fits = (given: string): boolean => label.safeParse(given).success

  it('is in any script, with marks of direction and joined emoji', () => {
    for (const given of ['Savings', 'Ersparnisse – März', 'חיסכון\u200f 2026', 'می\u200cخواهم', '👩\u200d💻 貯金']) {
      assert.ok(fits(given), given)
    }
  })

  it('has no second line, no control character and nothing that turns the words after it around', () => {
    for (const code of [0x00, 0x09, 0x0a, 0x0d, 0x1b, 0x7f, 0x85, 0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x2069]) {
      assert.equal(fits(`a${String.fromCodePoint(code)}b`), false, code.toString(16))
    }
  })
})

describe('a label', () => {
  it('is a line of text, wherever an account is connected', () => {
    const labelled = endpoints.filter(({ body }) => body instanceof z.ZodObject && 'display_label' in body.shape)
    assert.ok(labelled.length >= 3)
    for (const { id, body } of labelled) {
      const issues = body?.safeParse({ display_label: 'Savings\u202e' }).error?.issues ?? []
      assert.ok(
        issues.some(({ path }) => path[0] === 'display_label'),
        id,
      )
    }
  })
})

describe('times in a query', () => {
  const iso = isoTimeParameter('')
  const any = anyRangeTimeParameter('')

  for (const [given, meant] of [
    ['2026-03-02T10:11:12.345Z', '2026-03-02T10:11:12.345Z'],
    ['2026-03-02T10:11:12Z', '2026-03-02T10:11:12.000Z'],
    ['2026-03-02T11:11:12.5+01:00', '2026-03-02T10:11:12.500Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2026-03-02T10:11Z', '2026-03-02T10:11:00.000Z'],
    ['2026-03-02t10:11:12z', '2026-03-02T10:11:12.000Z'],
    ['2026-03-02T10:11:12,5Z', '2026-03-02T10:11:12.500Z'],
    ['2026-03-02T11:41+0130', '2026-03-02T10:11:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['2026-03-02T09:11:12-01', '2026-03-02T10:11:12.000Z'],
  ] as const) {
    it(`${given} is ${meant}`, () => assert.equal(iso.parse(given), meant))
  }

  it('finer than a millisecond are rounded up, because rows have whole milliseconds', () => {
    assert.equal(iso.parse('2026-03-02T10:11:12.345001Z'), '2026-03-02T10:11:12.346Z')
    assert.equal(iso.parse('2026-03-02T11:11:12.999999+01:00'), '2026-03-02T10:11:13.000Z')
    assert.equal(iso.parse('2026-03-02T10:11:12.345000Z'), '2026-03-02T10:11:12.345Z')
  })

  for (const given of [
    '2026-03-02T10:11:12',
    '2026-03-02',
    '2026-03-02Z',
    '2026-03-02T10Z',
    '2026-03-02T25:00Z',
    '2026-03-02T10:11+25:00',
    '2026-03-02T10:11+01:',
    '2026-02-30T00:00:00Z',
    '2026-03-02T10:11:12 01:00',
    '1772446272345',
    'yesterday',
    '0000-01-01T00:00:00Z',
    '9999-12-31T23:59:59-12:00',
  ]) {
    it(`${given} is refused`, () => assert.equal(iso.safeParse(given).success, false))
  }

  it('v1 also takes Unix epoch milliseconds, for the years that can be written', () => {
    assert.equal(any.parse('1772446272345'), '2026-03-02T10:11:12.345Z')
    assert.equal(any.parse('0'), '1970-01-01T00:00:00.000Z')
    for (const given of ['-1', '1e3', '1.5', '253402300800000'])
      assert.equal(any.safeParse(given).success, false, given)
  })

  it('a range that begins where or after it ends is refused, an open one is not', () => {
    const at = rangeTimeParameter('').optional()
    const range = z.strictObject({ start_time: at, end_time: at }).check(readRange)
    const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
    assert.equal(range.safeParse({ start_time: early, end_time: late }).success, true)
    assert.equal(range.safeParse({ start_time: late }).success, true)
    assert.equal(range.safeParse({ start_time: early, end_time: early }).success, false)
    // Both are the same moment, written differently.
    assert.equal(range.safeParse({ start_time: '2026-01-01T01:00:00+01:00', end_time: early }).success, false)
  })

  it('a range inside one millisecond is compared as it was given, and is of whole milliseconds afterwards', () => {
    const at = '2026-03-02T10:11:12'
    const ranged = endpoints.flatMap(({ id, query }) => (query?.shape['start_time'] ? [{ id, query }] : []))
    assert.ok(ranged.length >= 6)
    for (const { id, query } of ranged) {
      const more = 'format' in query.shape ? { format: 'csv' } : {}
      const read = (start: string, end: string): unknown => {
        const range = { start_time: `${at}.${start}Z`, end_time: `${at}.${end}Z` }
        const { data } = query.safeParse({ ...more, ...range })
        return data && [data['start_time'], data['end_time']]
      }
      assert.deepEqual(read('3450001', '346'), [`${at}.346Z`, `${at}.346Z`], id)
      assert.deepEqual(read('345', '3450001'), [`${at}.345Z`, `${at}.346Z`], id)
      assert.deepEqual(read('3450001', '34500010001'), [`${at}.346Z`, `${at}.346Z`], id)
      for (const [start, end] of [
        ['3450001', '345'],
        ['3450001', '34500010'],
        ['3450002', '34500019'],
        ['346', '3459999'],
      ] as const) {
        assert.equal(read(start, end), undefined, `${id} ${start} ${end}`)
      }
    }
  })
})

describe('comma-separated lists', () => {
  it('order and repetition do not matter', () => {
    assert.deepEqual(list('').parse('ETH,BTC,ETH'), ['BTC', 'ETH'])
  })

  it('an empty element, or more than 100, is refused', () => {
    for (const given of [',', 'BTC,', ',BTC', 'BTC,,ETH']) assert.equal(list('').safeParse(given).success, false, given)
    const many = (count: number): string => Array.from({ length: count }, (_, index) => `A${index}`).join(',')
    assert.equal(list('').safeParse(many(100)).success, true)
    assert.equal(list('').safeParse(many(101)).success, false)
  })

  it('a closed list takes its own values only, in their case', () => {
    const types = list('', ['send', 'receive'])
    assert.deepEqual(types.parse('send,receive'), ['receive', 'send'])
    assert.equal(types.safeParse('Send').success, false)
  })
})
