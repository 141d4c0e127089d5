/** What Harbor lists: the code on the wire, the name it shows, and how small its smallest step is. */
export interface Asset {
  code: string
  name: string
  decimals: number
  /** Whose price trades are made at, in the sandbox's market. Absent: listed nowhere else. */
  coin?: string
}

const assets: readonly Asset[] = [
  { code: 'EUR', name: 'Euro', decimals: 2, coin: 'eur' },
  { code: 'USD', name: 'US dollar', decimals: 2, coin: 'usd' },
  { code: 'GBP', name: 'Pound sterling', decimals: 2, coin: 'gbp' },
  { code: 'BTC', name: 'Bitcoin', decimals: 8, coin: 'bitcoin' },
  { code: 'ETH', name: 'Ethereum', decimals: 18, coin: 'ethereum' },
  { code: 'SOL', name: 'Solana', decimals: 9, coin: 'solana' },
  { code: 'USDC', name: 'USDC', decimals: 6, coin: 'usd-coin' },
  { code: 'USDT', name: 'Tether', decimals: 6, coin: 'tether' },
  { code: 'ADA', name: 'Cardano', decimals: 6, coin: 'cardano' },
  { code: 'DOT', name: 'Polkadot', decimals: 10, coin: 'polkadot' },
  { code: 'XRP', name: 'XRP', decimals: 6, coin: 'ripple' },
  // The house's own: known to nobody else, and the one with the most digits.
  { code: 'PIER', name: 'Harbor Pier', decimals: 18 },
]

const byCode = new Map(assets.map((asset) => [asset.code, asset]))

// Tests invent a handful.
const inventedMax = 1_000

/** Adds an asset that is not known yet. It gets eighteen decimals and no price. */
export function ensureAsset(code: string): void {
  if (byCode.has(code)) return
  if (!/^[A-Za-z0-9][A-Za-z0-9.]{0,39}$/.test(code)) throw new RangeError(`not an asset code: ${code}`)
  if (byCode.size > assets.length + inventedMax) throw new RangeError('too many asset codes were invented')
  byCode.set(code, { code, name: code, decimals: 18 })
}

export function getAsset(code: string): Asset {
  const asset = byCode.get(code)
  if (asset === undefined) throw new RangeError(`no asset ${code}`)
  return asset
}
