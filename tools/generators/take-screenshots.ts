/**
 * Takes the pictures of docs/images that the README shows: the portfolio of the demo application and the last screen of
 * the widget. Needs `npm start` to run, and Chromium.
 *
 *   node tools/generators/take-screenshots.ts [address of the demo application]
 */
import path from 'node:path'
import type { Page } from 'playwright-core'
import { launchBrowser, openContext } from '../../test/widget/browser.ts'
import { button, reachChoice, seeHeading, sendTestKey } from '../../test/widget/widget-person.ts'

const folder = path.resolve(import.meta.dirname, '../../docs/images')
const [demoUrl = 'http://127.0.0.1:4100'] = process.argv.slice(2)
const looks = { locale: 'en-US', reducedMotion: 'reduce' } as const

async function takePortfolio(page: Page): Promise<void> {
  await page.goto(demoUrl)
  await button(page, 'Look around with sample accounts').click()
  await page.getByText('Everything adds up since').nth(2).waitFor()
  await page.waitForLoadState('networkidle')
  await page.screenshot({ path: path.join(folder, 'demo.png') })
}

async function takeWidget(page: Page): Promise<void> {
  await page.goto(`${demoUrl}/connect`)
  await reachChoice(page)
  await page.getByRole('combobox').fill('krak')
  await page.getByRole('combobox').press('Enter')
  await seeHeading(page, 'Connect Kraken')
  await sendTestKey(page, 'A lived-in account')
  await page.getByText('Everything adds up since').waitFor()
  await page.screenshot({ path: path.join(folder, 'widget.png') })
}

const browser = await launchBrowser()
const wide = await openContext(browser, { ...looks, viewport: { width: 1120, height: 1180 } })
await takePortfolio(await wide.newPage())
const narrow = await openContext(browser, { ...looks, viewport: { width: 560, height: 480 } })
await takeWidget(await narrow.newPage())
await browser.close()
