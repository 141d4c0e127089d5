/** The simulated providers, one line each. Their order is the order in which the control API lists them. */
import { controlBinance } from './binance/controlled.ts'
import { createBinanceControls } from './binance/controls.ts'
import { createBinance } from './binance/index.ts'
import { controlBitcoin } from './bitcoin/controlled.ts'
import { createBitcoinControls, type BitcoinControls } from './bitcoin/controls.ts'
import { createBitcoin } from './bitcoin/index.ts'
import { createBitfinex } from './bitfinex/index.ts'
import { createBybit } from './bybit/index.ts'
import { controlCoinbase } from './coinbase/controlled.ts'
import { createCoinbase } from './coinbase/index.ts'
import type { Controlled } from './control.ts'
import type { SimulatorControls } from './core/controls.ts'
import type { Pace } from './core/clock.ts'
import type { Provider } from './core/serving/provider-server.ts'
import { controlEvm } from './evm/controlled.ts'
import { createEvm } from './evm/index.ts'
import type { WalletList } from './core/issued-lists.ts'
import { controlKraken } from './kraken/controlled.ts'
import { createKrakenControls, type KrakenControls } from './kraken/controls.ts'
import { createKraken } from './kraken/index.ts'
import { createOkx } from './okx/index.ts'
import { binanceScenarios } from './scenarios/binance/index.ts'
import { bitcoinScenarios } from './scenarios/bitcoin/index.ts'
import { bitfinexScenarios, bybitScenarios, okxScenarios } from './scenarios/spot/index.ts'
import { coinbaseScenarios } from './scenarios/coinbase/index.ts'
import { evmScenarios } from './scenarios/evm/index.ts'
import { krakenScenarios } from './scenarios/kraken/index.ts'
import { solanaScenarios } from './scenarios/solana/index.ts'
import { controlSolana } from './solana/controlled.ts'
import { createSolana } from './solana/index.ts'
import { controlSpot } from './spot/controlled.ts'
import { createSpotControls } from './spot/controls.ts'
import type { SpotExchange } from './spot/exchange.ts'

export interface SimulatorOptions {
  /** Keys minted with a seed are known to every sandbox that has the same one. */
  seed: string
  pace: Pace
  nowMs(): number
  newId(): string
  wallets: WalletList
}

export interface Simulator<Controls = SimulatorControls | undefined> {
  provider: Provider
  /** `url`: where it listens. */
  control(url: string): Controlled
  /** Controls that change an account without the reader's knowledge; see `core/controls.ts`. */
  controls: Controls
  /** Ends what runs beside the listeners. */
  close?(): Promise<void>
}

export const simulators = {
  kraken(options: SimulatorOptions): Simulator<KrakenControls> {
    const kraken = createKraken({ ...options, scenarios: krakenScenarios })
    const controls = createKrakenControls(kraken.accounts, options.nowMs)
    return { provider: kraken.provider, control: (url) => controlKraken(kraken, url, options.nowMs), controls }
  },
  binance(options: SimulatorOptions): Simulator<SimulatorControls> {
    const binance = createBinance({ ...options, scenarios: binanceScenarios })
    const controls = createBinanceControls(binance.accounts)
    return { provider: binance.provider, control: (url) => controlBinance(binance, url), controls }
  },
  coinbase(options: SimulatorOptions): Simulator<undefined> {
    const coinbase = createCoinbase({ ...options, scenarios: coinbaseScenarios })
    const control = (url: string): Controlled => controlCoinbase(coinbase, url, options.nowMs)
    return { provider: coinbase.provider, control, controls: undefined }
  },
  bitcoin(options: SimulatorOptions): Simulator<BitcoinControls> {
    const bitcoin = createBitcoin({ ...options, scenarios: bitcoinScenarios })
    const controls = createBitcoinControls(bitcoin, options.nowMs)
    return { provider: bitcoin.provider, control: (url) => controlBitcoin(bitcoin, url, options.nowMs), controls }
  },
  evm(options: SimulatorOptions): Simulator<undefined> {
    const evm = createEvm({ ...options, scenarios: evmScenarios })
    return { provider: evm.provider, control: (url) => controlEvm(evm, url), controls: undefined, close: evm.close }
  },
  bybit(options: SimulatorOptions): Simulator<SimulatorControls> {
    return spot(createBybit({ ...options, scenarios: bybitScenarios }))
  },
  okx(options: SimulatorOptions): Simulator<SimulatorControls> {
    return spot(createOkx({ ...options, scenarios: okxScenarios }))
  },
  bitfinex(options: SimulatorOptions): Simulator<SimulatorControls> {
    return spot(createBitfinex({ ...options, scenarios: bitfinexScenarios }))
  },
  solana(options: SimulatorOptions): Simulator<undefined> {
    const solana = createSolana({ ...options, scenarios: solanaScenarios })
    const control = (url: string): Controlled => controlSolana(solana, url, options.nowMs)
    return { provider: solana.provider, control, controls: undefined }
  },
}

function spot(exchange: SpotExchange): Simulator<SimulatorControls> {
  const { provider } = exchange
  return { provider, control: (url) => controlSpot(exchange, url), controls: createSpotControls(exchange) }
}

export type SimulatorName = keyof typeof simulators
export type AllControls = { [Name in SimulatorName]: ReturnType<(typeof simulators)[Name]>['controls'] }
