/**
 * What a transaction's legs were worth in US dollars. A trade shows its own value: if one side is money, it values both
 * sides, so that they agree to the cent and the price is the one that was paid. Otherwise each leg has the price of its
 * day. Pure; unknown is undefined, never 0.
 */
import { compare, divide, isZero, multiply, sum, type Decimal } from './decimal.ts'
import { getAsset } from './assets/index.ts'
import type { Leg, TransactionDraft } from './transactions.ts'

type AssetAmount = Pick<Leg, 'assetId' | 'amount'>

export type LegsToValue = Pick<TransactionDraft, 'type'> & {
  inputs: readonly AssetAmount[]
  outputs: readonly AssetAmount[]
  fees: readonly AssetAmount[]
}

export interface LegValue {
  price: Decimal | undefined
  value: Decimal | undefined
}

export interface Valuation {
  inputs: LegValue[]
  outputs: LegValue[]
  fees: LegValue[]
  /** Unknown if any fee is unknown: a sum that leaves something out would be wrong, not incomplete. */
  feeTotal: Decimal | undefined
  /** Assets of fees without a price. */
  unpricedFees: string[]
  /** Assets that were valued at the price of the day, or would have been if it were known. */
  dailyAssets: string[]
  /** `execution`: at least one leg has the price that the trade itself paid. */
  method: 'execution' | 'daily'
}

type PriceOf = (assetId: string) => Decimal | undefined

/**
 * Dollars for one unit, rounded half to even: people read eight decimals, and a unit of less than a dollar needs more.
 */
const priceDecimals = 8
const smallPriceDecimals = 18

/** What a trade is measured by, the best first: dollars, other money, coins that are worth a dollar by design. */
const stablecoins = new Set(
  ['tether', 'usd-coin', 'dai', 'paypal-usd', 'true-usd', 'usds', 'global-dollar', 'ethena-usde', 'usdd'].map(
    (name) => `crypto:${name}`,
  ),
)

export function valueTransaction(moved: LegsToValue, priceOf: PriceOf): Valuation {
  const paid = findPaid(moved, priceOf)
  const daily = new Set<string>()
  const toValue = ({ assetId, amount }: AssetAmount): LegValue => {
    if (paid?.assetId === assetId) return { price: paid.price, value: multiply(amount, paid.price) }
    daily.add(assetId)
    const price = priceOf(assetId)
    return { price, value: price === undefined ? undefined : multiply(amount, price) }
  }
  const toLegs = (legs: readonly AssetAmount[]): LegValue[] =>
    legs.map((leg) =>
      // The traded leg itself has the value that was paid, to the digit; price × amount may differ in the last one.
      paid !== undefined && leg === paid.leg ? { price: paid.price, value: paid.value } : toValue(leg),
    )
  const [inputs, outputs, fees] = [toLegs(moved.inputs), toLegs(moved.outputs), moved.fees.map(toValue)]
  const unpriced = moved.fees.filter((_, index) => fees[index]?.value === undefined).map(({ assetId }) => assetId)
  return {
    inputs,
    outputs,
    fees,
    feeTotal: unpriced.length > 0 ? undefined : sum(fees.flatMap(({ value }) => value ?? [])),
    unpricedFees: [...new Set(unpriced)],
    dailyAssets: [...daily],
    method: paid === undefined ? 'daily' : 'execution',
  }
}

interface Paid {
  leg: AssetAmount
  assetId: string
  price: Decimal
  value: Decimal
}

/** In a trade of one asset for money: finds the leg that is not money, and what was paid or received for it. */
function findPaid({ type, inputs, outputs }: LegsToValue, priceOf: PriceOf): Paid | undefined {
  const [came, went] = [inputs[0], outputs[0]]
  if (type !== 'input_and_output' || inputs.length !== 1 || outputs.length !== 1) return undefined
  if (came === undefined || went === undefined || came.assetId === went.assetId) return undefined
  const [rankCame, rankWent] = [rankOf(came.assetId), rankOf(went.assetId)]
  // Two coins cannot value each other, and neither can two currencies of one rank.
  if (rankCame === rankWent) return undefined
  const [money, leg] = rankCame < rankWent ? [came, went] : [went, came]
  const rate = priceOf(money.assetId)
  // Venues round the money of a dust trade to 0, which says nothing about the price.
  if (rate === undefined || isZero(leg.amount) || isZero(money.amount)) return undefined
  const value = multiply(money.amount, rate)
  const price = toPrice(value, leg.amount)
  return price === undefined ? undefined : { leg, assetId: leg.assetId, price, value }
}

function toPrice(value: Decimal, amount: Decimal): Decimal | undefined {
  const decimals = compare(value, amount) < 0 ? smallPriceDecimals : priceDecimals
  return divide(value, amount, decimals)
}

function rankOf(assetId: string): 0 | 1 | 2 | 3 {
  if (assetId === 'fiat:usd') return 0
  if (getAsset(assetId).kind === 'fiat') return 1
  return stablecoins.has(assetId) ? 2 : 3
}
