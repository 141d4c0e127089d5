/**
 * Everything a browser test of the connect flow needs: the service with its simulated providers, the widget, the demo
 * application on an origin of its own, and a real Chromium. One for each test file; every test gets an empty profile.
 */
import { startDemo, type Demo } from '@assay/demo'
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { before, after } from 'node:test'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core'
import { ensureWidgetBuilt } from '../packages/connect/build.ts'
import { createTenants, platformScopes } from '../apps/server/src/tenants/index.ts'
import { startTestService, type TestService } from './service.ts'
import { startStaticHost } from './static-host.ts'

/** As the service hosts it, with all its headers; or the package on another origin, as an integrator may host it. */
export type WidgetHost = 'service' | 'static'

export interface WidgetWorld {
  service: TestService
  demo: Demo
  widgetUrl: string
  clientId: string
  /** A page in a profile of its own; errors of the page fail the test that opened it. */
  openPage(options?: BrowserContextOptions): Promise<Page>
  close(page: Page): Promise<void>
}

/** As in docs for Debian's Chromium: nothing of its own goes over the network. */
const browserArguments = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
]
/** Generous, because the machine may be busy; a test that passes never waits it out. */
const patienceMs = 60_000

/**
 * Call it at the top of a file's one `describe`: at the root its end would come after that of the test database, which
 * is registered when that module is loaded.
 */
export function useWidgetWorld(host: WidgetHost = 'service'): () => WidgetWorld {
  let world: WidgetWorld | undefined
  const ends: (() => Promise<unknown>)[] = []
  before(async () => {
    world = await startWorld(host, (end) => ends.push(end))
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  return () => {
    if (world === undefined) throw new Error('the world starts before the first test')
    return world
  }
}

async function startWorld(host: WidgetHost, onEnd: (end: () => Promise<unknown>) => void): Promise<WidgetWorld> {
  await ensureWidgetBuilt()
  const staticPort = await findFreePort()
  const demoPort = await findFreePort()
  const demoUrl = `http://127.0.0.1:${demoPort}`
  const settings = host === 'service' ? {} : { ASSAY_WIDGET_URL: `http://127.0.0.1:${staticPort}` }
  const service = await startTestService({ after: (end: () => unknown) => onEnd(async () => end()) }, { settings })
  const widgetUrl = settings.ASSAY_WIDGET_URL ?? `${service.url}/connect`
  const tenants = createTenants({ db: service.db })
  const tenant = await tenants.createTenant('Northwind Labs')
  const { client, secret } = await tenants.createClient(tenant.tenantId, {
    name: 'Northwind',
    redirectUris: [`${demoUrl}/callback`],
    embedOrigins: [demoUrl],
    scopes: platformScopes,
    homepageUri: `${demoUrl}/`,
  })
  const addresses = { authUrl: service.url, baseUrl: service.url, widgetUrl }
  if (host === 'static') onEnd(await startStaticHost(staticPort, addresses))
  const access = { clientId: client.clientId, clientSecret: secret ?? '' }
  const demo = await startDemo({ ...addresses, ...access, port: demoPort, onBug: assert.ifError })
  onEnd(() => demo.stop())
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: browserArguments })
  onEnd(() => browser.close())
  return { service, demo, widgetUrl, clientId: client.clientId, ...createPages(browser) }
}

function createPages(browser: Browser): Pick<WidgetWorld, 'openPage' | 'close'> {
  const failures = new WeakMap<BrowserContext, string[]>()
  return {
    async openPage(options = {}) {
      const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
      context.setDefaultTimeout(patienceMs)
      const seen: string[] = []
      failures.set(context, seen)
      context.on('weberror', (error) => seen.push(String(error.error())))
      // Refusals by the content policy arrive as console messages only.
      context.on('console', (message) => {
        if (/Content Security Policy|Refused to/.test(message.text())) seen.push(message.text())
      })
      return context.newPage()
    },
    async close(page) {
      const seen = failures.get(page.context()) ?? []
      await page.context().close()
      if (seen.length > 0) throw new Error(`errors on the page:\n${seen.join('\n')}`)
    },
  }
}

/** Addresses must be known, and registered, before anything listens on them. */
export async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
