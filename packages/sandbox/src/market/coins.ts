/**
 * The coins of the sandbox's market: CoinGecko's id, symbol and name, and the price in US dollars on 1 January of each
 * year from 2020 to 2027. The levels are plausible, not history: `series.ts` walks between them.
 */
export interface Coin {
  id: string
  symbol: string
  name: string
  /** US dollars on 1 January 2020, 2021, … 2027. */
  yearly: readonly string[]
  /** How far a price may deviate from the straight line between two years, in millionths. */
  swing: number
  /** The id of the coin with which it rises and falls; its own by default. */
  follows?: string
}

const free = 240_000
const pegged = 1_500
const fiat = 12_000

function coin(id: string, symbol: string, name: string, yearly: string, swing = free): Coin {
  return { id, symbol, name, yearly: yearly.split(' '), swing }
}

export const coins: readonly Coin[] = [
  coin('bitcoin', 'btc', 'Bitcoin', '7200 29000 46300 16600 42300 93400 88000 96000'),
  coin('ethereum', 'eth', 'Ethereum', '130 738 3680 1200 2290 3330 2980 3400'),
  coin('binancecoin', 'bnb', 'BNB', '13.7 37.4 512 246 312 702 863 880'),
  coin('lido-dao', 'ldo', 'Lido DAO', '1 1 2.9 0.97 2.8 1.8 0.58 0.7'),
  coin('tether', 'usdt', 'Tether', '1 1 1 1 1 1 1 1', pegged),
  coin('usd-coin', 'usdc', 'USDC', '1 1 1 1 1 1 1 1', pegged),
  coin('dai', 'dai', 'Dai', '1 1 1 1 1 1 1 1', pegged),
  coin('ripple', 'xrp', 'XRP', '0.19 0.23 0.83 0.34 0.62 2.1 1.9 2.2'),
  coin('solana', 'sol', 'Solana', '0.5 1.5 170 10 101 190 128 150'),
  coin('cardano', 'ada', 'Cardano', '0.033 0.18 1.31 0.25 0.59 0.84 0.37 0.45'),
  coin('polkadot', 'dot', 'Polkadot', '3 9.2 26.7 4.3 8.2 6.6 1.9 2.4'),
  coin('dogecoin', 'doge', 'Dogecoin', '0.002 0.0047 0.17 0.07 0.09 0.32 0.12 0.14'),
  coin('litecoin', 'ltc', 'Litecoin', '41 125 146 70 73 103 78 85'),
  coin('chainlink', 'link', 'Chainlink', '1.8 11.3 19.6 5.6 15 20 12.3 14'),
  coin('cosmos', 'atom', 'Cosmos Hub', '4.3 6.5 32 9.4 10.6 6.2 2 2.3'),
  coin('kusama', 'ksm', 'Kusama', '2 69 285 23 43 34 7 8'),
  coin('tezos', 'xtz', 'Tezos', '1.35 2 4.3 0.72 1 1.3 0.5 0.6'),
  coin('flow', 'flow', 'Flow', '4 6 8.7 0.66 0.9 0.7 0.17 0.2'),
  coin('tron', 'trx', 'TRON', '0.013 0.027 0.075 0.055 0.108 0.255 0.285 0.3'),
  coin('matic-network', 'matic', 'Polygon', '0.014 0.018 2.5 0.76 0.97 0.46 0.11 0.12'),
  coin('polygon-ecosystem-token', 'pol', 'POL', '0.014 0.018 2.5 0.76 0.97 0.46 0.11 0.12'),
  coin('uniswap', 'uni', 'Uniswap', '3 5.2 17 5.2 7.3 13.4 6 7'),
  coin('aave', 'aave', 'Aave', '30 88 255 53 109 310 150 170'),
  coin('avalanche-2', 'avax', 'Avalanche', '3 3.2 109 10.9 38.5 36 12.5 14'),
  coin('stellar', 'xlm', 'Stellar', '0.045 0.128 0.267 0.071 0.129 0.33 0.21 0.24'),
  coin('monero', 'xmr', 'Monero', '45 157 228 148 165 194 430 400'),
  coin('zcash', 'zec', 'Zcash', '28 57 146 37 28 55 400 350'),
  coin('ethereum-classic', 'etc', 'Ethereum Classic', '4.4 5.7 34 15.8 22 25 11.5 13'),
  coin('bitcoin-cash', 'bch', 'Bitcoin Cash', '205 343 432 97 262 436 600 580'),
  coin('algorand', 'algo', 'Algorand', '0.22 0.33 1.7 0.17 0.22 0.33 0.11 0.12'),
  coin('filecoin', 'fil', 'Filecoin', '20 22 35 3 7.2 5 1.3 1.5'),
  coin('near', 'near', 'NEAR Protocol', '1 1.4 14.6 1.27 3.7 5 1.5 1.8'),
  coin('the-graph', 'grt', 'The Graph', '0.1 0.35 0.65 0.056 0.18 0.2 0.036 0.04'),
  coin('mina-protocol', 'mina', 'Mina Protocol', '2 3 3.7 0.43 1.36 0.58 0.08 0.09'),
  coin('numeraire', 'nmr', 'Numeraire', '7 24 32 13 19 17 10 11'),
  coin('ondo-finance', 'ondo', 'Ondo', '0.2 0.2 0.2 0.2 0.23 1.4 0.4 0.5'),
  coin('celestia', 'tia', 'Celestia', '2 2 2 2 12 4.7 0.47 0.5'),
  coin(
    'shiba-inu',
    'shib',
    'Shiba Inu',
    '0.000000001 0.000000002 0.0000334 0.0000081 0.0000103 0.0000211 0.0000069 0.000008',
  ),
  coin('pepe', 'pepe', 'Pepe', '0.0000001 0.0000001 0.0000001 0.0000001 0.0000013 0.00002 0.0000041 0.000005'),
  coin(
    'bittorrent',
    'btt',
    'BitTorrent',
    '0.0000003 0.0000003 0.0000022 0.00000063 0.00000108 0.0000011 0.0000004 0.0000005',
  ),
  coin('flare-networks', 'flr', 'Flare', '0.03 0.03 0.03 0.03 0.02 0.024 0.011 0.012'),
  coin('songbird', 'sgb', 'Songbird', '0.1 0.1 0.25 0.01 0.008 0.008 0.002 0.002'),
  coin('terra-luna-2', 'luna', 'Terra', '5 5 9 1.3 0.85 0.42 0.07 0.08'),
  coin('apple-xstock', 'aaplx', 'Apple xStock', '75 130 178 130 192 250 272 280', 60_000),
  { ...coin('weth', 'weth', 'WETH', '130 738 3680 1200 2290 3330 2980 3400'), follows: 'ethereum' },
  coin('gemini-dollar', 'gusd', 'Gemini Dollar', '1 1 1 1 1 1 1 1', pegged),
  coin('paypal-usd', 'pyusd', 'PayPal USD', '1 1 1 1 1 1 1 1', pegged),
  coin('bonk', 'bonk', 'Bonk', '0.000001 0.000001 0.000001 0.000001 0.000014 0.00003 0.00001 0.000012'),
  coin('jupiter-exchange-solana', 'jup', 'Jupiter', '0.5 0.5 0.5 0.5 0.6 0.84 0.2 0.25'),
]

