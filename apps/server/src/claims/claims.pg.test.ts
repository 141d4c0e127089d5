import assert from 'node:assert/strict'
import { it } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { recordStatements } from '../db/test-statements.ts'
import { createClaims } from './index.ts'

it('the keys are asked for without a token, so asking again writes nothing for an hour', async (t) => {
  const { db } = await testDatabase(t)
  const claims = createClaims({
    ...{ db, secrets: [new Uint8Array(32).fill(7)], issuer: 'https://auth.example', sandbox: false },
    findOwnedTotal: () => assert.fail('a list of keys needs no total'),
  })
  const first = await claims.jwks()
  assert.equal(first.keys.length, 1)
  const sent = await recordStatements(async () => assert.deepEqual(await claims.jwks(), first))
  assert.deepEqual(
    sent.map(({ text }) => text.trim().split(' ', 1)[0]),
    ['select'],
  )
})
