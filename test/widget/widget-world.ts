/**
 * Everything a browser test of the connect flow needs: the service with its simulated providers, the widget, the demo
 * application on its own origin, and a real Chromium. One for each test file; every test gets an empty profile.
 */
import { startDemo, type Demo } from '@assay/demo'
import assert from 'node:assert/strict'
import { before, after } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, Page, Route } from 'playwright-core'
import { ensureWidgetBuilt } from '../../packages/connect/build.ts'
import { createTenants, platformScopes } from '../../apps/server/src/tenants/index.ts'
import { launchBrowser, openContext } from './browser.ts'
import { reservePort } from '../reserve-port.ts'
import { startTestService, type TestService } from '../service.ts'
import { startStaticHost } from './static-host.ts'

/** Whose accounts the demo application shows to visitors who connect none. */
export const sampleUser = 'sample'

/** As the service hosts it, with all its headers; or the package on another origin, as an integrator may host it. */
export type WidgetHost = 'service' | 'static'

export interface WidgetWorld {
  service: TestService
  demo: Demo
  widgetUrl: string
  clientId: string
  /** A page in its own profile; errors of the page fail the test that opened it. */
  openPage(options?: BrowserContextOptions): Promise<Page>
  close(page: Page): Promise<void>
}

export interface WidgetTests {
  world: () => WidgetWorld
  /** Opens a page, and checks at the end that nothing on it failed. */
  visit: (work: (page: Page, world: WidgetWorld) => Promise<void>, options?: BrowserContextOptions) => Promise<void>
}

/**
 * Call it at the top of a file's one `describe`: at the root its end would come after that of the test database, which
 * is registered when that module is loaded.
 */
export function useWidgetWorld(host: WidgetHost = 'service'): WidgetTests {
  let world: WidgetWorld | undefined
  const ends: (() => Promise<unknown>)[] = []
  before(async () => {
    world = await startWorld(host, (end) => ends.push(end))
  })
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  const getWorld = (): WidgetWorld => {
    if (world === undefined) throw new Error('the world starts before the first test')
    return world
  }
  return {
    world: getWorld,
    async visit(work, options) {
      const { openPage, close } = getWorld()
      const page = await openPage(options)
      await work(page, getWorld())
      await close(page)
    },
  }
}

async function startWorld(host: WidgetHost, onEnd: (end: () => Promise<unknown>) => void): Promise<WidgetWorld> {
  await ensureWidgetBuilt()
  const t = { after: (end: () => unknown) => onEnd(async () => end()) }
  // Both addresses must be known, and registered, before anything listens on them.
  const staticPort = await reservePort(t)
  const demoPort = await reservePort(t)
  const demoUrl = `http://127.0.0.1:${demoPort}`
  const settings = host === 'service' ? {} : { ASSAY_WIDGET_URL: `http://127.0.0.1:${staticPort}` }
  const service = await startTestService(t, { settings })
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
  if (host === 'static') onEnd((await startStaticHost(staticPort, addresses)).stop)
  const access = { clientId: client.clientId, clientSecret: secret ?? '' }
  const demo = await startDemo({ ...addresses, ...access, port: demoPort, sampleUser, onBug: assert.ifError })
  onEnd(() => demo.stop())
  const browser = await launchBrowser()
  onEnd(() => browser.close())
  return { service, demo, widgetUrl, clientId: client.clientId, ...createPages(browser) }
}

/** Holds back the progress of reading during `work`, so that short-lived screens can be inspected. */
export async function holdReading({ service }: WidgetWorld, work: () => Promise<void>): Promise<void> {
  await service.db.transaction(async (tx) => {
    await tx.execute('lock table raw_records in share mode')
    await work()
  })
}

/** The service answers, and the browser does not hear of it. */
export const lose = (route: Route): Promise<void> => route.fetch().then(() => route.abort())

function createPages(browser: Browser): Pick<WidgetWorld, 'openPage' | 'close'> {
  const failures = new WeakMap<BrowserContext, string[]>()
  return {
    async openPage(options = {}) {
      const context = await openContext(browser, { locale: 'en-GB', reducedMotion: 'reduce', ...options })
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
