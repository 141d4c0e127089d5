/**
 * The sandbox: simulated providers that speak the real wire protocols on loopback, a price API, and a control API. Started
 * by `assay start` and `assay sandbox`, and by tests; spoken to over HTTP alone.
 */
import { randomUUID } from 'node:crypto'
import { answerControl } from './control.ts'
import { createClock } from './core/clock.ts'
import type { SimulatorControls } from './core/controls.ts'
import { createFaults, type Faults } from './core/faults.ts'
import { createJournal } from './core/journal.ts'
import { listen, type Listener } from './core/listener.ts'
import type { Pace } from './core/pace.ts'
import { createProviderServer, type Provider } from './core/provider-server.ts'
import { controlCoinbase } from './coinbase/controlled.ts'
import { createCoinbase } from './coinbase/index.ts'
import { createCoinGecko } from './coingecko/index.ts'
import { controlBinance } from './binance/controlled.ts'
import { createBinanceControls } from './binance/controls.ts'
import { createBinance } from './binance/index.ts'
import { controlHarbor } from './harbor/controlled.ts'
import { createHarbor } from './harbor/index.ts'
import { controlKraken } from './kraken/controlled.ts'
import { createKrakenControls, type KrakenControls } from './kraken/controls.ts'
import { createKraken } from './kraken/index.ts'
import { binanceScenarios } from './scenarios/binance/index.ts'
import { coinbaseScenarios } from './scenarios/coinbase/index.ts'
import { harborScenarios } from './scenarios/harbor/index.ts'
import { krakenScenarios } from './scenarios/kraken/index.ts'

export interface SandboxOptions {
  /** Keys minted with a seed are known to every sandbox that has the same one. */
  seed: string
  pace: Pace
  log: (message: string, fields?: Record<string, unknown>) => void
  /** Milliseconds since 1970; the machine's clock unless told. */
  now?: () => number
  /** A loopback address. */
  host?: string
  /** 0, the default, lets the system choose. */
  ports?: { control?: number; kraken?: number; harbor?: number; binance?: number; coinbase?: number; prices?: number }
}

export interface Sandbox {
  controlUrl: string
  urls: { kraken: string; harbor: string; binance: string; coinbase: string; coingecko: string }
  /** What a test does to an account behind the reader's back; see `core/controls.ts`. */
  controls: { kraken: KrakenControls; binance: SimulatorControls }
  close(): Promise<void>
}

export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { seed, pace, log, host = '127.0.0.1', ports = {} } = options
  const clock = createClock(options.now ?? Date.now)
  const journal = createJournal()
  const nowMs = (): number => clock.nowMs()
  const onBug = (error: unknown): void => log('sandbox: a call was dropped', { error: String(error) })

  const kraken = createKraken({ seed, pace, scenarios: krakenScenarios, nowMs })
  const harbor = createHarbor({ seed, pace, scenarios: harborScenarios, nowMs, newId: randomUUID })
  const binance = createBinance({ seed, pace, scenarios: binanceScenarios, nowMs })
  const coinbase = createCoinbase({ seed, pace, scenarios: coinbaseScenarios, nowMs, newId: randomUUID })
  const coingecko = createCoinGecko({ pace, nowMs })
  const faults = new Map<string, Faults>()

  const listeners: Listener[] = []
  try {
    const krakenListener = await open(kraken.provider, ports.kraken)
    const harborListener = await open(harbor.provider, ports.harbor)
    const binanceListener = await open(binance.provider, ports.binance)
    const coinbaseListener = await open(coinbase.provider, ports.coinbase)
    const pricesListener = await open(coingecko, ports.prices)
    const providers = [
      controlKraken(kraken, krakenListener.url, nowMs),
      controlHarbor(harbor, harborListener.url),
      controlBinance(binance, binanceListener.url),
      controlCoinbase(coinbase, coinbaseListener.url, nowMs),
    ]
    const deps = { clock, journal, providers, pricesUrl: pricesListener.url, faults }
    const control = await listen(host, ports.control ?? 0, async (request) => answerControl(request, deps), onBug)
    listeners.push(control)
    return {
      controlUrl: control.url,
      urls: {
        kraken: krakenListener.url,
        harbor: harborListener.url,
        binance: binanceListener.url,
        coinbase: coinbaseListener.url,
        coingecko: pricesListener.url,
      },
      controls: {
        kraken: createKrakenControls(kraken.accounts, nowMs),
        binance: createBinanceControls(binance.accounts),
      },
      close: closeAll,
    }
  } catch (error) {
    await closeAll()
    throw error
  }

  async function open(provider: Provider, port = 0): Promise<Listener> {
    const own = createFaults()
    faults.set(provider.id, own)
    const listener = await listen(host, port, createProviderServer(provider, { clock, faults: own, journal }), onBug)
    listeners.push(listener)
    return listener
  }

  async function closeAll(): Promise<void> {
    await Promise.all(listeners.map((listener) => listener.close()))
  }
}
