/** The parts that read and store data: connections, sync, ledger, prices, and the webhooks that announce changes. */
import { coinGeckoBudget, listPriceOrigins, restrictFetch } from '@assay/connectors'
import { findProvider } from '@assay/connectors/catalog'
import { randomBytes } from 'node:crypto'
import { createAssets, type Assets } from '../assets/index.ts'
import type { Config } from '../config/config.ts'
import { createConnections, recordTransactions, type Connections } from '../connections/index.ts'
import type { Clock, Database } from '../db/index.ts'
import type { Log } from '../http/index.ts'
import type { Keyring } from '../keys.ts'
import { isRestless } from '../audit-log/index.ts'
import { countRemoved, createLedger, forgetRemoved, takeChangeNumbers, type Ledger } from '../ledger/index.ts'
import { queueMatching } from '../match-job.ts'
import { createMetering, type Metering } from '../metering/index.ts'
import { createProof, type Proof, type ProofDeps } from '../proof/index.ts'
import { createCoinGecko, createPrices, type Prices, type SourceBudget } from '../prices/index.ts'
import { createSync, type Sync } from '../sync/index.ts'
import { createMetrics, type Metrics } from '../telemetry/index.ts'
import type { Tracer } from '../tracing/index.ts'
import { createWebhooks, type Webhooks } from '../webhooks/index.ts'
import { fetchUntrusted } from './outgoing.ts'
import { choosePace, everyProvider, type Registry } from './pace.ts'
import type { Providers } from './providers.ts'
import { traceFetch, traceMetering } from './trace.ts'
import { watchDeliveries, watchLedger, watchMetering, watchReading } from './watch.ts'

export interface Engine {
  assets: Assets
  connections: Connections
  ledger: Ledger
  metering: Metering
  prices: Prices
  proof: Proof
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
  /** The connectors and their definitions; the registry's unless a test brings its own. */
  registry?: Registry
  /** A test chooses fewer pages than the engine's own number, to look at an account between two jobs. */
  pagesPerJobMax?: number
  /** The metrics of the process; a short-lived command has none. */
  metrics?: Metrics
  /** Set when traces are on. */
  tracer?: Tracer | undefined
}

/** How many removed transactions are remembered of a user, as a share of the records that may be kept. */
const removedShare = 0.2

export function createEngine(deps: EngineDeps): Engine {
  const { config, db, clock, keyring, log, providers, metrics = createMetrics() } = deps
  const { scaleWait, ...pace } = choosePace(config)
  const registry = pace.scaleRegistry(deps.registry ?? everyProvider)
  const now = (): number => clock.now()
  const limits = { random: Math.random, scaleWait, egress: config.worker.egress }
  const metering = traceMetering(watchMetering(createMetering({ db, ...limits, log }), metrics), deps.tracer)
  const outgoing = traceFetch(fetchUntrusted, deps.tracer)
  const priceBudget = toPriceBudget(metering, pace.scaleBudget(coinGeckoBudget))
  const pricesUrl = providers.providerUrls['coingecko']
  const source = createCoinGecko({
    fetch: restrictFetch(outgoing, listPriceOrigins(pricesUrl)),
    baseUrl: pricesUrl,
    priceKey: config.priceKey,
    ...{ now, budget: priceBudget, scaleWait },
  })
  const prices = createPrices({ db, source, now, scaleWait, log })
  const isWallet = (providerId: string): boolean => findProvider(providerId)?.kind === 'wallet'
  const assets = createAssets({ db })
  const webhooks = openWebhooks({ config, db, clock, keyring, log, metrics, tracer: deps.tracer })
  const plainLedger = createLedger({
    ...{ db, assets, prices, log },
    ...registry,
    isWallet,
    queueMatching,
    addChanges: webhooks.announceChanges,
    recordTransactions,
  })
  const ledger = watchLedger(plainLedger, metrics)
  const connections = createConnections({
    db,
    keyring,
    ...{ ...registry, fetch: outgoing, now },
    ...providers,
    ...{ requestTimeoutMs: config.worker.providerTimeoutMs, chainUrls: config.chainUrls },
    verdictTimeoutMs: config.keyCheckTimeoutMs,
    excessPermission: config.excessPermission,
    uncheckedKeys: config.uncheckedKeys,
    keyLimits: { ...config.keyLimits, removed: Math.ceil(config.recordsMax * removedShare) },
    schedule: config.schedule,
    rightsEveryMs: config.schedule.rightsEveryMs,
    startAsking: (opened) => metering.startAsking(opened, { interactive: true, mayWait: false }),
    forgetKey: (sql, key) => metering.forget(sql, key),
    ...{ scaleWait, takeChangeNumbers, countRemoved, forgetRemoved, isRestless },
    // Connections and sync know each other only through these events.
    onReadable: (tx, ref, keyLane, state) => sync.beginReading(tx, ref, keyLane, state),
    onPlanned: (tx, due, inMs) => sync.plan(tx, due, inMs),
    async onRemoved(tx, ref, was) {
      await sync.forget(tx, ref)
      if (was.isShown) await webhooks.announce(tx, { ...ref, change: 'removed' })
    },
    startDestroying: (ref, hidden) => ledger.startDestroying(ref, hidden),
    ensureStatistics: () => ledger.ensureStatistics(),
    onDestroyed: (tx, ref) => webhooks.announceDestroyed(tx, ref),
    onChanged: (tx, ref, change) => webhooks.announce(tx, { ...ref, change }),
    onShown: webhooks.announceShown,
  })
  const onProof: ProofDeps['onChanged'] = (tx, ref, change) => webhooks.announceProof(tx, ref, change)
  const proof = createProof({ db, ledger, ...registry, isWallet, onChanged: onProof })
  const sync = createSync({
    ...{ db, connections, ledger, metering, ...registry, now, random: Math.random, scaleWait, log },
    ...{ recordsMax: config.recordsMax, pagesPerJobMax: deps.pagesPerJobMax },
    watch: watchReading(metrics),
    prove: (ref, source, reach, options) => proof.prove(ref, source, reach, options),
  })
  return { assets, connections, ledger, metering, prices, proof, sync, webhooks }
}

/** The price source's own part of the fleet's budgets: it is asked for all users, and without a key of theirs. */
function toPriceBudget(metering: Metering, connector: typeof coinGeckoBudget): SourceBudget {
  const lane = { connector, keyLane: '' }
  const cost = coinGeckoBudget.budget.balances
  return {
    take: (who) => metering.take(lane, cost, who),
    recordLimitError: (forMs) => metering.recordLimitError(lane, cost, forMs),
  }
}

export function openWebhooks({
  config,
  db,
  clock,
  keyring,
  log,
  metrics = createMetrics(),
  tracer,
}: Pick<EngineDeps, 'config' | 'db' | 'clock' | 'keyring' | 'log' | 'metrics' | 'tracer'>): Webhooks {
  return createWebhooks({
    db,
    keyring,
    fetch: traceFetch(watchDeliveries(fetchUntrusted, metrics), tracer),
    now: () => clock.now(),
    // A sandbox and its database share one machine, so the machine's clock is the one that was not moved.
    realNow: () => (config.mode === 'sandbox' ? Date.now() : clock.now()),
    randomBytes,
    loopbackOnly: config.mode !== 'production',
    scaleWait: choosePace(config).scaleWait,
    log,
  })
}
