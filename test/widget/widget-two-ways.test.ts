/** Connecting a provider that has both keys and a sign-in, in a real browser, by clicking. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { BrowserContextOptions, Page, ViewportSize } from 'playwright-core'
import { beginAtDemo, button, heading, newEmail, reachChoice, seeAccessible, seeHeading } from './widget-person.ts'
import { useWidgetWorld } from './widget-world.ts'

const sizes: Readonly<Record<string, BrowserContextOptions>> = {
  'on a desktop': {},
  'on a phone': { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
}

describe('a provider with two ways to connect', () => {
  const { world, visit } = useWidgetWorld()

  const visitCoinbase = (work: (page: Page) => Promise<void>, options?: BrowserContextOptions): Promise<void> =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await reachChoice(page)
      await page.getByRole('combobox').fill('coinb')
      await page.getByRole('combobox').press('Enter')
      await seeHeading(page, 'Connect Coinbase')
      await work(page)
    }, options)

  /** A phone scrolls down, never sideways. */
  async function assertFits(page: Page): Promise<void> {
    const root = 'document.documentElement'
    const excess = await page.evaluate<number>(`${root}.scrollWidth - ${root}.clientWidth`)
    assert.ok(excess <= 0, `the page is ${excess} pixels wider than its window`)
  }

  async function goToCoinbase(page: Page): Promise<void> {
    await button(page, /^Sign in to Coinbase/).click()
    await heading(page, /^Sign in to the Coinbase/).waitFor()
  }

  async function allow(page: Page): Promise<void> {
    await button(page, 'Continue').click()
    await button(page, 'Allow').click()
  }

  async function seeHoldings(page: Page): Promise<void> {
    await seeHeading(page, 'Connected')
    await assertFits(page)
    await button(page, 'Finish').click()
    await page.getByRole('heading', { name: 'Holdings' }).waitFor()
    await page.getByRole('rowheader', { name: 'BTC' }).waitFor()
  }

  // The demo is on the widget's site, where the browser gives the tab a copy of the frame's session.
  it('from a frame, the provider’s page opens in a tab, which hands its answer to the frame and closes', async () => {
    const page = await world().openPage()
    await page.goto(world().demo.url)
    await button(page, 'on this page').click()
    const frame = page.frameLocator('iframe')
    await reachChoice(frame, newEmail())
    await frame.getByRole('combobox').fill('coinb')
    await frame.getByRole('combobox').press('Enter')
    const opened = page.waitForEvent('popup')
    await button(frame, /^Sign in to Coinbase/).click()
    const tab = await opened
    const closed = tab.waitForEvent('close')
    await allow(tab)
    await closed
    await seeHeading(frame, 'Connected')
    await button(frame, 'Finish').click()
    await page.getByRole('heading', { name: 'Holdings' }).waitFor()
    await world().close(page)
  })

  for (const [size, options] of Object.entries(sizes)) {
    it(`${size}, signing in leads to the provider’s page and back, and the application sees the data`, () =>
      visitCoinbase(async (page) => {
        await seeAccessible(page, `sign in or use a key, ${size}`)
        await assertFits(page)
        await goToCoinbase(page)
        await assertFits(page)
        await allow(page)
        await seeHoldings(page)
      }, options))

    it(`${size}, a key is used instead`, () =>
      visitCoinbase(async (page) => {
        await button(page, 'Use an API key instead').click()
        await page.getByLabel('API key name').waitFor()
        await seeAccessible(page, `the key instead, ${size}`)
        await assertFits(page)
        await page.getByText('Sandbox: use a test key').click()
        await button(page, /^A lived-in account/).click()
        await page.getByText('Looks right').nth(1).waitFor()
        await button(page, 'Connect').click()
        await seeHoldings(page)
      }, options))
  }

  it('a denial at the provider is shown here, and a second try connects', () =>
    visitCoinbase(async (page) => {
      await goToCoinbase(page)
      await button(page, 'Cancel').click()
      await seeHeading(page, 'You did not allow access at Coinbase')
      await button(page, 'Sign in again').click()
      await goToCoinbase(page)
      await allow(page)
      await seeHeading(page, 'Connected')
    }))

  it('a right that was unchecked at the provider is requested again, and access beyond reading is refused', () =>
    visitCoinbase(async (page) => {
      await goToCoinbase(page)
      await button(page, 'Continue').click()
      await page.getByRole('checkbox', { name: /See your transactions/ }).uncheck()
      await button(page, 'Allow').click()
      await seeHeading(page, 'You did not allow access at Coinbase')
      await button(page, 'Sign in again').click()
      await goToCoinbase(page)
      await page.getByRole('radio', { name: /^Too many rights/ }).check()
      await allow(page)
      await page.getByRole('button', { name: 'Sign in again' }).waitFor()
      assert.equal(await heading(page, 'Connected').count(), 0)
    }))

  describe('a sign-in that an application began for a user of its own', () => {
    /** The address of the provider's page: the application can send it to a person who never used the application. */
    async function beginAsApplication(): Promise<string> {
      const { service, clientId, demo } = world()
      const redirect_uri = `${demo.url}/callback`
      const code_verifier = randomBytes(32).toString('base64url')
      const request = {
        client_id: clientId,
        redirect_uri,
        code_challenge: code_verifier,
        code_challenge_method: 'plain',
      }
      const { code } = await post<{ code: string }>(
        '/sandbox/authorizations',
        JSON.stringify({ ...request, state: randomUUID(), user: 'of the application', providers: [] }),
        { 'content-type': 'application/json' },
      )
      const { access_token } = await post<{ access_token: string }>(
        '/oauth/token',
        new URLSearchParams({
          grant_type: 'authorization_code',
          client_id: clientId,
          redirect_uri,
          code,
          code_verifier,
        }),
      )
      const { data } = await post<{ data: { redirect_url: string } }>(
        '/accounts/v2/providers',
        JSON.stringify({ provider_id: 'coinbase', connection: { type: 'oauth2' } }),
        { 'content-type': 'application/json', authorization: `Bearer ${access_token}` },
      )
      return data.redirect_url

      async function post<T>(path: string, body: string | URLSearchParams, headers = {}): Promise<T> {
        const response = await fetch(service.url + path, { method: 'POST', body, headers })
        assert.equal(response.status, 200, path)
        return (await response.json()) as T
      }
    }

    const question = 'Connect this Coinbase account to Northwind?'

    /** The page's time stands still once it has loaded: how fast the test is does not matter. */
    async function arriveFromProvider(options: BrowserContextOptions = {}): Promise<Page> {
      const page = await world().openPage(options)
      await page.clock.install()
      await page.goto(await beginAsApplication())
      await allow(page)
      await heading(page, question).waitFor()
      await page.clock.pauseAt(Date.now() + 1_000)
      return page
    }
    /** Nothing happens by itself from then on, however long it takes. */
    async function touch(page: Page): Promise<void> {
      await page.mouse.move(10, 10)
      await page.clock.runFor(60_000)
      await page.clock.resume()
    }
    const untilTold = (page: Page): Promise<URLSearchParams> =>
      page
        .waitForRequest((request) => request.url().startsWith(`${world().demo.url}/callback?`))
        .then((request) => new URL(request.url()).searchParams)

    /** What the application is told. */
    async function answerAfter(page: Page, name: string): Promise<URLSearchParams> {
      const told = untilTold(page)
      await button(page, name).click()
      return told
    }

    /** Nothing happens by itself within a minute: going on would disable the buttons, and then leave the page. */
    async function seeWaiting(page: Page): Promise<void> {
      await page.clock.runFor(60_000)
      assert.equal(await page.getByRole('button', { name: 'No, do not connect it', disabled: false }).count(), 1)
    }
    async function seeGoingOn(page: Page): Promise<void> {
      const told = untilTold(page)
      await page.clock.runFor(10_000)
      assert.ok((await told).has('code'))
      await world().close(page)
    }

    it('is handed on when the person agrees, and names the application before that', async () => {
      const page = await arriveFromProvider()
      await touch(page)
      await page.getByText('Northwind, an application of Northwind Labs, began this sign-in.').waitFor()
      await seeAccessible(page, 'handing an account on to an application')
      const answer = await answerAfter(page, 'Yes, connect it to Northwind')
      assert.deepEqual([answer.has('code'), answer.get('error')], [true, null])
      await world().close(page)
    })

    it('is handed on by itself when the person does nothing', async () => {
      await seeGoingOn(await arriveFromProvider())
    })

    const unreadable: Readonly<Record<string, ViewportSize>> = {
      'as small as a window can be': { width: 100, height: 100 },
      'that ends above the last button': { width: 390, height: 300 },
      'that is a narrow strip of the screen': { width: 100, height: 4_000 },
    }
    for (const [window, viewport] of Object.entries(unreadable)) {
      it(`waits in a window ${window}, and goes on by itself once the whole card is in view`, async () => {
        const page = await arriveFromProvider({ viewport })
        await seeWaiting(page)
        await page.evaluate('scrollTo(0, document.body.scrollHeight)')
        await seeWaiting(page)
        await page.setViewportSize({ width: 390, height: 844 })
        await seeGoingOn(page)
      })
    }

    it('waits while another window has the focus', async () => {
      const page = await arriveFromProvider()
      // Playwright has Chromium say that every page has the focus.
      await page.evaluate('document.hasFocus = () => false')
      await seeWaiting(page)
      await page.evaluate('delete document.hasFocus')
      await seeGoingOn(page)
    })

    it('counts eight seconds without a break, from when the page can be read', async () => {
      const page = await arriveFromProvider()
      for (let round = 0; round < 3; round++) {
        await page.setViewportSize({ width: 390, height: 300 })
        await seeWaiting(page)
        await page.setViewportSize({ width: 390, height: 844 })
        await page.clock.runFor(7_000)
      }
      await seeGoingOn(page)
    })

    it('takes no press until its window has had the focus for a second, such as the second press of a double-click', async () => {
      const page = await arriveFromProvider()
      await page.mouse.move(10, 10)
      await page.clock.runFor(60_000)
      const agree = button(page, 'Yes, connect it to Northwind')
      const { x, y } = (await agree.boundingBox()) ?? assert.fail('the button is not shown')
      // A window in front of this one had the focus, and was closed by the first press.
      await page.evaluate('dispatchEvent(new Event("blur"))')
      await page.clock.runFor(60_000)
      await page.evaluate('dispatchEvent(new Event("focus"))')
      for (const sinceMs of [100, 800]) {
        await page.clock.runFor(sinceMs)
        await page.mouse.click(x + 10, y + 10)
      }
      await seeWaiting(page)
      await page.clock.resume()
      const answer = await answerAfter(page, 'Yes, connect it to Northwind')
      assert.ok(answer.has('code'))
      await world().close(page)
    })

    it('waits once the person has touched the page, and ends when the person does not agree', async () => {
      const page = await arriveFromProvider()
      await touch(page)
      await heading(page, question).waitFor()
      const answer = await answerAfter(page, 'No, do not connect it')
      assert.deepEqual([answer.has('code'), answer.get('error')], [false, 'access_denied'])
      await world().close(page)
    })
  })
})
