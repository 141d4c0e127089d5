import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { SourceError } from '@assay/core'
import fc from 'fast-check'
import { isJsonObject, parseJson, parseJsonVerbatim } from './json.ts'

const text =
  '{"time":1688464484.1787,"amounts":[1e-18,123456789012.123456789012345678,-0.10,1E+15],"s":"1.50","n":null}'

describe('JSON without loss', () => {
  it('numbers come out as the digits that were sent, in arrays too', () => {
    assert.deepEqual(parseJson(text), {
      time: '1688464484.1787',
      amounts: ['1e-18', '123456789012.123456789012345678', '-0.10', '1E+15'],
      s: '1.50',
      n: null,
    })
  })

  it('an answer that is nested too deeply is the provider’s fault', () => {
    const deep = '['.repeat(200_000) + ']'.repeat(200_000)
    assert.throws(
      () => parseJsonVerbatim(deep),
      (error: SourceError) => error.fault === 'unreadable_answer',
    )
  })

  it('any JSON reads the same as with JSON.parse, except for the numbers', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (source) => {
        const textual: unknown = JSON.parse(source, (_key, value: unknown) =>
          typeof value === 'number' ? String(value) : value,
        )
        assert.deepEqual(parseJson(source), textual)
        assert.deepEqual(parseJson(JSON.stringify(JSON.parse(source), undefined, 2)), textual)
      }),
    )
  })

  it('a number alone is text too, and what is nearly a number is an error', () => {
    assert.deepEqual(['7', ' -1.5e3 ', '[0]', '{"a":1}'].map(parseJson), ['7', '-1.5e3', ['0'], { a: '1' }])
    for (const broken of ['1.2.3', '-', '[1 2]', '"1', '{"a":-}', '.5']) assert.throws(() => parseJson(broken), broken)
  })

  it('digits, quotes and backslashes inside strings are not changed', () => {
    const value = { 'key 1': 'a "1" 2', '\\': '\\" 3', '4': ['-5e6', 'é\n7'] }
    assert.deepEqual(parseJson(JSON.stringify(value)), value)
  })

  it('a string of several megabytes is parsed', () => {
    const long = 'x\\'.repeat(2_000_000)
    assert.equal(parseJson(JSON.stringify(long)), long)
  })

  it('read verbatim, any part is written back byte for byte', () => {
    const value = parseJsonVerbatim(text) as { amounts: unknown }
    assert.equal(JSON.stringify(value), text)
    assert.equal(JSON.stringify(value.amounts), '[1e-18,123456789012.123456789012345678,-0.10,1E+15]')
  })

  it('read verbatim, any JSON is written back as JSON.parse would', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (source) => {
        assert.equal(JSON.stringify(parseJsonVerbatim(source)), JSON.stringify(JSON.parse(source)))
      }),
    )
    assert.equal(JSON.stringify(parseJsonVerbatim('{"__proto__":1.0}')), '{"__proto__":1.0}')
    for (const broken of ['01', '1.', '[1 2]']) assert.throws(() => parseJsonVerbatim(broken), broken)
  })

  it('a number read verbatim is not mistaken for an object', () => {
    const kinds = ['{}', '[]', '1', 'null', '"x"'].map((source) => isJsonObject(parseJsonVerbatim(source)))
    assert.deepEqual(kinds, [true, false, false, false, false])
  })

  it('HTML is a gateway that stands in for the API, other text an answer we cannot read; neither is quoted', () => {
    for (const [broken, fault] of [
      ['<html>Bad gateway</html>', 'venue_down'],
      ['{"error":[],"result":{"ledger', 'unreadable_answer'],
      ['', 'unreadable_answer'],
      ['OK gateway', 'unreadable_answer'],
    ] as const) {
      assert.throws(
        () => parseJson(broken),
        (error: SourceError) => error.fault === fault && !error.message.includes('gateway'),
      )
    }
  })
})
