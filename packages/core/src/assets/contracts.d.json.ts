/** What tools/generators/build-assets.ts writes into contracts.json. */
declare const contracts: [coingeckoId: string, addresses: Record<string, string>][]
export = contracts
