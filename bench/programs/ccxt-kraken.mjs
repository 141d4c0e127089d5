// The peer of `sync`: ccxt alone walks the ledger of a simulated Kraken account and discards every page.
import ccxt from 'ccxt'

const [, , url, apiKey, secret] = process.argv
const pageSize = 50
const exchange = new ccxt.kraken({
  apiKey,
  secret,
  enableRateLimit: false,
  urls: { api: { public: url, private: url } },
})
let nonce = Date.now()
exchange.nonce = () => (nonce += 1)

// One call before the timing starts builds the account and opens the connection.
await exchange.privatePostLedgers({ ofs: 0 })
const began = performance.now()
let rows = 0
let pages = 0
for (;;) {
  const { result } = await exchange.privatePostLedgers({ ofs: rows })
  const found = Object.keys(result.ledger ?? {}).length
  rows += found
  pages += 1
  if (found < pageSize) break
}
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1_000, rows, pages }))
