/** docs/add-a-connector.md is true to the code: its excerpts are in the files that they name. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'

const root = path.resolve(import.meta.dirname, '../..')
const guide = readFileSync(path.join(root, 'docs/add-a-connector.md'), 'utf8')
const excerpts = [...guide.matchAll(/```ts\n\/\/ (\S+)\n([\s\S]*?)```/g)]

describe('docs/add-a-connector.md', () => {
  it('has excerpts, and every block of TypeScript names its file', () => {
    assert.ok(excerpts.length >= 6)
    assert.equal(excerpts.length, guide.split('```ts\n').length - 1)
  })

  for (const [, file = '', excerpt = ''] of excerpts) {
    it(`shows ${file} as it is: ${excerpt.trim().split('\n')[0]}`, () => {
      assert.ok(readFileSync(path.join(root, file), 'utf8').includes(excerpt))
    })
  }
})
