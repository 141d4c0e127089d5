import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { omitMembers } from './omit-members.ts'

/** Passes the text on in chunks of this many bytes. */
function filter(text: string, names: readonly string[], chunkLength = 7): string {
  const keep = omitMembers(names)
  const bytes = Buffer.from(text)
  const kept: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += chunkLength) kept.push(keep(bytes.subarray(at, at + chunkLength)))
  return Buffer.concat(kept).toString()
}

describe('members that are left out', () => {
  it('become null, whatever their values are, and the rest is the same text', () => {
    const text =
      '[{"a" : "\\"]}", "witness" : ["00", {"b":"]"}] ,"fee":1.50},{"witness":-1e3},{"witness":true,"ä":"witness"}]'
    const left = '[{"a" : "\\"]}", "witness" :null ,"fee":1.50},{"witness":null},{"witness":null,"ä":"witness"}]'
    for (let chunkLength = 1; chunkLength < text.length + 5; chunkLength += 1) {
      assert.equal(filter(text, ['witness'], chunkLength), left)
    }
  })

  it('any JSON in any chunks reads as it would without them', () => {
    const omitted = ['witness', 'scriptsig']
    const key = fc.oneof(fc.constantFrom(...omitted), fc.string({ unit: 'grapheme', maxLength: 12 }))
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 5 },
        fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean(), fc.constant(null)),
        fc.array(tie('tree'), { maxLength: 4 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
      ),
    }))
    const isOmitted = (name: string): boolean => omitted.includes(name)
    fc.assert(
      fc.property(tree, fc.integer({ min: 1, max: 40 }), fc.constantFrom(0, 2), (value, chunkLength, space) => {
        const text = JSON.stringify(value, undefined, space)
        const expected: unknown = JSON.parse(text, (name, member: unknown) => (isOmitted(name) ? null : member))
        assert.deepEqual(JSON.parse(filter(text, omitted, chunkLength)), expected)
      }),
    )
  })

  it('text that is not JSON passes, and half of a value does not become a whole one', () => {
    for (const text of ['<html lang="en">a: b</html>', '', '912000', '{"fee":']) assert.equal(filter(text, ['a']), text)
    assert.equal(filter('{"witness":["00","11', ['witness']), '{"witness":null')
  })
})
