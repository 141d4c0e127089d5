/**
 * Provider id → its sign, from simple-icons (CC0). Only signs: the set has a few word marks too (Coinbase, OKX), which
 * are unreadable at this size. The rest get a letter.
 */
import { siBinance, siBitcoin, siEthereum, siKucoin, siPolygon, siSolana } from 'simple-icons'

export const brands = {
  binance: siBinance,
  binanceus: siBinance,
  bitcoin: siBitcoin,
  ethereum: siEthereum,
  kucoin: siKucoin,
  polygon: siPolygon,
  solana: siSolana,
}
