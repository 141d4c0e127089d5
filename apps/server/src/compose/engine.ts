/** What reads and keeps: connections, sync, ledger, prices, and the webhooks that tell of them. */
import { coinGeckoBudget, loadConnector } from '@assay/connectors'
import { findProvider } from '@assay/connectors/catalog'
import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Config } from '../config.ts'
import { createConnections, type Connections } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import type { Log } from '../http/index.ts'
import type { Keyring } from '../keys.ts'
import { createLedger, type Ledger } from '../ledger/index.ts'
import { queueMatching } from '../match-job.ts'
import { createCoinGecko, createPrices, type Prices } from '../prices/index.ts'
import { createBudgets, createCircuits, createSync, startAsking, type Sync } from '../sync/index.ts'
import { createWebhooks, type Webhooks } from '../webhooks/index.ts'
import type { Providers } from './providers.ts'

/** In sandbox mode the time of every provider limit is divided by this, in the simulators and here alike. */
const fastPace = 100

export interface Engine {
  connections: Connections
  ledger: Ledger
  prices: Prices
  sync: Sync
  webhooks: Webhooks
}

export interface EngineDeps {
  config: Config
  db: Database
  clock: Clock
  keyring: Keyring
  log: Log
  providers: Providers
}

function paceOf(config: Config): number {
  return config.mode === 'sandbox' && config.sandbox.pace === 'fast' ? fastPace : 1
}

export function createEngine({ config, db, clock, keyring, log, providers }: EngineDeps): Engine {
  const pace = paceOf(config)
  const now = (): number => clock.now()
  const budgets = createBudgets({ db, pace, egress: config.worker.egress })
  const circuits = createCircuits({ db, random: Math.random, pace, log })
  const priceLane = { connector: coinGeckoBudget, keyLane: '' }
  const budget = {
    take: (who: { interactive: boolean }) => budgets.take(priceLane, 1, who),
    recordLimitError: (forMs: number) => budgets.recordLimitError(priceLane, forMs),
  }
  const source = createCoinGecko({ fetch, now, baseUrl: providers.providerUrls['coingecko'], budget, pace })
  const prices = createPrices({ db, source, now, pace, log })
  const isWallet = (providerId: string): boolean => findProvider(providerId)?.kind === 'wallet'
  const ledger = createLedger({ db, prices, log, loadConnector, isWallet, queueMatching })
  const webhooks = openWebhooks({ config, db, clock, keyring, log })
  // Connections and sync know each other only through these two events.
  const connections = createConnections({
    db,
    keyring,
    loadConnector,
    fetch,
    now,
    ...providers,
    requestTimeoutMs: config.worker.providerTimeoutMs,
    excessPermission: config.excessPermission,
    forsakenAfterMs: config.forsakenAfterMs,
    startAsking: (opened) => startAsking({ budgets, circuits }, opened, { interactive: true }),
    pace,
    onVerified: (tx, ref, keyLane) => sync.begin(tx, ref, keyLane),
    async onRemoved(tx, ref, was) {
      await sync.forget(tx, ref)
      if (was.served) await webhooks.announce(tx, { ...ref, change: 'removed' })
    },
    startDestroying: (ref, was) => ledger.startDestroying(ref, was),
    onChanged: (tx, ref, change) => webhooks.announce(tx, { ...ref, change }),
  })
  const sync = createSync({ db, connections, ledger, budgets, circuits, now, random: Math.random, pace, log })
  return { connections, ledger, prices, sync, webhooks }
}

export function openWebhooks({
  config,
  db,
  clock,
  keyring,
  log,
}: Pick<EngineDeps, 'config' | 'db' | 'clock' | 'keyring' | 'log'>): Webhooks {
  return createWebhooks({
    db,
    keyring,
    fetch,
    now: () => clock.now(),
    randomBytes,
    loopbackOnly: config.mode === 'sandbox',
    pace: paceOf(config),
    log,
  })
}
