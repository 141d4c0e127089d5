import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Refusal, type ErrorItem } from '@assay/core'
import { z } from 'zod'
import { parseOrRefuse } from './invalid.ts'

function itemsOf(schema: z.ZodType, value: unknown): readonly ErrorItem[] {
  try {
    parseOrRefuse(schema, value)
  } catch (error) {
    if (error instanceof Refusal) return error.items
    throw error
  }
  return []
}

describe('a list in a body', () => {
  const list = z.array(z.string()).min(1).max(4)
  const wrong = (message: string): ErrorItem[] => [{ cause: 'invalid_parameter', parameter: 'ids', message }]

  it('that is text is reported once, whatever the length of the text', () => {
    for (const ids of ['a', 'longer than four']) {
      assert.deepEqual(itemsOf(z.strictObject({ ids: list }), { ids }), wrong('must be a list'))
    }
  })

  it('that is too long is counted in entries', () => {
    assert.deepEqual(
      itemsOf(z.strictObject({ ids: list }), { ids: ['a', 'b', 'c', 'd', 'e'] }),
      wrong('must have at most 4 entries'),
    )
  })
})
