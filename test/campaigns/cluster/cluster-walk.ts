/**
 * The part `walk` of the campaign `cluster`: the SDK walks over 100,000 transactions while one node of the cluster
 * after the other is killed, and sees each of them exactly once, in order.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '../../../packages/sdk/src/index.ts'
import { authorize, demo, redeem, untilRead } from '../../application.ts'
import type { Citus } from '../../cluster/citus.ts'
import { fillCopies } from '../../data/transaction-copies.ts'
import { onCluster } from './cluster-service.ts'
import { createRandom } from '../random.ts'

const rows = 100_000
const killEvery = 12_000
/** A node is away for seconds, and the API asks for a pause of two; the SDK itself gives up after three tries. */
const retriesMax = 100
const downMaxMs = 2_000

export interface WalkOptions {
  seed: number
  say(text: string): void
}

export async function walkWhileKilling(citus: Citus, { seed, say }: WalkOptions): Promise<string[]> {
  return onCluster(citus, async ({ url, db }, failures) => {
    const ann = await redeem(url, await authorize(url, 'ann', [{ provider_id: 'kraken' }]))
    await untilRead(url, ann.access_token)
    const session = await authorize(url, 'big', [{ provider_id: 'kraken', scenario: 'empty' }])
    const [connection] = session.connections
    const big = await redeem(url, session)
    await untilRead(url, big.access_token)
    const copies = { userId: ann.user_id, connectionId: connection?.connection_id ?? '', prefix: 'copy ' }
    await fillCopies(db, copies, rows)
    const random = createRandom(seed)
    const nodes = [...citus.workers, citus.coordinator]
    let returning: Promise<void> = Promise.resolve()
    let kills = 0
    // The node comes back while the walk waits for it.
    const killNext = async (): Promise<void> => {
      await returning
      const node = nodes[kills++ % nodes.length] ?? citus.coordinator
      await node.kill()
      returning = delay(random() * downMaxMs).then(() => node.start())
    }
    const client = createClient({
      ...{ baseUrl: url, clientId: demo.clientId, clientSecret: demo.secret, retriesMax },
      tokens: {
        ...{ accessToken: big.access_token, refreshToken: big.refresh_token, scope: big.scope },
        ...{ userId: big.user_id, grantId: big.grant_id, expiresAtMs: Date.now() + big.expires_in * 1_000 },
      },
    })
    const seen = new Set<string>()
    let [count, last] = [0, '9']
    try {
      for await (const { id, timestamp } of client.transactions()) {
        count += 1
        seen.add(id)
        if (timestamp > last) failures.push(`${timestamp} came after ${last}`)
        last = timestamp
        if (count % killEvery === 0) await killNext()
      }
    } finally {
      await returning
    }
    say(`  ${count} transactions seen, ${seen.size} different ones, ${kills} kills`)
    if (seen.size !== rows || count !== rows)
      failures.push(`the walk saw ${count} transactions, ${seen.size} different`)
  })
}
