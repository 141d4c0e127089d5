/** The same flow on a small phone, in dark mode, with only a keyboard and in another language; and the manage page. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { until } from '../until.ts'
import {
  beginAtDemo,
  button,
  chooseKraken,
  heading,
  newEmail,
  reachChoice,
  seeAccessible,
  seeHeading,
  sendTestKey,
  signIn,
} from './widget-person.ts'
import { useWidgetWorld, lose } from './widget-world.ts'

const tabsMax = 40

/** Presses only the Tab key, until the focus is on the element with this name. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const wanted = page.getByRole('button', { name }).or(page.getByRole('link', { name })).or(page.getByLabel(name))
  for (let count = 0; count < tabsMax; count += 1) {
    await page.keyboard.press('Tab')
    if ((await wanted.and(page.locator(':focus')).count()) > 0) return
  }
  assert.fail(`Tab never reached ${String(name)}`)
}

/** Waits until it has taken the focus; an earlier key press would be lost. */
async function seeFocus(page: Page, element: Locator): Promise<void> {
  await element.and(page.locator(':focus')).waitFor()
}

async function seeNoSidewaysScroll(page: Page, screen: string): Promise<void> {
  const [content, window] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]')
  assert.ok(content <= window, `${screen}: ${content} px in ${window} px`)
}

/** The parts of a question are below each other, and its buttons have room for their words. */
async function seeQuestion(page: Page): Promise<void> {
  const question = page.getByRole('dialog')
  const boxOf = async (part: Locator): Promise<{ y: number; width: number; height: number }> =>
    (await part.boundingBox()) ?? assert.fail('a part of the question is not shown')
  const title = await boxOf(question.getByRole('heading'))
  const text = await boxOf(question.getByRole('paragraph'))
  assert.ok(text.y >= title.y + title.height, 'the text is below the title')
  for (const one of await question.getByRole('button').all()) {
    const box = await boxOf(one)
    assert.ok(box.y >= text.y + text.height, 'the buttons are below the text')
    assert.ok(box.height < 60, `a button has one line, not ${box.height} px`)
  }
}

