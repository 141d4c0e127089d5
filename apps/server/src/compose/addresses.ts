/** Where the service listens, and the names under which others know it. */
import { createServer, type AddressInfo } from 'node:net'
import type { Config } from '../config.ts'

export interface Addresses {
  host: string
  port: number
  baseUrl: string
  authUrl: string
  widgetUrl: string
}

export async function chooseAddresses({ listen, urls }: Config): Promise<Addresses> {
  const { host } = listen
  const port = listen.port === 0 ? await findFreePort(host) : listen.port
  const baseUrl = urls.base ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  return { host, port, baseUrl, authUrl: urls.auth ?? baseUrl, widgetUrl: urls.widget ?? `${baseUrl}/connect` }
}

/** The issuer's name must be known before the port is bound; for port 0 (tests) one is looked for first. */
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
