/** Every endpoint, in the order the documents show them. */
import type { Endpoint } from '../endpoint.ts'
import * as v2 from './accounts-v2.ts'
import * as claims from './claims-v2.ts'
import * as connect from './connect-v1.ts'
import * as stats from './enterprise-stats-v2.ts'
import * as enterprise from './enterprise-v2.ts'
import * as manage from './manage-v1.ts'
import * as v1 from './platform-v1.ts'
import * as bulk from './bulk-v2.ts'
import * as reading from './reading-v2.ts'

export * from './accounts-v2.ts'
export * from './bulk-v2.ts'
export * from './claims-v2.ts'
export * from './connect-v1.ts'
export * from './enterprise-stats-v2.ts'
export * from './enterprise-v2.ts'
export * from './manage-v1.ts'
export * from './platform-v1.ts'
export * from './reading-v2.ts'

export const endpoints: readonly Endpoint[] = [
  v1.addProviderV1,
  v1.listProvidersV1,
  v1.removeProviderV1,
  v1.completeProviderV1,
  v1.listAssetsV1,
  v1.refreshAssetsV1,
  v1.listTransactionsV1,
  v1.refreshTransactionsV1,
  v2.listCatalog,
  v2.addProvider,
  v2.listProviders,
  v2.removeProvider,
  v2.completeProvider,
  reading.getCoverage,
  reading.getProof,
  v2.listAssets,
  bulk.getAssetHistory,
  v2.listTransactions,
  v2.listTransactionChanges,
  v2.getTransaction,
  reading.explainTransaction,
  bulk.exportTransactions,
  reading.refreshAssets,
  reading.refreshTransactions,
  reading.getRefresh,
  claims.makeClaim,
  enterprise.listEnterpriseTransactions,
  enterprise.listEnterpriseChanges,
  enterprise.listUsers,
  enterprise.searchUsers,
  enterprise.continueUserSearch,
  enterprise.getUser,
  enterprise.listUserAssets,
  enterprise.listUserTransactions,
  enterprise.endUser,
  enterprise.listAccounts,
  stats.getUserStats,
  stats.getAccountStats,
  stats.getBalanceStats,
  stats.getTopAssets,
  enterprise.listEnterpriseProviders,
  connect.createSession,
  connect.getSession,
  connect.requestSessionCode,
  connect.enterSessionCode,
  connect.giveConsent,
  connect.addSessionConnection,
  connect.removeSessionConnection,
  connect.followSession,
  connect.completeSessionCallback,
  connect.findProviderAsker,
  connect.forwardProviderAnswer,
  connect.resumeSession,
  connect.finishSession,
  connect.declineSession,
  connect.getSandboxHelp,
  connect.createSandboxKey,
  manage.createManageSession,
  manage.requestManageCode,
  manage.enterManageCode,
  manage.endManageSession,
  manage.getMe,
  manage.removeMyConnection,
  manage.revokeMyGrant,
  manage.deleteMe,
  manage.getManageSandboxHelp,
]