describe('the widget under other conditions', () => {
  const { visit } = useWidgetWorld()

  it('on a phone of 320 px in dark mode, every screen fits and has enough contrast', () =>
    visit(
      async (page, { demo }) => {
        const look = async (screen: string): Promise<void> => {
          await seeNoSidewaysScroll(page, screen)
          await seeAccessible(page, `${screen}, dark, 320 px`)
        }
        await page.goto(demo.url)
        await page.getByRole('link', { name: 'Connect your accounts' }).click()
        await seeHeading(page, 'Northwind wants to see your crypto accounts')
        await look('consent')
        await reachChoice(page)
        await look('choose')
        await page.getByRole('combobox').fill('nobody at all')
        await page.getByText('Nothing found for “nobody at all”').waitFor()
        await look('nothing found')
        await chooseKraken(page)
        await look('credentials')
        await sendTestKey(page, 'A key with too many rights')
        await seeHeading(page, 'This key can do more than read')
        await look('trouble')
        await button(page, 'I made a new key').click()
        await sendTestKey(page, 'A lived-in account')
        await seeHeading(page, 'Connected')
        await look('connected')
        await button(page, 'Not now').click()
        await page.getByRole('dialog', { name: 'Leave without finishing?' }).waitFor()
        await look('question')
        await seeQuestion(page)
        await button(page, 'Stay').click()
        await button(page, 'Finish').click()
        await page.getByRole('rowheader', { name: 'BTC' }).waitFor()
        await look('demo')
      },
      { viewport: { width: 320, height: 640 }, colorScheme: 'dark' },
    ))

  it('the list of providers shows that it goes on: its edge cuts a row', () =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await reachChoice(page)
      await page.getByRole('option').first().waitFor()
      const list = await page.getByRole('listbox').boundingBox()
      const edge = (list?.y ?? 0) + (list?.height ?? 0)
      const rows = await Promise.all((await page.getByRole('option').all()).map((row) => row.boundingBox()))
      const [cut] = rows.flatMap((row) =>
        row !== null && row.y < edge && edge < row.y + row.height
          ? [Math.min(edge - row.y, row.y + row.height - edge)]
          : [],
      )
      assert.ok(cut !== undefined && cut > 12, `enough of a row is shown and hidden: ${cut} px`)
    }))

  it('with the keyboard alone, from the application and back', () =>
    visit(async (page, { demo }) => {
      await page.goto(demo.url)
      await tabTo(page, 'Connect your accounts')
      await page.keyboard.press('Enter')
      await seeFocus(page, heading(page, 'Northwind wants to see your crypto accounts'))
      await tabTo(page, 'Continue')
      await page.keyboard.press('Enter')
      await seeHeading(page, 'First, who are you?')
      await seeFocus(page, page.getByLabel('Email address'))
      await page.keyboard.type(newEmail())
      await page.keyboard.press('Enter')
      await button(page, 'Fill in').waitFor()
      await seeFocus(page, page.getByLabel('Six digits from the email'))
      await tabTo(page, 'Fill in')
      await page.keyboard.press('Enter')
      await page.getByRole('option', { name: 'Kraken' }).waitFor()
      await seeFocus(page, page.getByRole('combobox'))
      await page.keyboard.type('kra')
      await page.keyboard.press('ArrowDown')
      await page.keyboard.press('Enter')
      await seeFocus(page, heading(page, 'Connect Kraken'))
      await tabTo(page, 'Private key')
      await page.getByText('Sandbox: use a test key').focus()
      await page.keyboard.press('Enter')
      await tabTo(page, /^A new account/)
      await page.keyboard.press('Enter')
      await page.getByText('Looks right').nth(1).waitFor()
      await page.getByLabel('Private key').focus()
      await page.keyboard.press('Enter')
      await seeFocus(page, heading(page, 'Connected'))
      await tabTo(page, 'Finish')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
    }))

  it('uses the language of the browser', () =>
    visit(
      async (page, { demo }) => {
        await page.goto(`${demo.url}/connect`)
        await seeHeading(page, 'Northwind möchte Ihre Krypto-Konten sehen')
        assert.equal(await page.locator('html').getAttribute('lang'), 'de-CH')
        await seeAccessible(page, 'consent in German')
      },
      { locale: 'de-CH' },
    ))

  it('manage: shows who may read what and since when, and lets the user remove, revoke and delete everything', () =>
    visit(async (page, { demo, clientId, service }) => {
      const email = newEmail()
      /** In the middle of a long history, and at its end. */
      const setReading = (status: 'syncing' | 'active'): Promise<unknown> =>
        service.db.execute(
          `update connections set status = $1, record_count = 41250
           where id = (select id from connections order by created_at desc limit 1)`,
          [status],
        )
      await page.goto(`${demo.url}/connect`)
      await reachChoice(page, email)
      await chooseKraken(page)
      await sendTestKey(page, 'A new account')
      await seeHeading(page, 'Connected')
      await page.getByText('An empty account').waitFor()
      await setReading('syncing')
      await page.reload()
      await page.getByText('still reading the history · 41,250 entries so far').waitFor()
      await setReading('active')
      await page.getByText('An empty account').waitFor()
      await button(page, 'Finish').click()
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()

      await page.getByRole('link', { name: 'Manage access' }).click()
      await seeHeading(page, 'Your connected accounts')
      await seeAccessible(page, 'manage, sign in')
      await signIn(page, email)
      await page.getByText(`Signed in as ${email}`).waitFor()
      await page.reload()
      await page.getByText('up to date · 0 transactions').waitFor()
      await setReading('syncing')
      await page.reload()
      await page.getByText('reading history · 41,250 entries so far').waitFor()
      await setReading('active')
      await page.getByText('up to date · 0 transactions').waitFor()
      await page.getByText(/since .* until /).waitFor()
      // A second, narrower consent leaves the tokens of the first their rights, and the page shows them.
      await service.db.execute(
        `update grants set scopes = '{assets:read}' from users where users.user_key = grants.user_key and email = $1`,
        [email],
      )
      await page.reload()
      await page.getByText('Transactions of the accounts you connect, past and new.').waitFor()
      await page.getByText(/^Connect further accounts for you, and remove connected accounts/).waitFor()
      await service.db.execute(
        `insert into audit_entries (tenant_id, at, actor, action, subject, fields, user_id, client_id, provider_id)
         select tenant_id, $2, 'application', 'connection.removed', 'con_x', '{}', id, $3, provider_id
         from users, (values ('solana', 1), ('bitcoin', 60)) as removed (provider_id, times), generate_series(1, times)
         where email = $1`,
        [email, service.db.now(), clientId],
      )
      await page.reload()
      const events = page.getByRole('listitem').filter({ hasText: 'removed (by an application)' })
      await events.filter({ hasText: /^Bitcoin .* · 60 times$/ }).waitFor()
      await events.filter({ hasText: /^Solana (?!.* times)/ }).waitFor()
      assert.equal(await events.count(), 2)
      const insertClaim = (audience: string): Promise<unknown> =>
        service.db.execute(
          `insert into claims (user_key, grant_id, id, claim, asset_id, amount, as_of, holds, grade, audience, made_at)
           select user_key, g.id, $2, 'holds_at_least', 'crypto:bitcoin', 2, '2026-03-02T10:11:00Z', true, 'proved', $2, $3
           from grants g join users using (user_key) where email = $1`,
          [email, audience, service.db.now()],
        )
      const recipient = `https://lender.example/${'a'.repeat(200)}`
      await insertClaim(recipient)
      await insertClaim(clientId)
      await page.reload()
      await page.getByText('What it asked').click()
      const claims = page.getByRole('listitem').filter({ hasText: 'Do you hold at least 2 bitcoin? Yes' })
      await claims.getByText(`For ${recipient}`, { exact: true }).waitFor()
      await claims.getByText('For Northwind', { exact: true }).waitFor()
      assert.equal(await claims.getByText(/^As of .*2026/).count(), 2)
      await seeNoSidewaysScroll(page, 'manage, a long recipient')
      await seeAccessible(page, 'manage')
      await button(page, 'Remove Kraken').click()
      await seeAccessible(page, 'manage, question')
      await seeQuestion(page)
      await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
      await page.getByText('No account is connected.').waitFor()
      // Reads are recorded some seconds late.
      const reads = `select from grant_accesses join users using (user_key) where email = $1 and endpoint = 'listAssets'`
      await until('the demo’s reads are recorded', () => service.db.maybeRow(reads, [email]))
      // The service has done it, and the browser does not hear of it; then it has been done already.
      const revoke = async (): Promise<void> => {
        await button(page, 'Revoke Northwind').click()
        await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
      }
      await page.route('**/connect/v1/me/grants/*', lose, { times: 1 })
      await revoke()
      await page.getByText('Check your connection to the internet').waitFor()
      await revoke()
      await page.getByText('No application may read your accounts.').waitFor()
      assert.equal(await page.getByText('Check your connection to the internet').count(), 0)
      const ended = page.locator('section').filter({ hasText: 'Access that has ended' })
      await ended.getByText(/^from .* until /).waitFor()
      await ended.getByText('Ended by you').waitFor()
      await ended.getByText('What was read, and when').click()
      await ended
        .getByText(/^balances · \d+ times?$/)
        .first()
        .waitFor()
      await seeAccessible(page, 'manage, ended')
      await button(page, 'Delete everything').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete everything', exact: true }).click()
      await seeHeading(page, 'Everything was deleted')
      await page.goto(demo.url)
      await page.getByText('Northwind may no longer read your accounts.').waitFor()
    }))

  it('manage: signing out ends the session at the service, not only in the tab', () =>
    visit(async (page, { widgetUrl, clientId, service }) => {
      const email = newEmail()
      const countSessions = async (): Promise<number> => {
        const of = 'from manage_sessions join users using (user_key) where email = $1'
        return (await service.db.row<{ count: number }>(`select count(*)::int ${of}`, [email])).count
      }
      await page.goto(`${widgetUrl}/manage?client_id=${clientId}`)
      await signIn(page, email)
      await page.getByText(`Signed in as ${email}`).waitFor()
      assert.equal(await countSessions(), 1)
      await button(page, 'Sign out').click()
      await page.getByText(`Signed in as ${email}`).waitFor({ state: 'detached' })
      assert.equal(await countSessions(), 0)
    }))

  it('manage: looks for the mailed digits in a sandbox alone', () =>
    visit(async (page, { widgetUrl, clientId }) => {
      let looks = 0
      await page.route('**/connect/v1/me/sandbox', (route) => ((looks += 1), route.fulfill({ status: 404 })))
      await page.route('**/connect/v1/me/session', async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, json: { ...((await response.json()) as object), sandbox: false } })
      })
      await page.goto(`${widgetUrl}/manage?client_id=${clientId}`)
      await page.getByLabel('Email address').fill(newEmail())
      await button(page, 'Email me a code').click()
      await page.getByLabel('Six digits from the email').fill('000000')
      await page.getByText('These digits are not right.').waitFor()
      assert.equal(looks, 0)
    }))
})
