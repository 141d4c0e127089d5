/** A real Chromium that nothing hurries: what a page shows is waited for with the one patience that all tests share. */
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions } from 'playwright-core'
import { patienceMs } from './until.ts'

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
  return chromium.launch({ executablePath: '/usr/bin/chromium', args: browserArguments, timeout: patienceMs })
}

export async function openContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ timezoneId: 'UTC', ...options })
  context.setDefaultTimeout(patienceMs)
  return context
}
