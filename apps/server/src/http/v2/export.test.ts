import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { Refusal } from '@assay/core'
import { createSlots } from '../../limits/index.ts'
import type { TransactionItem } from '../../portfolio/index.ts'
import { toCell } from './csv.ts'
import { takePlace, writeLines } from './export.ts'

describe('a cell of the table', () => {
  const table: [string, string][] = [
    ['plain', 'plain'],
    ['', ''],
    ['0.5 BTC', '0.5 BTC'],
    ['say "hi", twice', '"say ""hi"", twice"'],
    ['two\nlines', '"two\nlines"'],
    [' edge', '" edge"'],
    ['=1+1', "'=1+1"],
    ['+49', "'+49"],
    ['-5', "'-5"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['=HYPERLINK("x","y")', '"\'=HYPERLINK(""x"",""y"")"'],
    // Where the list separator is a semicolon, Excel splits the line there, also inside quotation marks.
    ['thanks;=1+1', "thanks;'=1+1"],
    ['BTC; =1+1; \t@x', "BTC; '=1+1; '\t@x"],
    ['x;"=1+2;y', `"x;'""=1+2;y"`],
    ['x; "" =1+2', `"x; '"""" =1+2"`],
    ['x\n"=1+2', `"x\n'""=1+2"`],
    ['0.5; 3', '0.5; 3'],
  ]
  for (const [given, written] of table) {
    it(`${JSON.stringify(given)} is written ${JSON.stringify(written)}`, () => assert.equal(toCell(given), written))
  }

  it('never begins with text that a spreadsheet would execute', () => {
    for (const start of ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n']) {
      assert.match(toCell(`${start}cmd`), /^"?'/)
    }
  })

  it('nor does a line inside a text, which begins a row where Excel takes the semicolon for the separator', () => {
    for (const lineBreak of ['\n', '\r', '\r\n', '\n\n']) {
      for (const start of ['=', '+', '-', '@', '＝', '\t']) {
        assert.match(toCell(`Thanks!${lineBreak}${start}cmd`), /^"Thanks!\s+'\S*\s?cmd"$/)
        assert.match(toCell(`${lineBreak}${start}cmd`), /^"'\s+'\S*\s?cmd"$/)
      }
    }
    assert.equal(toCell('two\nlines - and a dash'), '"two\nlines - and a dash"')
  })
})

describe('the lines of an export', () => {
  const total = 50_000

  /** A history of 50,000 rows that remembers how far it was read. */
  function history(): { asked: number; listPage: (after: { id: string }) => Promise<TransactionItem[]> } {
    const source = {
      asked: 1,
      listPage: async ({ id }: { id: string }): Promise<TransactionItem[]> => {
        source.asked += 1
        return rowsFrom(Number(id) + 1)
      },
    }
    return source
  }
  const rowsFrom = (start: number): TransactionItem[] =>
    Array.from({ length: Math.max(0, Math.min(500, total - start)) }, (_, index) => ({
      id: String(start + index),
      occurred_at: '2026-01-01T00:00:00.000Z',
      item: `{"id":"txn_${start + index}","type":"send"}`,
    }))

  it('are all there, each once', async () => {
    const { listPage } = history()
    let lines = 0
    for await (const chunk of writeLines('ndjson', rowsFrom(0), listPage)) lines += chunk.split('\n').length - 1
    assert.equal(lines, total)
  })

  it('are produced as they are read: at most a few pages are held for a slow reader', async () => {
    const source = history()
    const stream = Readable.from(writeLines('ndjson', rowsFrom(0), source.listPage))
    const reader = stream[Symbol.asyncIterator]()
    for (let read = 1; read <= 20; read += 1) {
      await reader.next()
      assert.ok(source.asked - read <= 3, `${source.asked} pages asked for, ${read} read`)
    }
    stream.destroy()
    const { asked } = source
    await new Promise((resolve) => stream.once('close', resolve))
    assert.ok(source.asked <= asked + 1)
  })
})

describe('the places of exports', () => {
  it('429: a fourth of one application; another application of the user still exports', async () => {
    const slots = createSlots()
    const take = (clientId: string, userKey = '1') => takePlace(slots, { userKey, clientId })
    const leaves = [await take('cli_a'), await take('cli_a'), await take('cli_a')]
    const isRefused = (error: unknown): boolean => error instanceof Refusal && error.code === 'rate_limited'
    await assert.rejects(take('cli_a'), isRefused)
    await take('cli_b')
    for (const leave of leaves) leave()
    await take('cli_a')
  })

  it('429: a tenth of one user, whichever applications ask; the refused one takes no place', async () => {
    const slots = createSlots()
    const take = (clientId: string, userKey = '1') => takePlace(slots, { userKey, clientId })
    for (const clientId of ['cli_a', 'cli_b', 'cli_c']) for (let count = 0; count < 3; count += 1) await take(clientId)
    for (let count = 0; count < 5; count += 1) await assert.rejects(take('cli_d'), /At most 9 exports of a user/)
    await take('cli_d', '2')
  })
})
