import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createJournal } from './journal.ts'

describe('the journal', () => {
  it('counts a call that begins before the last one of its account has ended, and no other', () => {
    const journal = createJournal()
    const first = journal.beginRequest('a')
    const elsewhere = journal.beginRequest('b')
    assert.equal(journal.overlaps(), 0)
    const second = journal.beginRequest('a')
    first()
    const third = journal.beginRequest('a')
    second()
    third()
    elsewhere()
    journal.beginRequest('a')()
    assert.deepEqual([journal.overlaps('a'), journal.overlaps('b'), journal.overlaps()], [2, 0, 2])
    journal.clear()
    assert.equal(journal.overlaps(), 0)
  })

  it('ignores calls of unknown keys', () => {
    const journal = createJournal()
    journal.beginRequest(undefined)
    journal.beginRequest(undefined)
    assert.equal(journal.overlaps(), 0)
  })
})
