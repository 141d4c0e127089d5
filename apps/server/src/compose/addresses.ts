/** Where the service listens, and the names under which others know it. */
import { createServer, type AddressInfo } from 'node:net'
import type { Config } from '../config/config.ts'

export interface Addresses {
  host: string
  port: number
  baseUrl: string
  authUrl: string
  widgetUrl: string
}

const portTriesMax = 10

/**
 * The issuer's name must be known before the port is bound. For port 0 (tests), a free port is therefore found first.
 * Another process may take it before `start` binds it; then everything starts over with the next one.
 */
export async function startAtAddresses<T>(
  config: Pick<Config, 'listen' | 'urls'>,
  start: (addresses: Addresses) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start(await chooseAddresses(config))
    } catch (error) {
      if (config.listen.port !== 0 || !isPortTaken(error) || tries === portTriesMax) throw error
    }
  }
}

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
}

export async function chooseAddresses({ listen, urls }: Pick<Config, 'listen' | 'urls'>): Promise<Addresses> {
  const { host } = listen
  const port = listen.port === 0 ? await findFreePort(host) : listen.port
  const baseUrl = urls.base ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  return { host, port, baseUrl, authUrl: urls.auth ?? baseUrl, widgetUrl: urls.widget ?? `${baseUrl}/connect` }
}

function findFreePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, host, () => {
      const { port } = probe.address() as AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
