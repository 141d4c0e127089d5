/**
 * Computes what the API should serve from what the simulated Kraken holds. Written from Kraken's own description of its
 * codes and shares nothing with the connector: BigInt arithmetic, its own reading of codes, no grouping at all.
 */

export interface KrakenState {
  account_id: string
  balances: Record<string, string>
  ledger: {
    id: string
    refid: string
    asset: string
    amount: string
    fee: string
    time: number
    type: string
    subtype: string
  }[]
}

const scale = 30

/** A decimal text as a whole number of 10⁻³⁰. */
export function toUnits(text: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? []
  if (fraction.length > scale || !/^-?\d+(\.\d+)?$/.test(text)) throw new RangeError(`not a plain decimal: ${text}`)
  return BigInt(`${sign}${whole}${fraction.padEnd(scale, '0')}`)
}

/** A whole number of an asset's smallest units as a decimal text. */
export function toDecimalText(units: string, decimals: number): string {
  const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(units) ?? []
  if (digits === '') throw new RangeError(`not a whole number: ${units}`)
  const padded = digits.padStart(decimals + 1, '0')
  return decimals === 0 ? `${sign}${digits}` : `${sign}${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`
}

/** Kraken's classic codes have a leading X or Z and four letters; XBT and XDG are its own names for BTC and DOGE. */
const renamed: Record<string, string> = { XBT: 'BTC', XDG: 'DOGE', ETH2: 'ETH' }

export function symbolOf(code: string): string {
  const bare = code.replace(/\.[A-Z]+$/, '').replace(/\d{2}$/, (digits) => (code.includes('.S') ? '' : digits))
  const classic = /^[XZ][A-Z]{3}$/.test(bare) && bare !== 'ZQNT' ? bare.slice(1) : bare
  return renamed[classic] ?? classic
}

export function heldBySymbol(state: KrakenState): Map<string, bigint> {
  return sumBy(Object.entries(state.balances).map(([code, amount]) => [symbolOf(code), toUnits(amount)]))
}

export function movedBySymbol(state: KrakenState): Map<string, bigint> {
  return sumBy(state.ledger.map((entry) => [symbolOf(entry.asset), toUnits(entry.amount) - toUnits(entry.fee)]))
}

export interface ServedTransaction {
  id: string
  type: string
  timestamp: string
  provider_reference: string | null
  inputs: { asset_symbol: string; amount: string }[]
  outputs: { asset_symbol: string; amount: string }[]
  fees: { items: { asset_symbol: string; amount: string }[] }
  incomplete: string[]
}

/** The contract's law: the change of a balance = inputs − outputs − fees. */
export function explainedBySymbol(transactions: readonly ServedTransaction[]): Map<string, bigint> {
  return sumBy(
    transactions.flatMap(({ inputs, outputs, fees }) => [
      ...inputs.map((leg): [string, bigint] => [leg.asset_symbol, toUnits(leg.amount)]),
      ...outputs.map((leg): [string, bigint] => [leg.asset_symbol, -toUnits(leg.amount)]),
      ...fees.items.map((leg): [string, bigint] => [leg.asset_symbol, -toUnits(leg.amount)]),
    ]),
  )
}

function sumBy(pairs: readonly [string, bigint][]): Map<string, bigint> {
  const sums = new Map<string, bigint>()
  for (const [key, units] of pairs) sums.set(key, (sums.get(key) ?? 0n) + units)
  for (const [key, units] of sums) if (units === 0n) sums.delete(key)
  return new Map([...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
