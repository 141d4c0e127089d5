/**
 * Several requests in one tab, in a real browser: their entries share the tab's history, and its storage. What a person
 * agreed to for one application must not count for another.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { createTenants, platformScopes } from '../../apps/server/src/tenants/index.ts'
import { servePages } from './static-host.ts'
import {
  beginAtDemo,
  button,
  chooseKraken,
  reachChoice,
  seeHeading,
  sendTestKey,
  signIn,
  newEmail,
} from './widget-person.ts'
import { useWidgetWorld } from './widget-world.ts'

const northwind = 'Northwind wants to see your crypto accounts'
const ledgerly = 'Ledgerly wants to see your crypto accounts'
const whoAreYou = 'First, who are you?'

/** Answers the widget in its frame as the loader does. */
const embeddingPage = `<!doctype html><title>e</title><script>
  addEventListener('message', ({ data, source, origin }) => {
    if (data.type !== 'hello') return
    source.postMessage({ marker: 'assay-connect', type: 'welcome', nonce: data.nonce, fitsContent: false }, origin)
  })
</script><iframe width="600" height="800"></iframe>`

describe('several requests in one tab', () => {
  const { world, visit } = useWidgetWorld()

  /** Another application, of another tenant. */
  async function createOther(origin: string): Promise<{ clientId: string; toUrl: (more?: object) => string }> {
    const tenants = createTenants({ db: world().service.db })
    const { tenantId } = await tenants.createTenant('Ledgerly')
    const redirectUri = `${origin}/back`
    const { client } = await tenants.createClient(tenantId, {
      ...{ name: 'Ledgerly', redirectUris: [redirectUri], embedOrigins: [origin], scopes: platformScopes },
    })
    const { clientId } = client
    const request = {
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    }
    const toUrl = (more = {}): string =>
      `${world().widgetUrl}?${new URLSearchParams({ ...request, state: randomUUID(), ...more }).toString()}`
    return { clientId, toUrl }
  }

  /** Each session of a client: what it asks for, whether that was consented to, and whether its user is known. */
  function listConsents(clientId: string): Promise<{ scopes: string[]; given: boolean; known: boolean }[]> {
    return world().service.db.rows(
      `select scopes, consent is not null as given, user_key is not null as known
       from connect_sessions where client_id = $1 order by created_at`,
      [clientId],
    )
  }

  async function seeNoneGiven(clientId: string): Promise<void> {
    const consents = await listConsents(clientId)
    assert.deepEqual(
      consents.map(({ given, known }) => [given, known]),
      [[false, false]],
    )
  }

  it('Back from another application’s request leads to the screens of the first one, and agrees to nothing', () =>
    visit(async (page, here) => {
      const other = await createOther('http://127.0.0.1:9')
      await beginAtDemo(page, here)
      await reachChoice(page)
      await chooseKraken(page)
      await page.goto(other.toUrl())
      await seeHeading(page, ledgerly)
      await page.goBack()
      await seeHeading(page, 'Connect Kraken')
      await page.goBack()
      await seeHeading(page, 'Where are your assets?')
      await page.reload()
      await seeHeading(page, 'Where are your assets?')
      await page.goForward()
      await sendTestKey(page, 'A new account')
      await seeHeading(page, 'Connected')
      await button(page, 'Finish').click()
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      await seeNoneGiven(other.clientId)
    }))

  it('Back to a request that is finished says so, although another application’s is open', () =>
    visit(async (page, here) => {
      const other = await createOther('http://127.0.0.1:9')
      await beginAtDemo(page, here)
      await reachChoice(page)
      await chooseKraken(page)
      await sendTestKey(page, 'A new account')
      await seeHeading(page, 'Connected')
      await button(page, 'Finish').click()
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      await page.goto(other.toUrl())
      await seeHeading(page, ledgerly)
      await page.goBack()
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      await page.goBack()
      await seeHeading(page, 'All done')
      await page.getByRole('link', { name: 'Back to Northwind' }).waitFor()
    }))

  it('“Continue” to one application is not taken for an agreement with the next, whichever way the person goes', () =>
    visit(async (page, here) => {
      const other = await createOther('http://127.0.0.1:9')
      await beginAtDemo(page, here)
      await button(page, 'Continue').click()
      await seeHeading(page, whoAreYou)
      await page.goto(other.toUrl())
      await seeHeading(page, ledgerly)
      await page.goBack()
      await seeHeading(page, whoAreYou)
      await page.getByText('Requested by Northwind').waitFor()
      await page.goForward()
      await seeHeading(page, ledgerly)
      await page.goBack()
      await seeHeading(page, whoAreYou)
      await page.goBack()
      await seeHeading(page, northwind)
      await page.goForward()
      await signIn(page, newEmail())
      await seeHeading(page, 'Where are your assets?')
      await seeNoneGiven(other.clientId)
      assert.equal((await listConsents(here.clientId)).at(-1)?.given, true)
    }))

  it('an entry whose session the tab no longer has shows no other session', () =>
    visit(async (page, here) => {
      const other = await createOther('http://127.0.0.1:9')
      await beginAtDemo(page, here)
      await button(page, 'Continue').click()
      await seeHeading(page, whoAreYou)
      await page.evaluate(`sessionStorage.clear()`)
      await page.goto(other.toUrl())
      await seeHeading(page, ledgerly)
      await page.goBack()
      await seeHeading(page, 'This page has expired')
      await page.goBack()
      await seeHeading(page, 'This page has expired')
      await page.goForward()
      await page.goForward()
      await seeHeading(page, ledgerly)
    }))

  it('a page that frames the widget cannot carry an agreement from a narrow request over to a wide one', (t) =>
    visit(async (page) => {
      const host = await servePages(async () => ({ type: 'text/html', body: embeddingPage }))
      t.after(host.stop)
      const other = await createOther(host.url)
      const framed = { display: 'iframe', web_message_origin: host.url }
      const open = (scope: string): Promise<void> =>
        page.evaluate(`document.querySelector('iframe').src = ${JSON.stringify(other.toUrl({ ...framed, scope }))}`)
      const frame = page.frameLocator('iframe')
      await page.goto(host.url)
      await open('providers:read')
      await seeHeading(frame, ledgerly)
      await button(frame, 'Continue').click()
      await seeHeading(frame, whoAreYou)
      await open('providers:read providers:write')
      await seeHeading(frame, ledgerly)
      await page.evaluate(`history.back()`)
      await seeHeading(frame, whoAreYou)
      await page.evaluate(`history.back()`)
      await seeHeading(frame, ledgerly)
      await page.evaluate(`history.forward()`)
      await signIn(frame, newEmail())
      await seeHeading(frame, 'Where are your assets?')
      assert.deepEqual(await listConsents(other.clientId), [
        { scopes: ['providers:read'], given: true, known: true },
        { scopes: ['providers:read', 'providers:write'], given: false, known: false },
      ])
    }))
})
