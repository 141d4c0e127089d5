/**
 * Binance as it is after it has delisted symbols, in front of the simulated one. Its own symbols are fixed, because the
 * histories of all accounts are written with them.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Delisting {
  url: string
  /** Where the simulated Binance is. */
  target: string | undefined
  /** Symbols that exchangeInfo does not list. */
  unlisted: Set<string>
  /** Symbols whose trades are refused as well, with −1121. */
  unknown: Set<string>
  /** Symbols that trades were asked of. */
  asked: string[]
  close(): void
}

export async function startDelisting(): Promise<Delisting> {
  const server: Server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    answer(delisting, request.url ?? '/', request.headers['x-mbx-apikey']).then(
      ({ status, headers = {}, body }) => response.writeHead(status, headers).end(body),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const delisting: Delisting = {
    url: `http://127.0.0.1:${port}`,
    ...{ target: undefined, unlisted: new Set(), unknown: new Set(), asked: [] },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return delisting
}

async function answer(
  { target, unlisted, unknown, asked }: Delisting,
  path: string,
  key: string | string[] | undefined,
): Promise<{ status: number; headers?: Record<string, string>; body: string }> {
  const url = new URL(path, target)
  const symbol = url.searchParams.get('symbol') ?? ''
  if (url.pathname === '/api/v3/myTrades') {
    asked.push(symbol)
    if (unknown.has(symbol)) return { status: 400, body: '{"code":-1121,"msg":"Invalid symbol."}' }
  }
  const answered = await fetch(url, typeof key === 'string' ? { headers: { 'X-MBX-APIKEY': key } } : {})
  const body = await answered.text()
  // Used weights, and how long to stay away.
  const told = [...answered.headers].filter(([name]) => name.startsWith('x-') || name === 'retry-after')
  const headers = Object.fromEntries(told)
  if (url.pathname !== '/api/v3/exchangeInfo') return { status: answered.status, headers, body }
  const info = JSON.parse(body) as { symbols: { symbol: string }[] }
  return {
    status: 200,
    headers,
    body: JSON.stringify({ symbols: info.symbols.filter((one) => !unlisted.has(one.symbol)) }),
  }
}
