/** The connect flow when a person reloads, goes back, leaves or comes too late. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page, Request } from 'playwright-core'
import {
  beginAtDemo,
  button,
  chooseKraken,
  newEmail,
  reachChoice,
  seeAccessible,
  seeHeading,
  sendTestKey,
} from './widget-person.ts'
import { holdReading, useWidgetWorld, lose, type WidgetWorld } from './widget-world.ts'

describe('leaving the widget, coming back and timing out', () => {
  const { visit } = useWidgetWorld()

  it('a reload in the middle lands on the same screen, and reading has continued', () =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await page.reload()
      await reachChoice(page)
      await page.reload()
      await seeHeading(page, 'Where are your assets?')
      await chooseKraken(page)
      await page.reload()
      await seeHeading(page, 'Connect Kraken')
      await holdReading(here, async () => {
        await sendTestKey(page, 'A lived-in account')
        await page.getByText('Read-only confirmed').waitFor()
        await page.reload()
        await seeHeading(page, 'Connecting Kraken')
      })
      await seeHeading(page, 'Connected')
      await page.reload()
      await seeHeading(page, 'Connected')
      await button(page, 'Finish').click()
      await page.getByRole('rowheader', { name: 'BTC' }).waitFor()
    }))

  it('after a closed tab the person signs in again and continues from there', () =>
    visit(async (page, here) => {
      const email = newEmail()
      await beginAtDemo(page, here)
      await reachChoice(page, email)
      await chooseKraken(page)
      await sendTestKey(page, 'A new account')
      await seeHeading(page, 'Connected')
      const again = await page.context().newPage()
      await page.close()
      await beginAtDemo(again, here)
      await reachChoice(again, email)
      await again.getByText(/You began on .* and connected 1 account/).waitFor()
      await button(again, 'Continue from there').click()
      await seeHeading(again, 'Connected')
      await button(again, 'Finish').click()
      await again.getByText('Kraken').first().waitFor()
    }))

  it('the browser’s Back leads through the screens, not out of the flow', () =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await reachChoice(page)
      await chooseKraken(page)
      await page.goBack()
      await seeHeading(page, 'Where are your assets?')
      await page.goForward()
      await seeHeading(page, 'Connect Kraken')
      await button(page, 'Back').click()
      await seeHeading(page, 'Where are your assets?')
    }))

  it('Back after “Finish” says that it is done, and leads to the application', () =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await reachChoice(page)
      await chooseKraken(page)
      await sendTestKey(page, 'A new account')
      await seeHeading(page, 'Connected')
      await button(page, 'Finish').click()
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      await page.goBack()
      await seeHeading(page, 'All done')
      await page.getByRole('link', { name: 'Back to Northwind' }).click()
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
    }))

  const reachConnectedTwice = async (page: Page, here: WidgetWorld): Promise<Page> => {
    await beginAtDemo(page, here)
    await reachChoice(page)
    await chooseKraken(page)
    await sendTestKey(page, 'A new account')
    await seeHeading(page, 'Connected')
    const opened = page.waitForEvent('popup')
    await page.evaluate('void window.open(location.href)')
    const second = await opened
    await seeHeading(second, 'Connected')
    return second
  }

  it('finished in one tab is finished in a second one, also after a reload', () =>
    visit(async (page, here) => {
      const second = await reachConnectedTwice(page, here)
      await button(page, 'Finish').click()
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      await second.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
      await seeHeading(second, 'All done')
      await second.reload()
      await seeHeading(second, 'All done')
    }))

  it('declined in one tab is declined in a second one, also after a reload', () =>
    visit(async (page, here) => {
      const second = await reachConnectedTwice(page, here)
      await button(page, 'Not now').click()
      await button(page, 'Leave').click()
      await page.getByText('Nothing was shared. You can connect whenever you like.').waitFor()
      await second.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
      await seeHeading(second, 'Nothing was shared')
      await second.reload()
      await seeHeading(second, 'Nothing was shared')
    }))

  it('reloaded while “Finish” is under way ends at the application', () =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await reachChoice(page)
      await chooseKraken(page)
      await sendTestKey(page, 'A new account')
      await seeHeading(page, 'Connected')
      const held = Promise.withResolvers<Request>()
      await page.route('**/session/finish', (route) => held.resolve(route.request()), { times: 1 })
      await button(page, 'Finish').click()
      const request = await held.promise
      const [method, headers, data] = [request.method(), await request.allHeaders(), request.postData() ?? '']
      await page.reload()
      await seeHeading(page, 'Connected')
      // The service gets to it now, and its answer goes nowhere.
      const { authorization = '', 'content-type': type = '' } = headers
      const sent = { method, headers: { authorization, 'content-type': type }, data }
      assert.equal((await page.request.fetch(request.url(), sent)).status(), 200)
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
    }))

  for (const [then, goOn] of [
    ['press again', (page: Page) => button(page, 'Finish').click()],
    ['reload', (page: Page) => page.reload()],
    ['come back to the tab', (page: Page) => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")],
  ] as const) {
    it(`whose last answer is lost ends at the application when they ${then}`, () =>
      visit(async (page, here) => {
        await beginAtDemo(page, here)
        await reachChoice(page)
        await chooseKraken(page)
        await sendTestKey(page, 'A new account')
        await seeHeading(page, 'Connected')
        await page.route('**/session/finish', lose, { times: 1 })
        await button(page, 'Finish').click()
        await page.getByText('Check your connection to the internet').waitFor()
        await goOn(page)
        await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      }))
  }

  it('whose last answer was lost for too long say that the page has expired', () =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await reachChoice(page)
      await chooseKraken(page)
      await sendTestKey(page, 'A new account')
      await seeHeading(page, 'Connected')
      await page.route('**/session/finish', lose, { times: 1 })
      await button(page, 'Finish').click()
      await page.getByText('Check your connection to the internet').waitFor()
      await here.service.db.execute("update authorization_codes set expires_at = expires_at - interval '1 hour'")
      await button(page, 'Finish').click()
      await seeHeading(page, 'This page has expired')
      await page.reload()
      await seeHeading(page, 'This page has expired')
    }))

  it('“Not now” asks first when something would be lost, and notifies the application', () =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await reachChoice(page)
      await chooseKraken(page)
      await sendTestKey(page, 'A new account')
      await seeHeading(page, 'Connected')
      await button(page, 'Not now').click()
      await page.getByText('The account you connected here will be removed again.').waitFor()
      await seeAccessible(page, 'leave')
      await button(page, 'Stay').click()
      await button(page, 'Not now').click()
      await button(page, 'Leave').click()
      await page.getByText('Nothing was shared. You can connect whenever you like.').waitFor()
    }))

  it('when the user declines on the first screen, the application is notified', () =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await button(page, 'Not now').click()
      await page.getByText('Nothing was shared.').waitFor()
    }))

  it('an expired session is reported as such, and the way back is one click', () =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await here.service.db.execute("update connect_sessions set expires_at = expires_at - interval '1 hour'")
      await button(page, 'Continue').click()
      await page.getByLabel('Email address').fill(newEmail())
      await button(page, 'Email me a code').click()
      await seeHeading(page, 'This page has expired')
      await seeAccessible(page, 'expired')
      await page.reload()
      await seeHeading(page, 'This page has expired')
      await page.getByRole('link', { name: 'Back to Northwind' }).click()
      await page.getByRole('link', { name: 'Connect your accounts' }).waitFor()
    }))

  it('an unknown client gets a page that explains, and no redirect', () =>
    visit(async (page, { widgetUrl }) => {
      await page.goto(`${widgetUrl}?client_id=cli_nobody&redirect_uri=https://evil.example/`)
      await seeHeading(page, 'This link does not work')
      await page.getByText(/mention this number: req_/).waitFor()
      await seeAccessible(page, 'bad client')
      assert.ok(page.url().startsWith(widgetUrl))
    }))

  it('a page without a request says that there is nothing to do', () =>
    visit(async (page, { widgetUrl }) => {
      await page.goto(widgetUrl)
      await seeHeading(page, 'Nothing to do here')
    }))
})
