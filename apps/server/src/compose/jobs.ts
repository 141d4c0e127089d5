/** The worker role: what each job of the queue does. */
import { createMailTask } from '../connect/index.ts'
import type { OpenedDatabase } from '../db/index.ts'
import { createStatistics } from '../enterprise/index.ts'
import { repeat, startWorker, type Handler, type Handlers, type JobName, type Worker } from '../jobs/index.ts'
import { createMatchTask } from '../match-job.ts'
import { createUpkeep, queueUpkeep } from '../upkeep.ts'
import type { Parts } from './parts.ts'
import { traceHandlers } from './trace.ts'
import { watchHandlers, watchMailer } from './watch.ts'

/** A tenant's feed has every change within two seconds. */
const tenantsEveryMs = 1_000

export async function startJobs(opened: OpenedDatabase, parts: Parts): Promise<Worker> {
  const { config, db, keyring, clock, log, tenants, oauth, metrics } = parts
  const { connections, ledger, metering, prices, sync, webhooks } = parts.engine
  const mailer = parts.mail.mailer && watchMailer(parts.mail.mailer, metrics)
  const { listenUrl } = config.database
  const onTime = <Name extends JobName>(handle: Handler<Name>): Handler<Name> => {
    return async (payload, signal) => {
      await clock.refresh()
      await handle(payload, signal)
    }
  }
  const statistics = createStatistics({ db })
  const handlers: Handlers = {
    verify: onTime(connections.verifyTask),
    destroy: onTime(connections.destroyTask),
    sync: onTime(sync.runTask),
    webhook: onTime(webhooks.deliverTask),
    refresh: onTime(sync.refreshTask),
    match: onTime(createMatchTask({ db, ledger })),
    upkeep: onTime(
      createUpkeep({
        ...{ db, connections, oauth, sync, webhooks, ledger, prices, statistics, log },
        removalsKeptMs: config.removalsKeptMs,
        versionsKeptMs: config.versionsKeptMs,
        abandonedAfterMs: config.abandonedAfterMs,
      }),
    ),
    sign_in_mail:
      mailer &&
      createMailTask({
        ...{ db, tenants, mailer },
        signInKeys: keyring.derive('sign_in'),
        onRefused: (of) => log.warn(of, 'mail server refused a sign-in code permanently'),
      }),
  }
  await queueUpkeep(db)
  const worker = await startWorker({
    db: opened.db,
    connection: listenUrl === undefined ? opened.connection : { url: listenUrl },
    pooler: listenUrl === undefined ? config.database.pooler : 'none',
    handlers: traceHandlers(watchHandlers(handlers, metrics), parts.tracer),
    concurrency: config.worker.concurrency,
    listSlow: () => metering.listSlow(),
    silentAfterMs: config.worker.silentAfterMs,
    alone: config.database.url === undefined,
    log,
  })
  // A loop instead of a job: with one job key per tenant, the transactions that add it would wait for each other.
  const tenantsRound = repeat(tenantsEveryMs, log, async () => {
    await statistics.fold()
    await webhooks.announceDue()
  })
  return {
    async stop() {
      await Promise.all([tenantsRound.stop(), worker.stop()])
    },
  }
}
