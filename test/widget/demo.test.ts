/** The demo application in a real browser: what a visitor sees when all is well, and when it is not. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { untilAtRest } from '../service.ts'
import { until } from '../until.ts'
import { button, seeAccessible, seeHeading } from './widget-person.ts'
import { holdReading, sampleUser, useWidgetWorld } from './widget-world.ts'

describe('the demo application', () => {
  const { world, visit } = useWidgetWorld()

  /** Goes through the widget without a person: the sandbox answers for the user, and the browser comes back. */
  async function connectAs(page: Page, user: string, scenario: string): Promise<void> {
    const { demo, service, clientId } = world()
    const begun = await page.request.get(`${demo.url}/connect`, { maxRedirects: 0 })
    const asked = new URL(begun.headers()['location'] ?? '').searchParams
    const answer = await page.request.post(`${service.url}/sandbox/authorizations`, {
      data: {
        ...{ client_id: clientId, user, providers: [{ provider_id: 'kraken', scenario }] },
        ...Object.fromEntries(asked.entries().filter(([name]) => name !== 'client_id' && name !== 'display')),
      },
    })
    const { redirect_to: redirectTo } = (await answer.json()) as { redirect_to: string }
    await page.goto(redirectTo)
    await page.getByRole('heading', { name: 'Holdings' }).waitFor()
  }

  const countRows = (page: Page): Promise<number> => page.locator('.transactions tbody tr:not(.day)').count()

  it('shows the accounts with icons and proof, the ten largest holdings, and older transactions when scrolled to', () =>
    visit(
      async (page) => {
        await connectAs(page, sampleUser, 'default')
        await page.getByText('Everything adds up since March 2021').waitFor()
        await seeAccessible(page, 'portfolio')
        const holdings = page.locator('#holdings')
        assert.equal(await holdings.getByRole('rowheader').filter({ visible: true }).count(), 10)
        // Design: amounts are aligned at the decimal point.
        const points = `[...new Set([...document.querySelectorAll('#holdings > table .rest-of')].map((one) => Math.round(one.getBoundingClientRect().left)))]`
        assert.equal((await page.evaluate<number[]>(points)).length, 1)
        await holdings.getByText(/^\d+ more, \$/).click()
        assert.ok((await holdings.getByRole('rowheader').filter({ visible: true }).count()) > 15)
        const drawn = `[...document.querySelectorAll('#holdings img, .connections img')].every((one) => one.naturalWidth > 0)`
        await until('every icon', async () => ((await page.evaluate<boolean>(drawn)) ? true : undefined))
        const before = await countRows(page)
        await page.evaluate('scrollTo(0, document.body.scrollHeight)')
        await until('older rows', async () => ((await countRows(page)) > before ? true : undefined))
      },
      { viewport: { width: 1280, height: 900 } },
    ))

  it('shows a visitor the sample accounts, on a phone and in dark mode', () =>
    visit(
      async (page, { demo }) => {
        await page.goto(demo.url)
        await seeAccessible(page, 'welcome, dark')
        await button(page, 'Look around with sample accounts').click()
        await page.getByText('Everything adds up since March 2021').waitFor()
        await seeAccessible(page, 'portfolio, dark, 390 px')
        const [content, window] = await page.evaluate<[number, number]>(
          '[document.documentElement.scrollWidth, innerWidth]',
        )
        assert.ok(content <= window, `${content} px in ${window} px`)
        await page.goto(`${demo.url}/?by=source&kind=in`)
        await page.getByRole('rowheader', { name: 'Kraken' }).waitFor()
        await page.goto(`${demo.url}/coverage`)
        await seeAccessible(page, 'coverage, dark')
      },
      { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
    ))

  it('while history is read each place shows a skeleton, and then the data without a click', () =>
    visit(async (page, here) => {
      await holdReading(here, async () => {
        await connectAs(page, 'reading', 'default')
        await page.locator('#transactions').getByText('Reading your history').waitFor()
        await page.getByText('reading your history ·').waitFor()
        await seeAccessible(page, 'reading')
        // A lost answer does not end the polling.
        const lost = page.waitForEvent('requestfailed')
        await page.route(`${here.demo.url}/`, (route) => route.abort(), { times: 1 })
        await lost
      })
      await page.locator('.transactions').waitFor()
    }))

  it('a loader that cannot be imported leaves the redirect', () =>
    visit(async (page, { demo }) => {
      await page.route('**/loader.js', (route) => route.abort())
      await page.goto(demo.url)
      await page.getByText('in a window').click()
      await seeHeading(page, 'Northwind wants to see your crypto accounts')
    }))

  it('an empty account says so and can be disconnected, and its owner can sign out', () =>
    visit(async (page) => {
      await connectAs(page, 'empty', 'empty')
      await page.getByText('Your accounts hold nothing yet.').waitFor()
      await page.getByText('No transactions yet.').waitFor()
      await page.getByText('The chart begins when your accounts hold something.').waitFor()
      await seeAccessible(page, 'empty')
      await button(page, 'Disconnect Kraken').click()
      await page.getByText('No account is connected.').waitFor()
      await button(page, 'Sign out').click()
      await page.getByRole('link', { name: 'Connect your accounts' }).waitFor()
    }))

  it('during a long history it counts the entries read so far, and shows no share of an unknown total', () =>
    visit(async (page, { service }) => {
      await connectAs(page, 'long', 'empty')
      await page.getByText('up to date · 0 transactions').waitFor()
      const set = (status: string): Promise<unknown> =>
        service.db.execute(
          `update connections set status = $1, record_count = 41250, transaction_count = 365, history_from = '2026-10-17T00:00:00Z'
           where user_id = (select user_id from users where external_user_id = 'long')`,
          [status],
        )
      await set('syncing')
      await page.reload()
      const words = 'reading your history · 41,250 entries read so far · 365 transactions since October 2026'
      await page.getByText(words).waitFor()
      await set('active')
      await page.getByText('up to date · 365 transactions').waitFor()
    }))

  it('an account that cannot be read shows what it held, and says since when', () =>
    visit(async (page, { service }) => {
      await connectAs(page, 'stale', 'empty')
      await page.getByText('up to date ·').waitFor()
      await service.db.execute(
        `update connections set status = 'degraded', status_cause = 'venue_down', status_message = 'Kraken cannot be reached at the moment.',
           last_synced_at = '2026-11-01T10:00:00Z' where user_id = (select user_id from users where external_user_id = 'stale')`,
      )
      await page.reload()
      const words = 'Kraken cannot be reached at the moment. You see what it held on Nov 1, 2026, 10:00 AM UTC.'
      await page.getByText(words, { exact: true }).waitFor()
      await seeAccessible(page, 'stale')
    }))

  // The last test: the clock never goes back.
  it('shows the portfolio up to the moved day after the sandbox’s clock was moved', () =>
    visit(async (page, { service, demo }) => {
      await connectAs(page, 'a traveller in time', 'default')
      await page.getByText('Everything adds up since March 2021').waitFor()
      await untilAtRest(service)
      const moved = await page.request.post(`${service.url}/sandbox/clock`, { data: { advance_ms: 3 * 86_400_000 } })
      const { data } = (await moved.json()) as { data: { now: string } }
      const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' }).format(new Date(data.now))
      await page.goto(demo.url)
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      await until('the accounts are read again', async () => {
        await page.goto(demo.url)
        return (await page.getByText(day, { exact: true }).count()) > 0 || undefined
      })
    }))
})
