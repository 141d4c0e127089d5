/**
 * The example application in a browser, as its README says: connect, holdings, webhooks, two processes, repair, the
 * end.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openAdmin } from '@assay/server/admin'
import { parseConfig } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import type { Page } from 'playwright-core'
import { platformScopes } from '../../apps/server/src/tenants/index.ts'
import { ensureWidgetBuilt } from '../../packages/connect/build.ts'
import { launchBrowser, openContext } from '../widget/browser.ts'
import { reservePort } from '../reserve-port.ts'
import { lastFirst, startTestService, type TestService } from '../service.ts'
import { until } from '../until.ts'
import {
  button,
  chooseKraken,
  newEmail,
  seeAccessible,
  seeHeading,
  sendTestKey,
  signIn,
} from '../widget/widget-person.ts'

/** What the README does with the command line. */
async function register(service: TestService, ownUrl: string): Promise<Record<string, string>> {
  const admin = await openAdmin(parseConfig(service.environment, 'command'), createLog({ level: 'error' }))
  try {
    const { client, secret } = await admin.tenants.createClient('ten_sandbox', {
      name: 'Example',
      redirectUris: [`${ownUrl}/callback`],
      embedOrigins: [ownUrl],
      scopes: platformScopes,
    })
    const webhookSecret = await admin.webhooks.set('ten_sandbox', `${ownUrl}/webhooks`)
    return { CLIENT_ID: client.clientId, CLIENT_SECRET: secret ?? '', WEBHOOK_SECRET: webhookSecret }
  } finally {
    await admin.close()
  }
}

async function startProcess(t: Pick<TestContext, 'after'>, env: Record<string, string>): Promise<void> {
  const main = path.join(import.meta.dirname, '../../examples/application/main.ts')
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    const ended = once(child, 'exit')
    child.kill()
    await ended
  })
  const [line] = (await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])) as [unknown]
  assert.match(String(line), /listens on/)
}

/** Reloads the page until it shows this, because a worker and a webhook update it. */
async function lookUntil(page: Page, selector: string): Promise<void> {
  await until(selector, async () => {
    await page.reload()
    return (await page.locator(selector).count()) > 0 ? true : undefined
  })
}

/** The messages that the application has received, in no particular order. */
async function listMessages(directory: string): Promise<string[]> {
  const folder = path.join(directory, 'messages')
  // A name with a further dot is a file that is still being written.
  const names = (await readdir(folder)).filter((name) => /^[\w-]+\.json$/.test(name))
  const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')))
  return texts.map((text) => (JSON.parse(text) as { text: string }).text)
}

