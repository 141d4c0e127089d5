/** The simulated providers in a separate process, and their control API. */
import path from 'node:path'
import { startProcess } from './process.ts'

export interface Account {
  providerId: string
  accountId: string
  apiKey: string
  secretKey: string
}

export interface Sandbox {
  controlUrl: string
  urlOf(providerId: string): Promise<string>
  /** The provider; Kraken by default. */
  newAccount(scenario: string, providerId?: string): Promise<Account>
  /** The delay that is added to every answer of a simulated provider. */
  setLatency(latencyMs: number, providerId?: string): Promise<void>
  /** How many pages of its history were requested. */
  countPages(accountId: string): Promise<number>
  /** How many calls were made with its key in total. */
  countCalls(accountId: string): Promise<number>
  stop(): Promise<void>
}

const program = path.resolve(import.meta.dirname, '../programs/sandbox.ts')

interface LogLine {
  endpoint: string
  count: number
}

export async function startSandbox(): Promise<Sandbox> {
  const started = await startProcess({ name: 'sandbox', words: [program], ready: /ready at (http\S+)/ })
  const controlUrl = started.ready
  let accounts = 0
  const listCalls = async (accountId: string): Promise<LogLine[]> => {
    const log = await sendJson(`${controlUrl}/control/log?account_id=${accountId}`, 'GET')
    return (log as { requests: LogLine[] }).requests
  }
  return {
    controlUrl,
    async urlOf(providerId) {
      const { providers } = (await sendJson(`${controlUrl}/control/providers`, 'GET')) as {
        providers: { provider_id: string; url: string }[]
      }
      const found = providers.find(({ provider_id }) => provider_id === providerId)
      if (found === undefined) throw new Error(`the sandbox has no ${providerId}`)
      return found.url
    },
    async newAccount(scenario, providerId = 'kraken') {
      accounts += 1
      const wish = { provider_id: providerId, scenario, account: `bench ${accounts}` }
      const made = (await sendJson(`${controlUrl}/control/accounts`, 'POST', { body: wish })) as {
        account_id: string
        credentials: { api_key: string; secret_key: string }
      }
      // The history is built on first use, which must not be part of the measurement.
      await sendJson(`${controlUrl}/control/accounts/${made.account_id}/state`, 'GET')
      const { api_key: apiKey, secret_key: secretKey } = made.credentials
      return { providerId, accountId: made.account_id, apiKey, secretKey }
    },
    async setLatency(latencyMs, providerId = 'kraken') {
      const faults = `${controlUrl}/control/providers/${providerId}/faults`
      await sendJson(faults, 'DELETE')
      if (latencyMs > 0) await sendJson(faults, 'POST', { body: { kind: 'latency_ms', latency_ms: latencyMs } })
    },
    countPages: async (accountId) =>
      sumCounts(
        (await listCalls(accountId)).filter(({ endpoint }) => /(?:Ledgers|myTrades|transactions)$/.test(endpoint)),
      ),
    countCalls: async (accountId) => sumCounts(await listCalls(accountId)),
    stop: started.stop,
  }
}

function sumCounts(lines: readonly LogLine[]): number {
  return lines.reduce((sum, { count }) => sum + count, 0)
}

/** The parsed answer; anything but success is thrown. */
export async function sendJson(
  url: string,
  method: 'GET' | 'POST' | 'DELETE',
  { body, token }: { body?: object; token?: string } = {},
): Promise<unknown> {
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  const response = await fetch(url, { method, headers, body: body === undefined ? null : JSON.stringify(body) })
  const answer = await response.text()
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${answer.slice(0, 500)}`)
  return JSON.parse(answer)
}
