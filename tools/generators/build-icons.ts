/**
 * Writes apps/server/src/http/system/icon-drawings.json: the icons of the providers and curated assets that
 * @web3icons/core (MIT) has. The package weighs 81 MB and is needed for this alone, so it is not a dependency: fetch
 * and unpack it, then run
 *
 *   npm pack @web3icons/core@4.0.56 && tar xzf web3icons-core-4.0.56.tgz && node tools/generators/build-icons.ts
 *   package
 *
 * The variant `background` fills its square with the brand's colour, so it is legible on a light and on a dark page.
 */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { listCatalog } from '@assay/connectors/catalog'
import { tokens } from '@web3icons/common'
import { curatedAssets } from '../../packages/core/src/assets/known-assets.ts'

const outputFile = path.resolve(import.meta.dirname, '../../apps/server/src/http/system/icon-drawings.json')

/** A larger drawing is too detailed for an icon. Its asset keeps the monogram. */
const drawingBytesMax = 26_000

/** Provider ids that the icon set calls something else. */
const slugs: Readonly<Record<string, string>> = {
  backpack: 'wallets/backpack',
  binanceus: 'exchanges/binance',
  binancecoinm: 'exchanges/binance',
  binanceusdm: 'exchanges/binance',
  bybiteu: 'exchanges/bybit',
  bybitid: 'exchanges/bybit',
  coinbaseexchange: 'exchanges/coinbase',
  coinbaseinternational: 'exchanges/coinbase',
  cryptocom: 'exchanges/crypto-com',
  evm: 'networks/ethereum',
  gate: 'exchanges/gate-io',
  gateeu: 'exchanges/gate-io',
  krakenfutures: 'exchanges/kraken',
  kucoinfutures: 'exchanges/kucoin',
  myokx: 'exchanges/okx',
  okxus: 'exchanges/okx',
}

async function readDrawing(folder: string, slug: string): Promise<string | undefined> {
  const [group = '', name = ''] = slug.split('/')
  const file = path.resolve(folder, 'dist/svgs', group, 'background', `${name}.svg.js`)
  if (!existsSync(file)) return undefined
  const { default: drawing } = (await import(pathToFileURL(file).href)) as { default: string }
  return drawing.length > drawingBytesMax
    ? undefined
    : drawing.replaceAll(/\s*\n\s*/g, '').replace(' class="web3icons"', '')
}

async function readAll(folder: string, wanted: readonly (readonly [string, readonly string[]])[]): Promise<object> {
  const found: Record<string, string> = {}
  for (const [id, candidates] of wanted) {
    for (const slug of candidates) {
      const drawing = id in found ? undefined : await readDrawing(folder, slug)
      if (drawing !== undefined) found[id] = drawing
    }
  }
  return found
}

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('Name the folder of the unpacked package @web3icons/core.')
const providers = listCatalog().map(
  ({ provider_id: id }) => [id, [slugs[id] ?? `exchanges/${id}`, `networks/${id}`]] as const,
)
const symbols = new Map(tokens.map(({ id, symbol }) => [id, symbol.toUpperCase()]))
const assets = curatedAssets.map(
  ({ assetId, coingeckoId }) => [assetId, [`tokens/${symbols.get(coingeckoId ?? '') ?? ''}`]] as const,
)
const drawings = {
  source: '@web3icons/core 4.0.56 by 0xa3k5, MIT License',
  providers: await readAll(folder, providers),
  assets: await readAll(folder, assets),
}
await writeFile(outputFile, `${JSON.stringify(drawings, null, 2)}\n`)
