/**
 * The pairs the simulated exchange trades. Source:
 * https://docs.kraken.com/api-reference/market-data/get-tradable-asset-pairs. A pair's name joins the codes when both
 * are old (XXBTZUSD) and the altnames when one is new (ADAUSD); `altname` is always of altnames.
 */
import { getAsset, type Asset } from '../assets.ts'

export interface Pair {
  name: string
  altname: string
  wsname: string
  base: Asset
  quote: Asset
  priceDecimals: number
  lotDecimals: number
  orderMin: string
}

// base, quote, decimals of the price, smallest order
const table = `
XXBT ZUSD 1 0.00005
XXBT ZEUR 1 0.00005
XXBT ZGBP 1 0.00005
XXBT USDT 1 0.00005
XETH ZUSD 2 0.001
XETH ZEUR 2 0.001
XETH XXBT 5 0.001
XXRP ZUSD 5 2
XXRP ZEUR 5 2
XLTC ZUSD 2 0.05
XLTC ZEUR 2 0.05
XXDG ZUSD 7 30
XXLM ZUSD 6 20
XXMR ZUSD 2 0.02
AAVE USD 2 0.02
ADA USD 6 6
ADA EUR 6 6
ATOM USD 4 1
AVAX USD 2 0.2
BCH USD 2 0.01
DOT USD 4 1
DOT EUR 4 1
FLOW USD 3 10
KSM EUR 2 0.3
LINK USD 5 0.3
MATIC USD 4 10
PEPE USD 9 300000
SHIB USD 8 200000
SOL USD 2 0.02
SOL EUR 2 0.02
TRX EUR 6 20
UNI USD 3 0.5
USDC USD 4 5
USDT USD 5 5
AAPLx USD 2 0.01`

const classLetter: Readonly<Record<string, string>> = { USD: 'ZUSD', EUR: 'ZEUR' }

export const pairs: readonly Pair[] = table
  .trim()
  .split('\n')
  .map((line) => {
    const [baseName = '', quoteName = '', priceDecimals, orderMin = '0'] = line.split(' ')
    const base = getAsset(baseName)
    const quote = getAsset(classLetter[quoteName] ?? quoteName)
    const altname = base.altname + quote.altname
    const bothOld = base.code !== base.altname && quote.code !== quote.altname && quoteName === quote.code
    return {
      name: bothOld && base.code !== 'XXDG' ? base.code + quote.code : altname,
      altname,
      wsname: `${base.altname}/${quote.altname}`,
      base,
      quote,
      priceDecimals: Number(priceDecimals),
      lotDecimals: Math.min(8, base.decimals),
      orderMin,
    }
  })

const byName = new Map(
  pairs.flatMap((pair) => [pair.altname, pair.wsname, pair.name].map((name) => [name, pair] as const)),
)

/** By name, altname or wsname. */
export function findPair(name: string): Pair | undefined {
  return byName.get(name)
}
