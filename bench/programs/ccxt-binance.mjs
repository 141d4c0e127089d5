// The peer of `exchanges`: ccxt alone walks the trades of a simulated Binance account and discards every page.
import ccxt from 'ccxt'

const [, , url, apiKey, secret, stateUrl] = process.argv
const pageSize = 1_000
const exchange = new ccxt.binance({ apiKey, secret, enableRateLimit: false })
for (const [name, address] of Object.entries(exchange.urls.api)) {
  exchange.urls.api[name] = url + new URL(address).pathname
}
const { records } = await (await fetch(stateUrl)).json()
const symbols = [...new Set(records.filter(({ kind }) => kind === 'trade').map(({ body }) => body.symbol))]

// One call before the timing starts builds the account and opens the connection.
await exchange.privateGetAccount()
const began = performance.now()
let rows = 0
let pages = 0
for (const symbol of symbols) {
  for (let fromId = 0; ;) {
    const trades = await exchange.privateGetMyTrades({ symbol, fromId, limit: pageSize })
    rows += trades.length
    pages += 1
    if (trades.length < pageSize) break
    fromId = Number(trades.at(-1).id) + 1
  }
}
console.log(JSON.stringify({ seconds: (performance.now() - began) / 1_000, rows, pages }))
