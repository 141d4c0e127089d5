/** The connect flow in a real browser, by clicking and typing, from the demo's button to the demo's holdings. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { servePages } from './static-host.ts'
import { until } from '../until.ts'
import {
  beginAtDemo,
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
import { holdReading, useWidgetWorld } from './widget-world.ts'

describe('the connect widget', () => {
  const { world, visit } = useWidgetWorld()

  describe('connecting', () => {
    it('goes from the application’s button to its holdings, and every screen on the way is accessible', () =>
      visit(async (page, here) => {
        const origins = new Set<string>()
        page.on('request', (request) => void origins.add(new URL(request.url()).origin))
        await beginAtDemo(page, here)
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
        await beginAtDemo(page, here)
        await reachChoice(page)
        await chooseKraken(page)
        await sendTestKey(page, 'A new account')
        await page.getByText('An empty account: no assets and no transactions yet.').waitFor()
      }))

    it('a second account is added, one removed again, and both are named before the person leaves', () =>
      visit(async (page, here) => {
        await beginAtDemo(page, here)
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
        await beginAtDemo(page, here)
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
        await beginAtDemo(page, here)
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
          ['A key that does not exist', 'Kraken does not accept this key', 'Enter it again'],
          ['A key with too many rights', 'This key can do more than read', 'I made a new key'],
          ['The exchange is away', 'Kraken cannot be reached right now', 'Try again'],
        ] as const
        await beginAtDemo(page, here)
        await reachChoice(page)
        await chooseKraken(page)
        for (const [scenario, title, remedy] of cases) {
          const { secret } = await sendTestKey(page, scenario)
          await seeHeading(page, title)
          if (scenario === 'A key that does not exist') {
            // Some exchanges answer the same when the key is bound to addresses, or when only the passphrase is wrong.
            await page.getByText('or it works only from certain IP addresses').waitFor()
          }
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
        await beginAtDemo(page, here)
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
          await beginAtDemo(page, here)
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

  describe('repair', () => {
    it('accepts only a key of the same account; then reading continues', () =>
      visit(async (page, here) => {
        const email = newEmail()
        await beginAtDemo(page, here)
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

    it('of an account connected here can wait, so that the person keeps it and can finish', () =>
      visit(async (page, here) => {
        await beginAtDemo(page, here)
        await reachChoice(page)
        await chooseKraken(page)
        await sendTestKey(page, 'A new account')
        await seeHeading(page, 'Connected')
        await here.service.db.execute(
          "update connections set status = 'needs_reauth', status_cause = 'invalid_credentials', status_message = 'needs a new key.'",
        )
        await page.reload()
        await button(page, 'Repair').click()
        await seeHeading(page, 'Kraken no longer accepts the key')
        await seeAccessible(page, 'a connected account needs repair')
        await button(page, 'Repair it later').click()
        await seeHeading(page, 'Connected')
        await page.getByText('Needs your attention').waitFor()
        await button(page, 'Finish').click()
        await page.getByRole('link', { name: 'Repair' }).waitFor()
      }))
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
