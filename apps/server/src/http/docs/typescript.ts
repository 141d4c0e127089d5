/**
 * The example of a call in TypeScript: with the SDK where it has a method for the call, otherwise with fetch. A test
 * compiles every line of `sdkCalls` against the SDK.
 */
import { requestOf, type Listed } from './curl.ts'

/** By operation id. `client` is that of a user, `tenant` that of the tenant itself. */
export const sdkCalls: Readonly<Record<string, string>> = {
  addProvider: `await client.providers.add({ provider_id: 'kraken', connection: { type: 'api_key', api_key: '…', secret_key: '…' } })`,
  listProviders: `for await (const connection of client.providers.list()) console.log(connection.name, connection.status)`,
  removeProvider: `await client.providers.remove({ connection_id: 'con_…' })`,
  listCatalog: `for await (const provider of client.providers.catalog({ search: 'kraken' })) console.log(provider.name)`,
  listAssets: `for await (const position of client.assets()) console.log(position.asset_symbol, position.exact.total_holdings)`,
  listTransactions: `for await (const transaction of client.transactions({ types: ['send'] })) console.log(transaction.id)`,
  listTransactionChanges: `for await (const change of client.changes()) console.log(change.op)`,
  getTransaction: `await client.transaction('txn_…')`,
  completeProvider: `await client.providers.complete('coinbase', { code: '…', state: '…' })`,
  exportTransactions: `for await (const transaction of client.exportTransactions()) console.log(transaction.id)`,
  getAssetHistory: `await client.assetHistory({ start_time: '2026-01-01T00:00:00Z' })`,
  getCoverage: `await client.providers.coverage('con_…')`,
  getProof: `await client.providers.proof('con_…')`,
  explainTransaction: `await client.explain('txn_…')`,
  refreshAssets: `await client.refreshAssets()`,
  refreshTransactions: `await client.refreshTransactions()`,
  getRefresh: `await client.refresh('ref_…')`,
  listEnterpriseTransactions: `for await (const transaction of tenant.transactions()) console.log(transaction.user_id)`,
  listEnterpriseChanges: `for await (const change of tenant.changes()) console.log(change.op)`,
  listUsers: `for await (const user of tenant.users.list()) console.log(user.user_id)`,
  getUser: `await tenant.users.get('usr_…')`,
  listUserAssets: `for await (const position of tenant.users.assets('usr_…')) console.log(position.asset_symbol)`,
  listUserTransactions: `for await (const transaction of tenant.users.transactions('usr_…')) console.log(transaction.id)`,
  endUser: `await tenant.users.end('usr_…')`,
  listAccounts: `for await (const account of tenant.accounts()) console.log(account.connection_id)`,
  listEnterpriseProviders: `for await (const provider of tenant.providers()) console.log(provider.name)`,
  getUserStats: `await tenant.stats.users()`,
  getAccountStats: `await tenant.stats.accountsByProvider()`,
  getBalanceStats: `await tenant.stats.balances()`,
  getTopAssets: `await tenant.stats.topAssets()`,
}

export function toTypeScript(listed: Listed, baseUrl: string): string {
  const { operationId } = listed.operation
  const call = Object.hasOwn(sdkCalls, operationId) ? sdkCalls[operationId] : undefined
  return call === undefined ? toFetch(listed, baseUrl) : toLines(call)
}

/** A loop gets its body on a line of its own: in one line it is wider than the page. */
function toLines(call: string): string {
  return call.replace(/^(for await \(.+\)) (console\.log\(.+\))$/, '$1 {\n  $2\n}')
}

function toFetch(listed: Listed, baseUrl: string): string {
  const { target, bearer, body } = requestOf(listed)
  const headers = {
    ...(bearer === undefined ? {} : { Authorization: bearer }),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  }
  const lines = [
    ...(listed.method === 'GET' ? [] : [`  method: '${listed.method}',`]),
    ...(Object.keys(headers).length === 0 ? [] : [`  headers: ${JSON.stringify(headers)},`]),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${JSON.stringify(body)}),`]),
  ]
  const address = JSON.stringify(`${baseUrl}${target}`)
  return lines.length === 0 ? `await fetch(${address})` : `await fetch(${address}, {\n${lines.join('\n')}\n})`
}