/** Currencies that prices can be asked in, and that pairs are quoted in. Not coins: CoinGecko lists none of them. */
export const currencies: readonly Coin[] = [
  coin('usd', 'usd', 'US dollar', '1 1 1 1 1 1 1 1', 0),
  coin('eur', 'eur', 'Euro', '1.12 1.22 1.13 1.07 1.1 1.04 1.17 1.18', fiat),
  coin('gbp', 'gbp', 'Pound sterling', '1.32 1.37 1.35 1.21 1.27 1.25 1.34 1.35', fiat),
  coin('chf', 'chf', 'Swiss franc', '1.03 1.13 1.1 1.08 1.19 1.1 1.26 1.27', fiat),
  coin('cad', 'cad', 'Canadian dollar', '0.77 0.785 0.79 0.738 0.755 0.695 0.73 0.74', fiat),
  coin('aud', 'aud', 'Australian dollar', '0.702 0.77 0.726 0.681 0.681 0.619 0.667 0.67', fiat),
  coin('nzd', 'nzd', 'New Zealand dollar', '0.674 0.718 0.683 0.635 0.632 0.56 0.576 0.58', fiat),
  coin('jpy', 'jpy', 'Japanese yen', '0.0092 0.00969 0.00869 0.00763 0.00709 0.00636 0.00638 0.0065', fiat),
  coin('krw', 'krw', 'South Korean won', '0.000866 0.00092 0.000841 0.000795 0.000772 0.000679 0.000694 0.0007', fiat),
  coin('inr', 'inr', 'Indian rupee', '0.014 0.0137 0.0134 0.0121 0.012 0.0117 0.0111 0.0111', fiat),
  coin('sgd', 'sgd', 'Singapore dollar', '0.743 0.757 0.741 0.747 0.757 0.733 0.778 0.78', fiat),
  coin('hkd', 'hkd', 'Hong Kong dollar', '0.128 0.129 0.128 0.128 0.128 0.129 0.128 0.128', pegged),
  coin('aed', 'aed', 'UAE dirham', '0.2723 0.2723 0.2723 0.2723 0.2723 0.2723 0.2723 0.2723', 100),
  coin('sek', 'sek', 'Swedish krona', '0.107 0.122 0.111 0.096 0.099 0.0905 0.108 0.11', fiat),
  coin('nok', 'nok', 'Norwegian krone', '0.114 0.117 0.113 0.102 0.0985 0.0879 0.0992 0.1', fiat),
  coin('dkk', 'dkk', 'Danish krone', '0.15 0.164 0.153 0.144 0.148 0.139 0.157 0.158', fiat),
  coin('pln', 'pln', 'Polish zloty', '0.264 0.268 0.248 0.228 0.254 0.242 0.278 0.28', fiat),
  coin('czk', 'czk', 'Czech koruna', '0.0442 0.0466 0.0457 0.0443 0.0447 0.0412 0.0485 0.049', fiat),
  coin('brl', 'brl', 'Brazilian real', '0.249 0.193 0.18 0.189 0.206 0.162 0.182 0.185', fiat),
  coin('mxn', 'mxn', 'Mexican peso', '0.0528 0.0502 0.0487 0.0513 0.0589 0.048 0.0556 0.056', fiat),
  coin('try', 'try', 'Turkish lira', '0.168 0.134 0.0752 0.0534 0.0339 0.0283 0.0233 0.02', fiat),
  coin('zar', 'zar', 'South African rand', '0.0714 0.068 0.0627 0.0587 0.0546 0.0531 0.0604 0.061', fiat),
]
