/**
 * The kill campaign in small (`npm run campaign -- kill` is the large one): `kill -9` of the worker, the API and
 * PostgreSQL while an account is read, derived and at rest. And the proof that it would notice a loss.
 */
import assert from 'node:assert/strict'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { openKillCampaign } from '../campaigns/kill/kill.ts'

describe('kill -9', async () => {
  const campaign = await openKillCampaign(3_000)
  after(campaign.close)
  // The campaign chooses another one each time.
  const seed = 20_261_116

  it('of worker, API and PostgreSQL at random moments leaves every byte as an undisturbed run does', async (test) => {
    const say = (text: string): void => test.diagnostic(`seed ${seed}: ${text}`)
    const { failures, kills } = await campaign.run({ kills: 8, seed, say })
    assert.deepEqual(failures, [], `seed ${seed}`)
    assert.equal(new Set(kills.map(({ victim }) => victim)).size, 3)
    assert.equal(kills.at(-1)?.phase, 'idle')
  })

  it('of an engine that commits the bookmark before its rows is detected, because rows are lost', async (test) => {
    const { failures } = await campaign.run({
      kills: 2,
      seed,
      victims: ['worker'],
      hook: path.join(import.meta.dirname, '../campaigns/kill/sabotage.ts'),
      compare: false,
      say: (text) => test.diagnostic(`seed ${seed}: ${text}`),
    })
    assert.match(failures.join('\n'), /rows lost although their window counts as covered/, `seed ${seed}`)
  })
})
