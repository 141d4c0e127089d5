/** A real Chromium that nothing hurries: what a page shows is waited for with the one patience that all tests share. */
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions } from 'playwright-core'
import { patienceMs } from './until.ts'

/** As in docs for Debian's Chromium: nothing of its own goes over the network. */
const browserArguments = [
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
