/**
 * Writes packages/core/src/assets/tokens.json: tokens beyond the curated list, with their price id and their contract
 * addresses, from the metadata of @web3icons/common (MIT); and contracts.json: the contracts of the curated assets. The
 * files are committed, so that an install does not depend on that package; a test compares them with what this program
 * writes.
 */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { tokens } from '@web3icons/common'
import { curatedAssets } from '../../packages/core/src/assets/known-assets.ts'

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

/**
 * What the source lacks: the wrapped coins, Tether beyond Ethereum, Lido's stETH and the large tokens of Solana. Public
 * projects agree on these addresses; they were not checked against the issuers' own pages.
 */
const further: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  weth: {
    'evm:1': '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
    'evm:10': '0x4200000000000000000000000000000000000006',
    'evm:42161': '0x82af49447d8a07e3bd95bd0d56f35241523fbab1',
    'evm:8453': '0x4200000000000000000000000000000000000006',
  },
  wmatic: { 'evm:137': '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270' },
  wbnb: { 'evm:56': '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c' },
  'wrapped-avax': { 'evm:43114': '0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7' },
  tether: {
    'evm:10': '0x94b008aa00579c1307b0ef2c499ad98a8ce58e58',
    'evm:137': '0xc2132d05d31c914a87c6611c10748aeb04b58e8f',
    'evm:42161': '0xfd086bc7cd5c481dcc9c85ebe478a1c0b69fcbb9',
    'evm:56': '0x55d398326f99059ff775485246999027b3197955',
  },
  bonk: { solana: 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263' },
  dogwifcoin: { solana: 'EKpQGSJtjMFqKZ9KQanSqYXRcF8fBopzLHYxdM65zcjm' },
  'jupiter-exchange-solana': { solana: 'JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN' },
  'paypal-usd': { solana: '2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo' },
  'staked-ether': { 'evm:1': '0xae7ab96520de3a18e5e111b5eaab095312d7fe84' },
}

export const contractsFile = path.resolve(import.meta.dirname, '../../packages/core/src/assets/contracts.json')

/** A coin of another chain has no contract on its own, and the source gives it none. */
export function toContracts(): string {
  const byId = new Map(tokens.map(({ id, addresses }) => [id, toAddresses(addresses)]))
  const rows = curatedAssets
    .flatMap(({ coingeckoId: id }) => (id === null ? [] : [[id, { ...byId.get(id), ...further[id] }] as const]))
    .filter(([, addresses]) => Object.keys(addresses).length > 0)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`
}

export const tokensFile = path.resolve(import.meta.dirname, '../../packages/core/src/assets/tokens.json')

export function toTokens(): string {
  const curated = new Set(curatedAssets.flatMap(({ symbol, coingeckoId }) => [symbol, coingeckoId]))
  const rows = tokens
    // Ids in capitals belong to the icon set, and no price source knows them.
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

if (process.argv[1] === import.meta.filename) {
  await writeFile(tokensFile, toTokens())
  await writeFile(contractsFile, toContracts())
}
