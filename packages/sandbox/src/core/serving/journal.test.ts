import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createJournal } from './journal.ts'

describe('the journal', () => {
  it('counts a call that begins before the last one of its account has ended, and no other', () => {
    const journal = createJournal()
    const first = journal.begin('a')
    const elsewhere = journal.begin('b')
    assert.equal(journal.overlaps(), 0)
    const second = journal.begin('a')
    first()
    const third = journal.begin('a')
    second()
    third()
    elsewhere()
    journal.begin('a')()
    assert.deepEqual([journal.overlaps('a'), journal.overlaps('b'), journal.overlaps()], [2, 0, 2])
    journal.clear()
    assert.equal(journal.overlaps(), 0)
  })

  it('ignores calls of unknown keys', () => {
    const journal = createJournal()
    journal.begin(undefined)
    journal.begin(undefined)
    assert.equal(journal.overlaps(), 0)
  })
})
