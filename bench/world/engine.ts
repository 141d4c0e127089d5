/** Runs the worker's parts inside this process, to run single jobs and count the statements that they send. */
import { parseConfig } from '@assay/server/config'
import { chooseAddresses } from '../../apps/server/src/compose/addresses.ts'
import { createAuthorization, openMail } from '../../apps/server/src/compose/authorization.ts'
import { createEngine, type Engine } from '../../apps/server/src/compose/engine.ts'
import { describeProviders, openSandbox } from '../../apps/server/src/compose/providers.ts'
import { createStatistics } from '../../apps/server/src/enterprise/index.ts'
import { createLog } from '../../apps/server/src/http/log.ts'
import type { Handler } from '../../apps/server/src/jobs/index.ts'
import { findKeyring } from '../../apps/server/src/compose/installation.ts'
import { createTenants } from '../../apps/server/src/tenants/index.ts'
import { createUpkeep } from '../../apps/server/src/upkeep.ts'
import type { BenchDatabase } from './postgres.ts'

export interface BenchEngine extends Engine {
  upkeep: Handler<'upkeep'>
}

/** Wires the parts like main.ts does. `environment` holds the settings of an installation. */
export async function openEngine(
  { db }: BenchDatabase,
  environment: Readonly<Record<string, string>>,
): Promise<BenchEngine> {
  const config = parseConfig(environment)
  const { clock } = db
  const log = createLog({ level: 'error' })
  const keyring = findKeyring(config)
  const tenants = createTenants({ db })
  const sandbox = await openSandbox(config, clock, tenants)
  const engine = createEngine({ config, db, clock, keyring, log, providers: describeProviders(config, sandbox) })
  const addresses = await chooseAddresses(config)
  const { oauth } = createAuthorization({
    config,
    db,
    clock,
    keyring,
    log,
    tenants,
    ...engine,
    addresses,
    mail: openMail(config, db),
  })
  const upkeep = createUpkeep({
    ...{ ...engine, db, oauth, statistics: createStatistics({ db }), log },
    removalsKeptMs: config.removalsKeptMs,
    versionsKeptMs: config.versionsKeptMs,
    abandonedAfterMs: config.abandonedAfterMs,
  })
  return { ...engine, upkeep }
}
