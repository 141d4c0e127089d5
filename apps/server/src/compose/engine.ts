/** What reads and keeps: connections, sync, ledger, prices, and the webhooks that tell of them. */
import { coinGeckoBudget, loadConnector } from '@assay/connectors'
import { findProvider } from '@assay/connectors/catalog'
import { randomBytes } from 'node:crypto'
import { createAssets, type Assets } from '../assets/index.ts'
import type { Config } from '../config.ts'
import { createConnections, recordTransactions, type Connections } from '../connections/index.ts'
import type { Clock, Database } from '../db/index.ts'
import type { Log } from '../http/index.ts'
import type { Keyring } from '../keys.ts'
import { createLedger, takeChangeNumbers, type Ledger } from '../ledger/index.ts'
import { queueMatching } from '../match-job.ts'
import { createCoinGecko, createPrices, type Prices } from '../prices/index.ts'
import { createBudgets, createCircuits, createSync, startAsking, type Sync } from '../sync/index.ts'
import { createWebhooks, type Webhooks } from '../webhooks/index.ts'
import type { Providers } from './providers.ts'

/** In sandbox mode the time of every provider limit is divided by this, in the simulators and here alike. */
const fastPace = 100

export interface Engine {
  assets: Assets
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
  const source = createCoinGecko({
    fetch,
    now,
    baseUrl: providers.providerUrls['coingecko'],
    priceKey: config.priceKey,
    budget,
    pace,
  })
  const prices = createPrices({ db, source, now, pace, log })
  const isWallet = (providerId: string): boolean => findProvider(providerId)?.kind === 'wallet'
  const assets = createAssets({ db })
  const webhooks = openWebhooks({ config, db, clock, keyring, log })
  const ledger = createLedger({
    db,
    assets,
    prices,
    log,
    loadConnector,
    isWallet,
    queueMatching,
    addChanges: webhooks.announceChanges,
    recordTransactions,
  })
  const connections = createConnections({
    db,
    keyring,
    loadConnector,
    fetch,
    now,
    ...providers,
    requestTimeoutMs: config.worker.providerTimeoutMs,
    verdictTimeoutMs: config.keyCheckTimeoutMs,
    excessPermission: config.excessPermission,
    schedule: config.schedule,
    rightsEveryMs: config.schedule.rightsEveryMs,
    startAsking: (opened) => startAsking({ budgets, circuits }, opened, { interactive: true }),
    pace,
    takeChangeNumbers,
    // Connections and sync know each other only through these events.
    onVerified: (tx, ref, keyLane) => sync.begin(tx, ref, keyLane),
    onPlanned: (tx, due, inMs) => sync.plan(tx, due, inMs),
    async onRemoved(tx, ref, was) {
      await sync.forget(tx, ref)
      if (was.isShown) await webhooks.announce(tx, { ...ref, change: 'removed' })
    },
    startDestroying: (ref, hidden) => ledger.startDestroying(ref, hidden),
    onDestroyed: (tx, ref) => webhooks.announceDestroyed(tx, ref),
    onChanged: (tx, ref, change) => webhooks.announce(tx, { ...ref, change }),
    onShown: webhooks.announceShown,
  })
  const sync = createSync({ db, connections, ledger, budgets, circuits, now, random: Math.random, pace, log })
  return { assets, connections, ledger, prices, sync, webhooks }
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
