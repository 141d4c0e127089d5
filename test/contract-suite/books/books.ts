/** How the books of every simulated provider are read, and what can be booked there next. */
import { symbolOf as binanceSymbolOf, toHeld as binanceHeld } from './binance-books.ts'
import { toHeld as bitcoinHeld } from './bitcoin-books.ts'
import { coinbase, toHeld as coinbaseHeld } from './coinbase-books.ts'
import { toHeld as evmHeld } from './evm-books.ts'
import { symbolOf as krakenSymbolOf, toHeld as krakenHeld } from './kraken-books.ts'
import type { ProviderName } from '../scenario-table.ts'
import type { Booking, Held } from '../simulator.ts'
import { toHeld as solanaHeld } from './solana-books.ts'
import { bitfinexHeld, bybitHeld, okxHeld } from './spot-books.ts'
import type { Reading } from '../verdict.ts'

interface Books extends Reading {
  toHeld(state: never): Held
  /** Something that arrives. */
  next: Booking['entries'][number]
}

const symbolOf = (code: string): string => code
const deposit = (code: string): Books['next'] => ({ type: 'deposit', code, amount: '0.25' })
const receive: Books['next'] = { type: 'receive', code: 'BTC', amount: '0.25' }

export const books: Readonly<Record<ProviderName, Books>> = {
  kraken: { toHeld: krakenHeld, symbolOf: krakenSymbolOf, next: deposit('XXBT') },
  coinbase: { toHeld: coinbaseHeld, symbolOf: coinbase.symbolOf, next: receive },
  binance: { toHeld: binanceHeld, symbolOf: binanceSymbolOf, next: deposit('BTC') },
  bybit: { toHeld: bybitHeld, symbolOf, forgets: true, next: deposit('BTC') },
  okx: { toHeld: okxHeld, symbolOf, forgets: true, next: deposit('BTC') },
  bitfinex: { toHeld: bitfinexHeld, symbolOf, next: deposit('BTC') },
  bitcoin: { toHeld: bitcoinHeld, symbolOf, next: receive },
  evm: { toHeld: evmHeld, symbolOf, by: 'asset_id', next: deposit('ETH') },
  solana: { toHeld: solanaHeld, symbolOf, by: 'asset_id', next: deposit('SOL') },
}
