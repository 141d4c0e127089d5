// The peer of `exchanges`: ccxt alone walks every wallet of a simulated Coinbase account and discards every page.
import ccxt from 'ccxt'

const [, , url, apiKey, secret] = process.argv
const pageSize = 100
const exchange = new ccxt.coinbase({ apiKey, secret, enableRateLimit: false, urls: { api: { rest: url } } })

/** Pages name the next one by its address; what it asks for is in the query. */
async function walk(ask, params, onPage) {
  for (let query = params; ;) {
    const { data, pagination } = await ask({ ...params, ...query, limit: pageSize })
    onPage(data)
    if (!pagination?.next_uri) return
    query = Object.fromEntries(new URL(pagination.next_uri, url).searchParams)
  }
}

// One call before the timing starts builds the account and opens the connection.
await exchange.v2PrivateGetAccounts({ limit: 1 })
const began = performance.now()
const wallets = []
let rows = 0
let pages = 0
await walk(
  (params) => exchange.v2PrivateGetAccounts(params),
  {},
  (data) => wallets.push(...data),
)
for (const { id } of wallets) {
  const ask = (params) => exchange.v2PrivateGetAccountsAccountIdTransactions(params)
  await walk(ask, { account_id: id }, (data) => {
    rows += data.length
    pages += 1
  })
}
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1_000, rows, pages }))
