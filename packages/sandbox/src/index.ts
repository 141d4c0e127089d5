/**
 * The sandbox: simulated providers that speak the real wire protocols on loopback, a price API, and a control API.
 * `assay start`, `assay sandbox` and tests start it and use it only over HTTP.
 */
import { randomUUID } from 'node:crypto'
import { answerControl, mintAgain, type Controlled } from './control.ts'
import { createClock, type Pace } from './core/clock.ts'
import { createFaults, type Faults } from './core/serving/faults.ts'
import { createJournal } from './core/serving/journal.ts'
import { createKeyList, createWalletList, type KeyList } from './core/issued-lists.ts'
import { listen, type Listener } from './core/serving/listener.ts'
import { createProviderServer, type Provider } from './core/serving/provider-server.ts'
import { createCoinGecko } from './coingecko/index.ts'
import { simulators, type AllControls, type Simulator, type SimulatorName } from './simulators.ts'

export interface SandboxOptions {
  /** Sandboxes with the same seed accept each other's keys. */
  seed: string
  pace: Pace
  log: (message: string, fields?: Record<string, unknown>) => void
  /** Where the list of opened wallets is kept for the next process; see `core/issued-lists.ts`. */
  walletsFile?: string
  /** Where the list of issued keys is kept for the next process; see `core/issued-lists.ts`. */
  keysFile?: string
  /** Milliseconds since 1970; the machine's clock by default. */
  now?: () => number
  /** A loopback address. */
  host?: string
  /** 0, the default, lets the system choose. */
  ports?: Partial<Record<SimulatorName | 'control' | 'prices', number>>
}

export interface Sandbox {
  controlUrl: string
  urls: Readonly<Record<SimulatorName | 'coingecko', string>>
  /** Controls that change an account without the reader's knowledge; see `core/controls.ts`. */
  controls: AllControls
  close(): Promise<void>
}

export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { seed, pace, log, host = '127.0.0.1', ports = {} } = options
  const clock = createClock(options.now ?? Date.now)
  const journal = createJournal()
  const nowMs = (): number => clock.nowMs()
  const onBug = (error: unknown): void => log('sandbox: a call was dropped', { error: String(error) })

  const wallets = createWalletList(options.walletsFile)
  const names = Object.keys(simulators) as SimulatorName[]
  const made = names.map((name): [SimulatorName, Simulator] => [
    name,
    simulators[name]({ seed, pace, nowMs, newId: randomUUID, wallets }),
  ])
  const faults = new Map<string, Faults>()
  const listeners: Listener[] = []
  try {
    const urls: [SimulatorName | 'coingecko', string][] = []
    for (const [name, { provider }] of made) urls.push([name, (await open(provider, ports[name])).url])
    const { url: pricesUrl } = await open(createCoinGecko({ pace, nowMs }), ports.prices)
    urls.push(['coingecko', pricesUrl])
    const byName = Object.fromEntries(urls) as Sandbox['urls']
    const providers = made.map(([name, simulator]) => simulator.control(byName[name]))
    const keys = createKeyList(options.keysFile)
    await restoreKeys(keys, providers)
    const deps = { clock, journal, providers, pricesUrl, keys, faults }
    const control = await listen(host, ports.control ?? 0, (request) => answerControl(request, deps), onBug)
    listeners.push(control)
    const controls = Object.fromEntries(made.map(([name, simulator]) => [name, simulator.controls]))
    return { controlUrl: control.url, urls: byName, controls: controls as unknown as AllControls, close: closeAll }
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
    for (const [, simulator] of made) await simulator.close?.()
  }
}

/** A further key opens its account only after it was minted again in this process. */
async function restoreKeys(keys: KeyList, providers: readonly Controlled[]): Promise<void> {
  for (const record of keys.list()) {
    const provider = providers.find(({ providerId }) => providerId === record.provider_id)
    if (provider !== undefined && record.further_key_of !== undefined) await mintAgain(provider, record)
  }
}
