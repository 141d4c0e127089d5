/**
 * Writes packages/core/src/assets/tokens.json: tokens beyond the curated list, with their price id and their contract
 * addresses, from the metadata of @web3icons/common (MIT). The file is committed, so that no install depends on that
 * package; a test checks that it is what this program writes.
 */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { tokens } from '@web3icons/common'
import { curatedAssets } from '../packages/core/src/assets/known-assets.ts'

/** The chains that wallets are read on, by the names that the source uses and the ids that we use. */
const networks: ReadonlyMap<string, string> = new Map([
  ['ethereum', 'evm:1'],
  ['optimistic-ethereum', 'evm:10'],
  ['binance-smart-chain', 'evm:56'],
  ['polygon-pos', 'evm:137'],
  ['base', 'evm:8453'],
  ['arbitrum-one', 'evm:42161'],
  ['avalanche', 'evm:43114'],
  ['solana', 'solana'],
])

export const tokensFile = path.resolve(import.meta.dirname, '../packages/core/src/assets/tokens.json')

export function toTokens(): string {
  const curated = new Set(curatedAssets.flatMap(({ symbol, coingeckoId }) => [symbol, coingeckoId]))
  const rows = tokens
    // Ids in capitals are the icon set's own and no price source knows them.
    .filter(({ id, symbol }) => /^[a-z0-9-]+$/.test(id) && !curated.has(id) && !curated.has(symbol.toUpperCase()))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ id, symbol, name, addresses }) => [symbol.toUpperCase(), name, id, toAddresses(addresses)])
  return `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`
}

function toAddresses(given: Readonly<Record<string, string | undefined>> | undefined): Record<string, string> {
  const known = Object.entries(given ?? {}).flatMap(([network, address]) => {
    const id = networks.get(network)
    return id === undefined || address === undefined || address === '' ? [] : [[id, address] as const]
  })
  return Object.fromEntries(known.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

if (process.argv[1] === import.meta.filename) await writeFile(tokensFile, toTokens())
