/** Compared by the compiler (`npm run check`): a member that one side lacks, or has otherwise, does not compile. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type {
  addProvider,
  BodyOf,
  ErrorResponse,
  getAssetHistory,
  getCoverage,
  listAssets,
  listAssetsV1,
  listCatalog,
  listProviders,
  listTransactions,
  QueryOf,
  refreshAssets,
  removeProvider,
  ResponseOf,
} from '@assay/contract'
import type * as wire from './types.ts'

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type Numbers = 'asset_holdings' | 'staked_holdings' | 'price_in_usd'
type ItemOf<Page extends { data: readonly unknown[] }> = Page['data'][number]
type Added = ResponseOf<typeof addProvider>

const same: {
  transaction: Same<wire.Transaction, ItemOf<ResponseOf<typeof listTransactions>>>
  transactionFilters: Same<keyof wire.TransactionFilters, keyof QueryOf<typeof listTransactions>>
  asset: Same<Omit<wire.AssetPosition, Numbers>, Omit<ItemOf<ResponseOf<typeof listAssets>>, Numbers>>
  assetFilters: Same<keyof wire.AssetFilters, keyof QueryOf<typeof listAssets>>
  assetV1: Same<keyof wire.AssetPositionV1, keyof ResponseOf<typeof listAssetsV1>[number]>
  assetFiltersV1: Same<keyof wire.AssetFiltersV1, keyof QueryOf<typeof listAssetsV1>>
  connected: Same<wire.ConnectedProvider, ItemOf<ResponseOf<typeof listProviders>>>
  catalogued: Same<wire.Provider, ItemOf<ResponseOf<typeof listCatalog>>>
  added: Same<Omit<wire.AddedProvider, 'errors'>, Added['data']>
  errorItem: Same<wire.ErrorItem, ErrorResponse['errors'][number]>
  newProvider: wire.NewProvider extends BodyOf<typeof addProvider> ? true : false
  removed: Same<wire.RemovedProviders, ResponseOf<typeof removeProvider>['data']>
  coverage: Same<wire.StreamCoverage, ResponseOf<typeof getCoverage>['data']['streams'][number]>
  history: Same<wire.AssetHistoryPoint, ItemOf<ResponseOf<typeof getAssetHistory>>>
  refresh: Same<wire.Refresh, ResponseOf<typeof refreshAssets>['data']>
  problem: Same<wire.Problem, ErrorResponse>
} = {
  transaction: true,
  transactionFilters: true,
  asset: true,
  assetFilters: true,
  assetV1: true,
  assetFiltersV1: true,
  connected: true,
  catalogued: true,
  added: true,
  errorItem: true,
  newProvider: true,
  removed: true,
  coverage: true,
  history: true,
  refresh: true,
  problem: true,
}

describe('the types', () => {
  it('are those of the contract', () => assert.ok(Object.values(same).every(Boolean)))
})
