/**
 * The compiler compares them (`npm run check`): a member that one side lacks or declares differently does not compile.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type {
  addProvider,
  BodyOf,
  ErrorResponse,
  getAccountStats,
  getAssetHistory,
  getBalanceStats,
  getCoverage,
  explainTransaction,
  getProof,
  getTopAssets,
  getUserStats,
  listAccounts,
  listAssets,
  listAssetsV1,
  listCatalog,
  listEnterpriseChanges,
  listEnterpriseTransactions,
  listProviders,
  listTransactionChanges,
  listTransactions,
  listUsers,
  makeClaim,
  QueryOf,
  refreshAssets,
  removeProvider,
  ResponseOf,
  searchUsers,
} from '@assay/contract'
import type * as enterprise from './enterprise/enterprise-types.ts'
import type * as wire from './types.ts'

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type Numbers = 'asset_holdings' | 'staked_holdings' | 'price_in_usd'
type ItemOf<Page extends { data: readonly unknown[] }> = Page['data'][number]
type Added = ResponseOf<typeof addProvider>

const same: {
  transaction: Same<wire.Transaction, ItemOf<ResponseOf<typeof listTransactions>>>
  removedTransaction: Same<wire.RemovedTransaction, NonNullable<ResponseOf<typeof listTransactions>['removed']>[number]>
  change: Same<wire.TransactionChange, ItemOf<ResponseOf<typeof listTransactionChanges>>>
  enterpriseChange: Same<enterprise.EnterpriseChange, ItemOf<ResponseOf<typeof listEnterpriseChanges>>>
  transactionFilters: Same<keyof wire.TransactionListFilters, keyof QueryOf<typeof listTransactions>>
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
  proof: Same<wire.AssetProof, ResponseOf<typeof getProof>['data'][number]>
  explanation: Same<wire.TransactionExplanation, ResponseOf<typeof explainTransaction>['data']>
  proofSummary: Same<wire.ProofSummary, ResponseOf<typeof getProof>['summary']>
  coverage: Same<wire.StreamCoverage, ResponseOf<typeof getCoverage>['data']['streams'][number]>
  history: Same<wire.AssetHistoryPoint, ItemOf<ResponseOf<typeof getAssetHistory>>>
  claim: Same<Omit<wire.Claim, 'errors'>, ResponseOf<typeof makeClaim>['data']>
  refresh: Same<wire.Refresh, ResponseOf<typeof refreshAssets>['data']>
  problem: Same<wire.Problem, ErrorResponse>
  enterpriseTransaction: Same<enterprise.EnterpriseTransaction, ItemOf<ResponseOf<typeof listEnterpriseTransactions>>>
  enterpriseFilters: Same<
    keyof enterprise.EnterpriseTransactionFilters,
    keyof QueryOf<typeof listEnterpriseTransactions>
  >
  enterpriseUser: Same<enterprise.EnterpriseUser, ItemOf<ResponseOf<typeof listUsers>>>
  enterpriseAccount: Same<enterprise.EnterpriseAccount, ItemOf<ResponseOf<typeof listAccounts>>>
  userSearch: Same<
    keyof enterprise.UserSearch | 'limit' | 'cursor' | 'next_uri',
    keyof NonNullable<BodyOf<typeof searchUsers>>
  >
  userStats: Same<enterprise.UserStats, ResponseOf<typeof getUserStats>['data']>
  providerStats: Same<enterprise.ProviderStats[], ResponseOf<typeof getAccountStats>['data']>
  balanceStats: Same<enterprise.BalanceStats, ResponseOf<typeof getBalanceStats>['data']>
  assetStats: Same<enterprise.AssetStats[], ResponseOf<typeof getTopAssets>['data']>
} = {
  transaction: true,
  removedTransaction: true,
  change: true,
  enterpriseChange: true,
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
  proof: true,
  explanation: true,
  proofSummary: true,
  coverage: true,
  history: true,
  claim: true,
  refresh: true,
  problem: true,
  enterpriseTransaction: true,
  enterpriseFilters: true,
  enterpriseUser: true,
  enterpriseAccount: true,
  userSearch: true,
  userStats: true,
  providerStats: true,
  balanceStats: true,
  assetStats: true,
}

describe('the types', () => {
  it('equal those of the contract', () => assert.ok(Object.values(same).every(Boolean)))
})
