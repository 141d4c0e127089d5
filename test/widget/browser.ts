/** A real Chromium. All tests wait for what a page shows with the same timeout. */
import { existsSync } from 'node:fs'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions } from 'playwright-core'
import { patienceMs } from '../until.ts'

/**
 * Any of these will do, the first that is installed is used. Debian's headless shell is the same engine without the
 * windows of the whole browser, and takes little more than half of its processor time.
 */
export const browserPrograms: readonly string[] = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/**
 * Each context opens a window of the whole browser. Its address bar loads two pages of Chromium's own in a further
 * process, and a spare process waits for a navigation that does not come: both took half of a test's processor time.
 */
const ownPages = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'SpareRendererForSitePerProcess',
]

/** What Playwright 1.65 turns off itself (chromiumSwitches.ts). Chromium obeys only the last switch of a name: ours. */
const disabledByPlaywright = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
]

/** As in docs for Debian's Chromium: nothing of its own goes over the network. */
const browserArguments = [
  `--disable-features=${[...disabledByPlaywright, ...ownPages].join(',')}`,
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  '--disable-quic',
]

export function launchBrowser(): Promise<Browser> {
  const executablePath = browserPrograms.find((program) => existsSync(program))
  if (executablePath === undefined) throw new Error(`No browser is installed: ${browserPrograms.join(' or ')}`)
  return chromium.launch({ executablePath, args: browserArguments, timeout: patienceMs })
}

export async function openContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ timezoneId: 'UTC', ...options })
  context.setDefaultTimeout(patienceMs)
  return context
}
