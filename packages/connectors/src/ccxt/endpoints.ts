/** Endpoints of an exchange by ccxt's names for them: ccxt makes a method of each. */
import type { Exchange } from 'ccxt'

export function getEndpoint(exchange: Exchange, endpoint: string): () => Promise<unknown> {
  const method = (exchange as unknown as Record<string, (() => Promise<unknown>) | undefined>)[endpoint]
  if (method === undefined) throw new RangeError(`ccxt has no endpoint ${endpoint}`)
  return method
}

/** The exchange as it answers now at this endpoint, however often it is asked. */
export async function keepAnswer(exchange: Exchange, endpoint: string): Promise<Exchange> {
  const answer = await getEndpoint(exchange, endpoint).call(exchange)
  return Object.assign(Object.create(exchange) as Exchange, { [endpoint]: async () => answer })
}
