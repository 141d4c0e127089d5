/** What the tenant hears when a user goes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openEngine } from '../test-engine.ts'

describe('removing everything of a user', async () => {
  const engine = await openEngine()

  it('announces each connection that the tenant could know of as removed, in the same transaction', async () => {
    const owner = await engine.newOwner()
    await engine.webhooks.set(owner.tenantId, 'http://127.0.0.1:9/hook')
    const [first, second] = [await engine.connect(owner, 'empty'), await engine.connect(owner, 'empty')]
    const provisional = await engine.connect(owner, 'empty')
    await engine.db.execute("update connections set session_id = 'ses_open' where id = $1", [provisional.connectionId])
    const listTold = async (): Promise<string[]> => {
      const rows = await engine.db.rows<{ body: string }>('select body from webhook_messages')
      return rows
        .map(({ body }) => JSON.parse(body) as { data: { change: string; connection_id: string } })
        .map(({ data }) => `${data.change} ${data.connection_id}`)
        .toSorted()
    }
    const goes = engine.db.transaction(async (tx) => {
      await engine.connections.removeAll(tx, owner)
      throw new Error('taken back')
    })
    await assert.rejects(goes, /taken back/)
    assert.deepEqual(await listTold(), [])
    await engine.db.transaction((tx) => engine.connections.removeAll(tx, owner))
    assert.deepEqual(await listTold(), [first, second].map(({ connectionId }) => `removed ${connectionId}`).toSorted())
    assert.deepEqual(await engine.db.rows('select from connections where user_id = $1', [owner.userId]), [])
    // Nothing is left that names the user, not even the ids of what is gone.
    assert.deepEqual(await engine.db.rows('select from removed_transactions where user_id = $1', [owner.userId]), [])
  })
})
