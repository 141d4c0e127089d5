import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { format, inspect } from 'node:util'
import { conceal } from './secret.ts'

describe('a concealed object', () => {
  const credentials = conceal({ type: 'api_key', apiKey: 'hunter1', secretKey: 'hunter2' })

  it('prints as [secret], alone and inside others', () => {
    const prints = [
      inspect(credentials),
      format('%s %o', credentials, credentials),
      JSON.stringify({ credentials }),
      inspect({ deep: { credentials } }),
    ]
    for (const text of prints) {
      assert.match(text, /\[secret\]/)
      assert.doesNotMatch(text, /hunter/)
    }
  })

  it('is still read by name', () => assert.equal(credentials.secretKey, 'hunter2'))
})
