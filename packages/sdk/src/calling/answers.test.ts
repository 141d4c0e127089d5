import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { parseExact, readLines } from './answers.ts'
import { ConnectionError } from '../errors.ts'

const members = new Set(['asset_holdings', 'price_in_usd'])

describe('exact JSON', () => {
  it('keeps every digit of the chosen members, and the others as numbers', () => {
    const text =
      '[{"asset_holdings": 123456789012.123456789012345678,"price_in_usd":null,"count":3,"x":{"price_in_usd":-1e-18}}]'
    assert.deepEqual(parseExact(text, members), [
      {
        asset_holdings: '123456789012.123456789012345678',
        price_in_usd: null,
        count: 3,
        x: { price_in_usd: '-1e-18' },
      },
    ])
  })

  it('is not misled by texts that look like members', () => {
    const value = { name: '"asset_holdings":1', asset_holdings: 'asset_holdings', next: [1, 'price_in_usd', 2] }
    assert.deepEqual(parseExact(JSON.stringify(value), members), value)
  })

  it('takes texts of any length, escaped or not', () => {
    for (const name of ['x'.repeat(20_000_000), String.raw`\"`.repeat(10_000_000)]) {
      const parsed = parseExact(`[{"name":"${name}","price_in_usd" : 1.50},{"price_in_usd":2},3]`, members)
      assert.ok(Array.isArray(parsed))
      assert.deepEqual(parsed.slice(1), [{ price_in_usd: '2' }, 3])
      assert.equal((parsed[0] as { price_in_usd: unknown }).price_in_usd, '1.50')
    }
  })

  it('refuses text that is not JSON', () => {
    for (const text of ['', '{"price_in_usd":1.2.3}', '{"price_in_usd":"1', '{"price_in_usd":1', String.raw`"\\\"`]) {
      assert.throws(() => parseExact(text, members), SyntaxError)
    }
  })

  it('is JSON.parse for every document without those members', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value)
        assert.deepEqual(parseExact(text, members), JSON.parse(text))
      }),
    )
  })
})

/** A stream of these pieces, which ends well or with an error. */
function play(
  pieces: readonly Uint8Array[],
  end?: Error,
): { stream: ReadableStream<Uint8Array>; cancelled: () => boolean } {
  let cancelled = false
  let place = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[place]
        place += 1
        if (piece !== undefined) controller.enqueue(piece)
        else if (end !== undefined) controller.error(end)
        else controller.close()
      },
      cancel: () => void (cancelled = true),
    },
    { highWaterMark: 0 },
  )
  return { stream, cancelled: () => cancelled }
}

const bytes = (...texts: string[]): Uint8Array[] => texts.map((text) => new TextEncoder().encode(text))

async function collect(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const line of lines) found.push(line)
  return found
}

describe('lines of a stream', () => {
  it('are whole, wherever the pieces are cut, also within a character', async () => {
    const [whole = new Uint8Array()] = bytes('één\ntwee\n\ndrie\n')
    const pieces = Array.from(whole, (_, index) => whole.subarray(index, index + 1))
    assert.deepEqual(await collect(readLines(play(pieces).stream, {})), ['één', 'twee', '', 'drie'])
    assert.deepEqual(await collect(readLines(play([]).stream, {})), [])
  })

  it('that are cut off are an error, and not an end', async () => {
    await assert.rejects(collect(readLines(play(bytes('one\ntw')).stream, {})), ConnectionError)
    const lost = play(bytes('one\n'), new TypeError('terminated'))
    await assert.rejects(collect(readLines(lost.stream, {})), ConnectionError)
  })

  it('that are aborted reject with the reason', async () => {
    const reason = new Error('enough')
    const lines = readLines(play(bytes('one\n'), new TypeError('aborted')).stream, {
      signal: AbortSignal.abort(reason),
    })
    await assert.rejects(collect(lines), reason)
  })

  it('are no longer fetched when the reader stops', async () => {
    const { stream, cancelled } = play(bytes('one\n', 'two\n', 'three\n'))
    for await (const line of readLines(stream, {})) {
      assert.equal(line, 'one')
      break
    }
    assert.ok(cancelled())
  })
})
