/** How the widget learns who the person is: by digits from an email, or by the application's word. */
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import { before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { createTenants } from '../../apps/server/src/tenants/index.ts'
import { beginAtDemo, button, newEmail, seeAccessible, seeHeading, signIn } from './widget-person.ts'
import { useWidgetWorld, type WidgetWorld, lose } from './widget-world.ts'

describe('signing in', () => {
  const { world, visit } = useWidgetWorld()

  describe('by digits', () => {
    it('a wrong code shows how many tries are left, without moving the page', () =>
      visit(async (page, here) => {
        await beginAtDemo(page, here)
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
        await beginAtDemo(page, here)
        await button(page, 'Continue').click()
        await page.getByLabel('Email address').fill(newEmail())
        await button(page, 'Email me a code').click()
        await button(page, 'Fill in').waitFor()
        await here.service.db.execute("update sign_in_codes set expires_at = expires_at - interval '1 hour'")
        await button(page, 'Fill in').click()
        await page.getByText('These digits no longer work. Have new ones sent.').waitFor()
      }))

    const loseAnswerToDigits = async (page: Page, here: WidgetWorld): Promise<void> => {
      await beginAtDemo(page, here)
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
})
