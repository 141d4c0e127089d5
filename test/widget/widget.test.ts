/** The connect flow in a real browser, by clicking and typing, from the demo's button to the demo's holdings. */
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { before, describe, it } from 'node:test'
import type { Page, Request, Route } from 'playwright-core'
import { createTenants } from '../../apps/server/src/tenants/index.ts'
import { servePages } from './static-host.ts'
import { until } from '../until.ts'
import {
  button,
  chooseKraken,
  fillTestKey,
  heading,
  newEmail,
  reachChoice,
  seeAccessible,
  seeHeading,
  sendTestKey,
  signIn,
} from './widget-person.ts'
import { holdReading, useWidgetWorld, type WidgetWorld } from './widget-world.ts'

/** The service answers, and the browser does not hear of it. */
const lose = (route: Route): Promise<void> => route.fetch().then(() => route.abort())

describe('the connect widget', () => {
  const world = useWidgetWorld()

  /** Opens a page, and checks at the end that nothing on it failed. */
  async function visit(work: (page: Page, world: WidgetWorld) => Promise<void>, options = {}): Promise<void> {
    const page = await world().openPage(options)
    await work(page, world())
    await world().close(page)
  }

  async function begin(page: Page, { demo }: WidgetWorld): Promise<void> {
    await page.goto(demo.url)
    await page.getByRole('link', { name: 'Connect your accounts' }).click()
    await seeHeading(page, 'Northwind wants to see your crypto accounts')
  }

  describe('connecting', () => {
    it('goes from the application’s button to its holdings, and every screen on the way is accessible', () =>
      visit(async (page, here) => {
        const origins = new Set<string>()
        page.on('request', (request) => void origins.add(new URL(request.url()).origin))
        await begin(page, here)
        assert.equal(new URL(page.url()).search, '', 'the address bar is clean once the session exists')
        await page.getByText('Northwind is operated by Northwind Labs.').waitFor()
        await page.getByText('Move funds, trade, or see your keys.').waitFor()
        await seeAccessible(page, 'consent')
        await button(page, 'Continue').click()
        await seeHeading(page, 'First, who are you?')
        await seeAccessible(page, 'sign in')
        await page.getByLabel('Email address').fill(newEmail())
        await button(page, 'Email me a code').click()
        await button(page, 'Fill in').waitFor()
        await seeAccessible(page, 'code')
        await button(page, 'Fill in').click()
        await seeHeading(page, 'Where are your assets?')
        await page.getByRole('option', { name: 'Kraken' }).waitFor()
        await seeAccessible(page, 'choose')
        await page.getByRole('option', { name: 'Kraken' }).click()
        await seeHeading(page, 'Connect Kraken')
        await page.getByText('Funds permissions - Query').waitFor()
        await seeAccessible(page, 'credentials')
        assert.ok(await button(page, 'Connect').isDisabled(), 'an empty form cannot be sent')
        await holdReading(here, async () => {
          await sendTestKey(page, 'A lived-in account')
          await seeHeading(page, 'Connecting Kraken')
          await page.getByText('Read-only confirmed').waitFor()
          await seeAccessible(page, 'checking')
        })
        await seeHeading(page, 'Connected')
        await page.getByText(/\d+ assets · about US\$[\d,]+ · \d+ transactions since March 2021/).waitFor()
        await page.getByText('Largest assets by value').waitFor({ state: 'attached' })
        await page.getByText('Everything adds up since March 2021').waitFor()
        await seeAccessible(page, 'connected')
        await button(page, 'Finish').click()
        await page.getByRole('heading', { name: 'Holdings' }).waitFor()
        assert.equal(new URL(page.url()).origin, here.demo.url)
        await page.getByRole('rowheader', { name: 'BTC' }).waitFor()
        await page.getByText('Swapped').first().waitFor()
        await seeAccessible(page, 'demo')
        const ours = [here.demo.url, here.service.url]
        assert.deepEqual([...origins].toSorted(), ours.toSorted(), 'no other origin receives a request')
        assert.deepEqual(
          (await page.context().cookies()).map(({ name, httpOnly }) => [name, httpOnly]),
          [['northwind', true]],
          'the browser holds one cookie of the application, and nothing of the service',
        )
      }))

    it('says when the account is empty', () =>
      visit(async (page, here) => {
        await begin(page, here)
        await reachChoice(page)
        await chooseKraken(page)
        await sendTestKey(page, 'A new account')
        await page.getByText('An empty account: no assets and no transactions yet.').waitFor()
      }))

    it('a second account is added, one removed again, and both are named before the person leaves', () =>
      visit(async (page, here) => {
        await begin(page, here)
        await reachChoice(page)
        for (const title of ['A new account', 'A new account']) {
          await chooseKraken(page)
          await sendTestKey(page, title)
          await heading(page, /Connected|accounts connected/).waitFor()
          await button(page, 'Add another').click()
        }
        await button(page, 'I have connected everything').click()
        await seeHeading(page, '2 accounts connected')
        await button(page, 'Remove Kraken').first().click()
        await seeHeading(page, 'Connected')
      }))

    it('the last screen says whether the account adds up, and if not, what is missing and why', () =>
      visit(async (page, here) => {
        const { db } = here.service
        await begin(page, here)
        await reachChoice(page)
        await chooseKraken(page)
        await sendTestKey(page, 'A lived-in account')
        await page.getByText('Everything adds up since March 2021').waitFor()
        const blame = async (grade: string, cause: object): Promise<void> => {
          await db.execute('update connections set proof_grade = $1, proved_since = null', [grade])
          const key = "(select asset_key from assets where id = 'crypto:bitcoin')"
          await db.execute(`update proofs set grade = $1, causes = $2 where asset_key = ${key}`, [
            grade,
            JSON.stringify([cause]),
          ])
          await page.reload()
        }
        const before = { startMs: Date.UTC(2021, 0, 1), endMs: Date.UTC(2022, 5, 15), amount: '-0.002' }
        await blame('explained', { ...before, cause: 'coverage_hole' })
        const older = 'Kraken gives no older history.'
        await page.getByText(`0.002 BTC before June 2022 cannot be explained: ${older}`).waitFor()
        await seeAccessible(page, 'connected, with a difference')
        await blame('explained', { ...before, amount: '0', cause: 'coverage_hole' })
        await page.getByText(/between January 2021 and June 2022 was not read/).waitFor()
        await blame('open', { ...before, amount: '1234.5', cause: 'unexplained' })
        await page.getByText('1,234.5 BTC since January 2021 cannot be explained.').waitFor()
        await db.execute("update proofs set causes = '[]'")
        await db.execute("update connections set proof_grade = 'unprovable'")
        await page.reload()
        await page.getByText('because Kraken does not give its whole history').waitFor()
        await db.execute('update connections set proof_grade = null')
        await page.reload()
        await page.getByText('Still checking whether everything adds up').waitFor()
        await db.execute("update connections set proof_grade = 'proved', proved_since = history_from")
        await page.getByText('Everything adds up since March 2021').waitFor()
      }))

    it('earlier connections are shown before they are shared again', () =>
      visit(async (page, here) => {
        const email = newEmail()
        await begin(page, here)
        await reachChoice(page, email)
        await chooseKraken(page)
        await sendTestKey(page, 'A new account')
        await seeHeading(page, 'Connected')
        await button(page, 'Finish').click()
        await page.getByRole('link', { name: 'Connect another' }).click()
        await button(page, 'Continue').click()
        await signIn(page, email)
        await page.getByText('You have connected these before. Northwind will see them too:').waitFor()
        await seeAccessible(page, 'consent with existing connections')
        await button(page, 'Yes, share these too').click()
        await button(page, 'Share only what is already connected').click()
        await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      }))
  })

  describe('refusals of a key', () => {
    it('each has its own text and one remedy, a refused key is cleared, and a valid key still connects', () =>
      visit(async (page, here) => {
        const cases = [
          ['A key that does not exist', 'Kraken does not know this key', 'Enter it again'],
          ['A key with too many rights', 'This key can do more than read', 'I made a new key'],
          ['The exchange is away', 'Kraken cannot be reached right now', 'Try again'],
        ] as const
        await begin(page, here)
        await reachChoice(page)
        await chooseKraken(page)
        for (const [scenario, title, remedy] of cases) {
          const { secret } = await sendTestKey(page, scenario)
          await seeHeading(page, title)
          if (scenario === 'A key with too many rights') {
            await page.getByText('Funds permissions - Withdraw').waitFor()
            await page.getByText('Orders and trades - Create & modify orders').waitFor()
          }
          await seeAccessible(page, title)
          await button(page, remedy).click()
          await seeHeading(page, 'Connect Kraken')
          // A provider that did not answer has said nothing about the key, and shows its secret only once.
          const left = scenario === 'The exchange is away' ? secret : ''
          assert.equal(await page.getByLabel('Private key').inputValue(), left)
        }
        // Leaving the provider clears it.
        await button(page, 'Connect').click()
        await button(page, 'Choose another provider').click()
        await seeHeading(page, 'Where are your assets?')
        await chooseKraken(page)
        assert.equal(await page.getByLabel('Private key').inputValue(), '')
        await sendTestKey(page, 'A new account')
        await seeHeading(page, 'Connected')
      }))

    it('the doctor sees swapped fields, a cut key and recovery words before anything is sent', () =>
      visit(async (page, here) => {
        await begin(page, here)
        await reachChoice(page)
        await chooseKraken(page)
        const { key, secret } = await fillTestKey(page, 'A new account')
        await page.getByLabel('API key').fill(secret)
        await page.getByLabel('Private key').fill(key)
        await page.getByText('The two are swapped').first().waitFor()
        assert.ok(await button(page, 'Connect').isDisabled())
        await button(page, 'Swap them').click()
        assert.equal(await page.getByLabel('API key').inputValue(), key)
        await page.getByLabel('API key').fill(key.slice(1))
        await page.getByLabel('API key').blur()
        await page.getByText('Too short: 55 of 56 characters').waitFor()
        const sent: string[] = []
        page.on('request', (request) => void sent.push(request.postData() ?? ''))
        await page
          .getByLabel('API key')
          .fill('legal winner thank year wave sausage worth useful legal winner thank yellow')
        await page.getByText('These are your recovery words').waitFor()
        await page.getByLabel('API key').press('Enter')
        assert.ok(await button(page, 'Connect').isDisabled())
        assert.ok(
          sent.every((body) => !body.includes('sausage')),
          'the words never leave the page',
        )
      }))

    for (const [how, options] of [
      ['a mouse', {}],
      ['a finger on a phone', { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
    ] as const) {
      it(`with ${how}, a click that leaves a mistyped field works, although the remark then moves what is below`, () =>
        visit(async (page, here) => {
          await begin(page, here)
          await reachChoice(page)
          await chooseKraken(page)
          const field = page.getByLabel('API key')
          await field.click()
          await page.keyboard.type('cut')
          const below = page.getByText('Sandbox: use a test key')
          await below.scrollIntoViewIfNeeded()
          const before = await below.boundingBox()
          assert.ok(before !== null)
          const [x, y] = [before.x + 20, before.y + before.height / 2]
          await ('hasTouch' in options ? page.touchscreen.tap(x, y) : page.mouse.click(x, y))
          await page.getByText('Too short: 3 of 56 characters').waitFor()
          await button(page, /^A new account/).waitFor()
        }, options))
    }
  })

  describe('leaving, coming back and timing out', () => {
    it('a reload in the middle lands on the same screen, and reading has continued', () =>
      visit(async (page, here) => {
        await begin(page, here)
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
        await begin(page, here)
        await reachChoice(page, email)
        await chooseKraken(page)
        await sendTestKey(page, 'A new account')
        await seeHeading(page, 'Connected')
        const again = await page.context().newPage()
        await page.close()
        await begin(again, here)
        await reachChoice(again, email)
        await again.getByText(/You began on .* and connected 1 account/).waitFor()
        await button(again, 'Continue from there').click()
        await seeHeading(again, 'Connected')
        await button(again, 'Finish').click()
        await again.getByText('Kraken').first().waitFor()
      }))

    it('the browser’s Back leads through the screens, not out of the flow', () =>
      visit(async (page, here) => {
        await begin(page, here)
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
        await begin(page, here)
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

    it('finished in one tab is finished in a second one, also after a reload', () =>
      visit(async (page, here) => {
        await begin(page, here)
        await reachChoice(page)
        await chooseKraken(page)
        await sendTestKey(page, 'A new account')
        await seeHeading(page, 'Connected')
        const opened = page.waitForEvent('popup')
        await page.evaluate('void window.open(location.href)')
        const second = await opened
        await seeHeading(second, 'Connected')
        await button(page, 'Finish').click()
        await page.getByRole('heading', { name: 'Holdings' }).waitFor()
        await second.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        await seeHeading(second, 'All done')
        await second.reload()
        await seeHeading(second, 'All done')
      }))

    it('reloaded while “Finish” is under way ends at the application', () =>
      visit(async (page, here) => {
        await begin(page, here)
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
          await begin(page, here)
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
        await begin(page, here)
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
        await begin(page, here)
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
        await begin(page, here)
        await button(page, 'Not now').click()
        await page.getByText('Nothing was shared.').waitFor()
      }))

    it('an expired session is reported as such, and the way back is one click', () =>
      visit(async (page, here) => {
        await begin(page, here)
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

    it('a wrong code shows how many tries are left, without moving the page', () =>
      visit(async (page, here) => {
        await begin(page, here)
        await button(page, 'Continue').click()
        await page.getByLabel('Email address').fill(newEmail())
        await button(page, 'Email me a code').click()
        await button(page, 'Fill in').waitFor()
        const mail = (await page.getByText(/the email says \d{6}/).textContent()) ?? ''
        await page.getByLabel('Six digits from the email').fill(mail.includes('000000') ? '000001' : '000000')
        await page.getByText('These digits are not right. 4 tries left.').waitFor()
        await button(page, 'Fill in').click()
        await seeHeading(page, 'Where are your assets?')
      }))

    it('digits that no longer work are not called wrong', () =>
      visit(async (page, here) => {
        await begin(page, here)
        await button(page, 'Continue').click()
        await page.getByLabel('Email address').fill(newEmail())
        await button(page, 'Email me a code').click()
        await button(page, 'Fill in').waitFor()
        await here.service.db.execute("update sign_in_codes set expires_at = expires_at - interval '1 hour'")
        await button(page, 'Fill in').click()
        await page.getByText('These digits no longer work. Have new ones sent.').waitFor()
      }))

    const loseAnswerToDigits = async (page: Page, here: WidgetWorld): Promise<void> => {
      await begin(page, here)
      await button(page, 'Continue').click()
      await page.getByLabel('Email address').fill(newEmail())
      await button(page, 'Email me a code').click()
      await page.route('**/connect/v1/session/code', lose, { times: 1 })
      const lost = page.waitForEvent('requestfailed')
      await button(page, 'Fill in').click()
      await lost
    }

    it('the right digits are not called wrong when the answer to them was lost', () =>
      visit(async (page, here) => {
        await loseAnswerToDigits(page, here)
        await button(page, 'Fill in').click()
        await seeHeading(page, 'Where are your assets?')
      }))

    it('a person who asks for new digits after the answer to the right ones was lost continues', () =>
      visit(async (page, here) => {
        await loseAnswerToDigits(page, here)
        await button(page, 'Use another address').click()
        await page.getByLabel('Email address').fill(newEmail())
        await button(page, 'Email me a code').click()
        await seeHeading(page, 'Where are your assets?')
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

  describe('repair', () => {
    it('accepts only a key of the same account; then reading continues', () =>
      visit(async (page, here) => {
        const email = newEmail()
        await begin(page, here)
        await reachChoice(page, email)
        await chooseKraken(page)
        const own = await sendTestKey(page, 'A new account')
        await seeHeading(page, 'Connected')
        await button(page, 'Finish').click()
        await page.getByRole('heading', { name: 'Holdings' }).waitFor()
        await here.service.db.execute(
          "update connections set status = 'needs_reauth', status_cause = 'invalid_credentials', status_message = 'needs a new key.'",
        )
        await page.reload()
        await page.getByRole('link', { name: 'Repair' }).click()
        await page.getByText('Use the email address with which you connected this account.').waitFor()
        assert.equal(await button(page, 'Back').count(), 0, 'nothing comes before this screen')
        await signIn(page, newEmail())
        await page.getByText('The account to repair was connected with another email address.').waitFor()
        await seeAccessible(page, 'repair with another address')
        await page.reload()
        await button(page, 'Use another address').click()
        await page.getByText('Use the email address with which you connected this account.').waitFor()
        assert.equal(new URL(page.url()).search, '', 'the address bar is clean again')
        // The person is signed in, so the existing consent applies.
        await signIn(page, email)
        await seeHeading(page, 'Repair Kraken')
        await sendTestKey(page, 'A new account', 'Repair')
        await seeHeading(page, 'This key belongs to another Kraken account')
        await seeAccessible(page, 'account mismatch')
        await button(page, 'Enter another key').click()
        const repaired = await sendTestKey(page, 'A new key of the same account', 'Repair')
        assert.notEqual(repaired.key, own.key)
        await seeHeading(page, 'Kraken is repaired')
        await seeAccessible(page, 'repaired')
        assert.equal(await button(page, 'Not now').count(), 0, 'nothing is left to decline')
        await button(page, 'Finish').click()
        await page.getByText('Holdings').waitFor()
        assert.equal(await page.getByRole('link', { name: 'Repair' }).count(), 0)
      }))
  })

  describe('a login token', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    before(async () => {
      const { service, clientId } = world()
      await createTenants({ db: service.db }).addLoginKey(clientId, publicKey.export({ format: 'jwk' }))
    })

    /** The connect URL of a user whom the application names. */
    function toUrl({ service, widgetUrl, clientId, demo }: WidgetWorld, sub: string, more: object = {}) {
      const challenge = createHash('sha256').update(randomUUID()).digest('base64url')
      const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')
      const iat = Math.floor(Date.now() / 1_000)
      const names = { iss: clientId, sub, aud: service.url, jti: randomUUID(), code_challenge: challenge }
      const text = `${encode({ alg: 'EdDSA' })}.${encode({ ...names, iat, exp: iat + 60 })}`
      const loginToken = `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`
      const request = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: `${demo.url}/callback`,
        scope: 'assets:read claims:read',
        state: randomUUID(),
        code_challenge: challenge,
        code_challenge_method: 'S256',
        login_token: loginToken,
        ...more,
      })
      return { url: `${widgetUrl}?${request.toString()}`, loginToken }
    }

    it('for the repair of another user’s account: no word of email addresses, and no request with a token is kept', () =>
      visit(async (page, here) => {
        const { url, loginToken } = toUrl(here, 'ann-17', { connection_id: 'con_of_another_user' })
        await page.goto(url)
        await page.getByText('The account to repair belongs to another user of Northwind.').waitFor()
        assert.equal(await button(page, 'Use another address').count(), 0)
        await page.getByText('End it whenever you like at Northwind.').waitFor()
        assert.equal(await page.getByText('Not how much you hold.').count(), 0)
        await seeAccessible(page, 'repair of another user’s account')
        const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage }))
        assert.ok(!kept.includes(loginToken))
      }))

    it('of a user who confirmed another address: the right digits are not called wrong', async (t) => {
      const tenants = createTenants({ db: world().service.db })
      await tenants.updateClient(world().clientId, { confirmFirstConsent: true })
      t.after(() => tenants.updateClient(world().clientId, { confirmFirstConsent: false }))
      await visit(async (page, here) => {
        await page.goto(toUrl(here, 'bea-17').url)
        await button(page, 'Continue').waitFor()
        await here.service.db.execute(
          "update users set confirmed_email = 'bea@example.com' where external_user_id = 'bea-17'",
        )
        await button(page, 'Continue').click()
        await signIn(page, newEmail())
        await page.getByText('The digits are right, but this account was not confirmed with this address.').waitFor()
      })
    })
  })

  describe('in a frame', () => {
    it('of the registered page it is shown, even after a reload inside', () =>
      visit(async (page, { demo }) => {
        await page.goto(demo.url)
        await button(page, 'on this page').click()
        await seeHeading(page.frameLocator('iframe'), 'Northwind wants to see your crypto accounts')
        await button(page.frameLocator('iframe'), 'Continue').click()
        await seeHeading(page.frameLocator('iframe'), 'First, who are you?')
        const [, frame] = page.frames()
        assert.ok(frame)
        // The page before the reload shows the same heading.
        await frame.evaluate(`document.body.replaceChildren(), setTimeout(() => location.reload())`)
        await seeHeading(page.frameLocator('iframe'), 'First, who are you?')
      }))

    it('of an unregistered page the browser itself refuses it', async (t) => {
      const { widgetUrl, clientId, demo } = world()
      const query = new URLSearchParams({ client_id: clientId, display: 'iframe', web_message_origin: demo.url })
      const body = `<!doctype html><title>x</title><iframe src="${widgetUrl}?${query.toString().replaceAll('&', '&amp;')}"></iframe>`
      const stranger = await servePages(async () => ({ type: 'text/html', body }))
      t.after(stranger.stop)
      const page = await world().openPage()
      const refused = page.context().waitForEvent('console', (message) => /frame-ancestors/.test(message.text()))
      await page.goto(stranger.url)
      await refused
      await until('the browser’s own page', () => page.frames().find((frame) => /^chrome-error:/.test(frame.url())))
      await page.context().close()
    })
  })
})
