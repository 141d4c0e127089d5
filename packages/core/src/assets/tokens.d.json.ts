/**
 * What tools/generators/build-assets.ts writes into tokens.json. JSON has no tuples, and without this TypeScript would
 * compare the types of thousands of rows with one another: three seconds of every check.
 */
declare const tokens: [symbol: string, name: string, coingeckoId: string, addresses: Record<string, string>][]
export = tokens
