/**
 * The currencies the simulated Coinbase knows: code, exponent (how many decimals Coinbase prints at least), the price
 * behind it in the sandbox's market, the network it moves on, and its name.
 * Source: https://docs.cdp.coinbase.com/coinbase-app/track-apis/currencies
 *
 * An exponent is not a limit: fills of Advanced Trade carry more digits than it says, and so do balances afterwards.
 * All amounts are therefore kept with `unitDecimals`, whatever the currency.
 */
export const unitDecimals = 24

export interface Currency {
  code: string
  name: string
  exponent: number
  isFiat: boolean
  /** The price behind it, if it has one. */
  coin: string | undefined
  network: string
  /** False: occurs in wallets, but /v2/currencies does not name it. */
  listed: boolean
}

// code, exponent, market id, network, name
const fiat = `
USD 2 usd - US Dollar
EUR 2 eur - Euro
GBP 2 gbp - British Pound`

const crypto = `
BTC 8 bitcoin bitcoin Bitcoin
ETH 18 ethereum ethereum Ethereum
ETH2 18 ethereum ethereum Ethereum 2
CBETH 18 ethereum ethereum Coinbase Wrapped Staked ETH
USDC 6 usd-coin ethereum USDC
USDT 6 tether ethereum Tether
DAI 18 dai ethereum Dai
XRP 6 ripple ripple XRP
SOL 9 solana solana Solana
ADA 6 cardano cardano Cardano
DOT 10 polkadot polkadot Polkadot
DOGE 8 dogecoin dogecoin Dogecoin
LTC 8 litecoin litecoin Litecoin
BCH 8 bitcoin-cash bitcoin_cash Bitcoin Cash
LINK 18 chainlink ethereum Chainlink
ATOM 6 cosmos cosmos Cosmos
KSM 12 kusama kusama Kusama
XTZ 6 tezos tezos Tezos
FLOW 8 flow flow Flow
MATIC 18 matic-network ethereum Polygon
POL 18 polygon-ecosystem-token ethereum Polygon Ecosystem Token
UNI 18 uniswap ethereum Uniswap
AAVE 18 aave ethereum Aave
AVAX 18 avalanche-2 avacchain Avalanche
XLM 7 stellar stellar Stellar Lumens
ZEC 8 zcash zcash Zcash
ETC 18 ethereum-classic ethereum_classic Ethereum Classic
ALGO 6 algorand algorand Algorand
FIL 18 filecoin filecoin Filecoin
NEAR 24 near near NEAR Protocol
GRT 18 the-graph ethereum The Graph
MINA 9 mina-protocol mina Mina
TIA 6 celestia celestia Celestia
SHIB 18 shiba-inu ethereum SHIBA INU
PEPE 18 pepe ethereum Pepe
FLR 18 flare-networks flare Flare
NMR 18 - ethereum Numeraire
RLC 9 - ethereum iExec RLC
ONDO 18 - ethereum Ondo
BAT 18 - ethereum Basic Attention Token
COMP 18 - ethereum Compound
CRV 18 - ethereum Curve DAO Token
SNX 18 - ethereum Synthetix
ZRX 18 - ethereum 0x
1INCH 18 - ethereum 1inch
ENJ 18 - ethereum Enjin Coin
MANA 18 - ethereum Decentraland
LRC 18 - ethereum Loopring
AMP 18 - ethereum Amp
FET 18 - ethereum Fetch.ai
IMX 18 - ethereum Immutable X
INJ 18 - ethereum Injective
OP 18 - optimism Optimism
ARB 18 - arbitrum Arbitrum
SUI 9 - sui Sui
SEI 6 - sei Sei
AERO 18 - base Aerodrome Finance`

export const currencies: readonly Currency[] = [
  ...parse(fiat, { isFiat: true, listed: true }),
  ...parse(crypto, { isFiat: false, listed: true }),
]

const byCode = new Map(currencies.map((currency) => [currency.code, currency]))

/** Unknown codes get eighteen decimals and no price. */
export function toCurrency(code: string): Currency {
  const known = byCode.get(code)
  if (known !== undefined) return known
  if (!/^[\w.:-]{1,40}$/.test(code)) throw new RangeError(`not a currency code: ${JSON.stringify(code.slice(0, 40))}`)
  return { code, name: code, exponent: 18, isFiat: false, coin: undefined, network: 'ethereum', listed: false }
}

export function findCurrency(code: string): Currency | undefined {
  return byCode.get(code)
}

export function getCurrency(code: string): Currency {
  const currency = byCode.get(code)
  if (currency === undefined) throw new RangeError(`no currency ${code}`)
  return currency
}

function parse(table: string, kind: Pick<Currency, 'isFiat' | 'listed'>): Currency[] {
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [code = '', exponent, coin, network = '', ...name] = line.split(' ')
      return {
        code,
        name: name.join(' '),
        exponent: Number(exponent),
        coin: coin === '-' ? undefined : coin,
        network,
        ...kind,
      }
    })
}

// Hashes and addresses are made from hexadecimal digits. They have the shape of their network and exist on no chain.

const bech32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

const likeEthereum = new Set(['ethereum', 'base', 'arbitrum', 'optimism', 'avacchain', 'ethereum_classic', 'flare'])

/** From 64 digits. */
export function toHash(network: string, digits: string): string {
  if (likeEthereum.has(network)) return `0x${digits}`
  if (network === 'solana') return spell(digits + digits, base58, 88)
  return digits
}

/** From 64 digits. */
export function toAddress(network: string, digits: string): string {
  if (likeEthereum.has(network)) return `0x${digits.slice(0, 40)}`
  if (network === 'bitcoin') return `bc1q${spell(digits + digits, bech32, 38)}`
  return spell(digits + digits, base58, 44)
}

/** Each character from two digits; the second half of a doubled text is read from one place further on. */
function spell(digits: string, alphabet: string, length: number): string {
  let text = ''
  for (let index = 0; text.length < length; index += 1) {
    const at = (index * 3) % (digits.length - 1)
    text += alphabet.charAt(parseInt(digits.slice(at, at + 2), 16) % alphabet.length)
  }
  return text
}
