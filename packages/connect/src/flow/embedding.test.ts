import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toResult } from './embedding.ts'
import { unwrap, wrap, type WidgetMessage } from '../loader/protocol.ts'

describe('the result that goes back by message', () => {
  it('contains only the parameters of the answer, and nothing of the client’s query', () => {
    assert.deepEqual(toResult('https://app.example/back?tenant=7&code=abc&state=s&iss=https%3A%2F%2Fauth.example'), {
      code: 'abc',
      state: 's',
      iss: 'https://auth.example',
    })
    assert.deepEqual(toResult('https://app.example/back?error=access_denied&state=s&iss=i'), {
      error: 'access_denied',
      error_description: null,
      state: 's',
      iss: 'i',
    })
  })
})

describe('messages', () => {
  it('a message that is not ours, or not expected here, is ignored', () => {
    const hello = wrap({ type: 'hello', nonce: 'n' })
    assert.equal(unwrap<WidgetMessage>(hello, ['hello'])?.type, 'hello')
    assert.equal(unwrap<WidgetMessage>(hello, ['result']), undefined)
    for (const data of [null, 'hello', { type: 'hello' }, { marker: 'other', type: 'hello' }]) {
      assert.equal(unwrap<WidgetMessage>(data, ['hello']), undefined)
    }
  })
})