/** A link with the code of a stranger's account, opened in a browser that began no flow (RFC 9700 §4.7). */
async function followStrangersLink(serviceUrl: string, ownUrl: string, clientId: string): Promise<string> {
  const response = await fetch(`${serviceUrl}/sandbox/authorizations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ client_id: clientId, user: 'stranger', providers: [], state: randomUUID() },
      ...{ code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' },
    }),
  })
  const link = new URL(((await response.json()) as { redirect_to: string }).redirect_to)
  link.searchParams.set('state', '')
  const answer = await fetch(link, { redirect: 'manual' })
  assert.equal(answer.status, 303)
  const cookie = answer.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  return (await fetch(ownUrl, { headers: { cookie } })).text()
}

const findSession = async (page: Page): Promise<string | undefined> =>
  (await page.context().cookies()).find(({ name }) => name === 'session')?.value

const ready = (page: Page): Promise<unknown> => page.locator('body[data-ready]').waitFor()

describe('examples/application', () => {
  it('connects in a frame, shows holdings in two processes, repairs in a window and signs out', async (test) => {
    const t = lastFirst(test)
    await ensureWidgetBuilt()
    const service = await startTestService(t)
    const [port, secondPort] = [await reservePort(t), await reservePort(t)]
    const ownUrl = `http://127.0.0.1:${port}`
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-example-'))
    t.after(() => rm(directory, { recursive: true }))
    const registered = await register(service, ownUrl)
    const env = { ...registered, ASSAY_URL: service.url, OWN_URL: ownUrl, DATA_DIRECTORY: directory }
    for (const one of [port, secondPort]) await startProcess(t, { ...env, PORT: String(one) })
    const strangers = await followStrangersLink(service.url, ownUrl, registered['CLIENT_ID'] ?? '')
    assert.match(strangers, /Nothing is connected yet/)
    const browser = await launchBrowser()
    t.after(() => browser.close())
    const context = await openContext(browser, { locale: 'en-GB', reducedMotion: 'reduce' })
    const page = await context.newPage()
    const email = newEmail()

    await context.addCookies([{ name: 'session', value: 'planted', url: ownUrl }])
    await page.goto(ownUrl)
    await ready(page)
    await seeAccessible(page, 'the example before connecting')
    assert.deepEqual(
      await readdir(path.join(directory, 'sessions')),
      [],
      'a visitor who has not connected leaves no file',
    )
    await button(page, 'Connect on this page').click()
    const frame = page.frameLocator('iframe')
    await button(frame, 'Continue').click()
    await signIn(frame, email)
    await seeHeading(frame, 'Where are your assets?')
    await chooseKraken(frame)
    const first = await sendTestKey(frame, 'A lived-in account')
    await seeHeading(frame, 'Connected')
    await button(frame, 'Finish').click()
    await page.getByRole('heading', { name: 'Holdings' }).waitFor()
    assert.notEqual(await findSession(page), 'planted', 'a session that was planted before is worth nothing now')
    await lookUntil(page, 'li[data-status=active]')
    await page.getByRole('cell', { name: 'BTC', exact: true }).waitFor()
    await lookUntil(page, 'p:has-text("Last message from Assay"):has-text(".changed")')
    await seeAccessible(page, 'the example with holdings')

    // The access token has ended, and both processes want the next one.
    const advance = { advance_ms: 901_000 }
    const headers = { 'content-type': 'application/json' }
    await fetch(`${service.url}/sandbox/clock`, { method: 'POST', headers, body: JSON.stringify(advance) })
    const other = await context.newPage()
    await Promise.all([page.goto(ownUrl), other.goto(`http://127.0.0.1:${secondPort}`)])
    for (const one of [page, other]) await one.getByRole('cell', { name: 'BTC', exact: true }).waitFor()

    const { id } = await service.db.row<{ id: string }>(
      "select id from connections where provider_id = 'kraken' and status <> 'removed'",
    )
    await fetch(`${service.url}/sandbox/connections/${id}/keys`, { method: 'DELETE' })
    // The form answers with a new page, and Chromium refuses to reload a page that is just being replaced.
    await Promise.all([page.waitForEvent('load'), button(page, 'Read again now').click()])
    await lookUntil(page, 'li[data-status=needs_reauth]')
    // The page shows the newest message only, and a later one may have arrived already.
    await until('the application was told', async () => {
      const told = await listMessages(directory)
      return told.includes('connection.changed: needs_reauth') ? true : undefined
    })
    await ready(page)
    const [widget] = await Promise.all([page.waitForEvent('popup'), button(page, 'Repair').click()])
    await signIn(widget, email)
    await seeHeading(widget, 'Repair Kraken')
    const second = await sendTestKey(widget, 'A new key of the same account', 'Repair')
    assert.notEqual(second.key, first.key)
    await seeHeading(widget, 'Kraken is repaired')
    await button(widget, 'Finish').click()
    await page.locator('li:not([data-status=needs_reauth])').waitFor()
    await lookUntil(page, 'li[data-status=active]')
    assert.equal(await page.locator('li').count(), 1)

    const forged = await fetch(`${ownUrl}/webhooks`, { method: 'POST', body: '{}' })
    assert.equal(forged.status, 401)
    const long = await fetch(`${ownUrl}/webhooks`, { method: 'POST', body: 'x'.repeat(70_000) })
    assert.equal(long.status, 413)
    await page.getByRole('link', { name: 'See what was read, or end our access' }).click()
    await seeHeading(page, 'Your connected accounts')
    await page.goBack()
    await button(page, 'Sign out').click()
    await page.getByText('Nothing is connected yet.').waitFor()
    assert.deepEqual(await readdir(path.join(directory, 'sessions')), [])
  })
})
