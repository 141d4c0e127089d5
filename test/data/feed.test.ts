/**
 * The feed campaign in small (`npm run campaign -- feed` is the large one), and the proof that it would notice a number
 * that is off by one. Each runs in its own process, because a sabotaged service is rewritten while it is loaded.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { describe, it } from 'node:test'
import { sabotages } from '../campaigns/feed/feed-sabotage.ts'

const campaigns = path.join(import.meta.dirname, '../campaigns/run.ts')

async function runFeed(...words: string[]): Promise<{ code: unknown; said: string }> {
  const child = spawn(process.execPath, [campaigns, 'feed', '--users', '2', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const listen = (chunk: Buffer): void => void (said += chunk.toString())
  child.stdout.on('data', listen)
  child.stderr.on('data', listen) // what an action throws ends here, and the test has to show it
  const [code] = (await once(child, 'close')) as [unknown]
  return { code, said }
}

describe('a copy that is kept through the feed', () => {
  it('equals the list whenever nothing is in flight', async (test) => {
    const seed = String(Date.now() % 1_000_000)
    const { code, said } = await runFeed('--seed', seed, '--rounds', '5')
    test.diagnostic(said)
    assert.equal(code, 0, said)
  })

  for (const name of Object.keys(sabotages)) {
    it(`differs when the feed is off by one: ${name}`, async () => {
      const { code, said } = await runFeed('--seed', '1', '--rounds', '30', '--sabotage', name)
      assert.equal(code, 1, said)
      assert.match(said, /the copy differs from the list/)
    })
  }
})
