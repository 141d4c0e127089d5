/** The worker role: what each job of the queue does. */
import { randomBytes } from 'node:crypto'
import { createMailTask } from '../connect/index.ts'
import type { OpenedDatabase } from '../db/index.ts'
import { createStatistics } from '../enterprise/index.ts'
import { startWorker, type Task, type Worker } from '../jobs/index.ts'
import { createMatchTask } from '../match-job.ts'
import { createUpkeep, queueUpkeep } from '../upkeep.ts'
import type { Parts } from './parts.ts'

export async function startJobs(opened: OpenedDatabase, parts: Parts): Promise<Worker> {
  const { config, db, keyring, clock, log, tenants, oauth } = parts
  const { connections, ledger, prices, sync, webhooks } = parts.engine
  const { mailer } = parts.post
  const { listenUrl } = config.database
  const onTime = (task: Task): Task => {
    return async (payload, signal) => {
      await clock.refresh()
      await task(payload, signal)
    }
  }
  const statistics = createStatistics({ db })
  const tasks: Record<string, Task> = {
    verify: onTime(connections.task),
    sync: onTime(sync.task),
    webhook: onTime(webhooks.task),
    refresh: onTime(sync.refreshTask),
    match: onTime(createMatchTask({ db, ledger })),
    upkeep: onTime(createUpkeep({ db, connections, oauth, sync, webhooks, ledger, prices, statistics, log })),
  }
  if (mailer !== undefined) {
    const onRefused = (of: object): void => log.warn(of, 'the mail server refused a sign-in code for good')
    tasks['sign_in_mail'] = createMailTask({
      db,
      tenants,
      mailer,
      signInKeys: keyring.derive('sign_in'),
      randomBytes,
      onRefused,
    })
  }
  await queueUpkeep(db)
  return startWorker({
    db: opened.db,
    connection: listenUrl === undefined ? opened.connection : { url: listenUrl },
    pooler: listenUrl === undefined ? config.database.pooler : 'none',
    tasks,
    makeRoom: ['sync', 'refresh', 'webhook'],
    concurrency: config.worker.concurrency,
    silentAfterMs: config.worker.silentAfterMs,
    alone: config.database.url === undefined,
    log,
  })
}
