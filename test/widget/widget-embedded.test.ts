/**
 * The widget from another host, in a window and in a frame: from the page that may, and from one that may not. The
 * package is on a plain static host here, so nothing but the widget itself keeps a stranger's frame empty.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { servePages } from './static-host.ts'
import {
  button,
  chooseKraken,
  reachChoice,
  seeAccessible,
  seeHeading,
  sendTestKey,
  type WidgetPage,
} from './widget-person.ts'
import { useWidgetWorld, type WidgetWorld } from './widget-world.ts'

async function connectEmpty(place: WidgetPage): Promise<void> {
  await reachChoice(place)
  await chooseKraken(place)
  await sendTestKey(place, 'A new account')
  await seeHeading(place, 'Connected')
  await button(place, 'Finish').click()
}

function frameRequest({ widgetUrl, clientId }: WidgetWorld, webMessageOrigin: string): string {
  const parameters = {
    client_id: clientId,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    state: '0b7e6a0c-6a3e-4a75-9d6e-0e2b1f3f9a11',
    display: 'iframe',
    web_message_origin: webMessageOrigin,
  }
  return `${widgetUrl}?${new URLSearchParams(parameters).toString()}`
}

describe('the widget, hosted and opened elsewhere', () => {
  const { visit } = useWidgetWorld('static')

  it('by redirect: the package on another origin uses config.json and the integrator’s accent colour', () =>
    visit(async (page, { demo, widgetUrl }) => {
      await page.goto(demo.url)
      await page.getByRole('link', { name: 'Connect your accounts' }).click()
      await seeHeading(page, 'Northwind wants to see your crypto accounts')
      assert.ok(page.url().startsWith(widgetUrl))
      const colour = await page.evaluate(`getComputedStyle(document.querySelector('.button')).backgroundColor`)
      assert.equal(colour, 'rgb(122, 31, 162)')
      await page.emulateMedia({ colorScheme: 'dark' })
      await seeAccessible(page, 'the accent in the dark theme')
      await page.emulateMedia({ colorScheme: null })
      await connectEmpty(page)
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
    }))

  it('in a window: the result comes back by message and the window closes', () =>
    visit(async (page, { demo }) => {
      await page.goto(demo.url)
      const opened = page.waitForEvent('popup')
      await button(page, 'in a window').click()
      const popup = await opened
      const closed = popup.waitForEvent('close')
      await connectEmpty(popup)
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      await closed
    }))

  it('when its window is closed by hand, the page stays as it was', () =>
    visit(async (page, { demo }) => {
      await page.goto(demo.url)
      const opened = page.waitForEvent('popup')
      await button(page, 'in a window').click()
      const popup = await opened
      await seeHeading(popup, 'Northwind wants to see your crypto accounts')
      await popup.close()
      await page.getByRole('link', { name: 'Connect your accounts' }).waitFor()
    }))

  it('in a frame of the registered page: shown, usable, and its result arrives', () =>
    visit(async (page, { demo }) => {
      await page.goto(demo.url)
      await button(page, 'on this page').click()
      const frame = page.frameLocator('iframe')
      await seeHeading(frame, 'Northwind wants to see your crypto accounts')
      await seeAccessible(page, 'frame')
      await connectEmpty(frame)
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
    }))

  /** A page of this origin, which has the loader and records the messages that it receives. */
  async function openWithLoader(page: Page, url: string, { widgetUrl }: WidgetWorld): Promise<void> {
    await page.goto(url)
    await page.evaluate(`(async () => {
      window.heard = []
      window.loader = await import('${widgetUrl}/loader.js')
    })()`)
  }
  const hears = (page: Page, words: string): Promise<unknown> =>
    page.waitForFunction(
      `window.heard.map(({ type, code = '' }) => (type + ' ' + code).trim()).join().includes('${words}')`,
    )
  const openCall = ({ widgetUrl, clientId }: WidgetWorld, options: string, more = ''): string => `
    window.handle = loader.openConnect(
      { widgetUrl: '${widgetUrl}', clientId: '${clientId}', codeChallenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        state: '0b7e6a0c-6a3e-4a75-9d6e-0e2b1f3f9a11', ${more} },
      { ...${options}, onEvent: (event) => heard.push(event) })`

  /** To wait for a page's messages, the browser evaluates text, which the demo's own policy forbids. */
  const whileWatched = { bypassCSP: true }

  it('in an element of the page the frame is as high as its content, even when that changes', () =>
    visit(async (page, here) => {
      await openWithLoader(page, here.demo.url, here)
      await page.evaluate(`document.body.append(document.createElement('section'))`)
      await page.evaluate(openCall(here, `{ display: 'iframe', container: document.querySelector('section') }`))
      const frame = page.frameLocator('iframe')
      await seeHeading(frame, 'Northwind wants to see your crypto accounts')
      const fits = `(() => {
        const { scrollHeight, clientHeight } = document.documentElement
        return Math.abs(scrollHeight - clientHeight) <= 1 && clientHeight > 200 ? clientHeight : 0
      })()`
      const [, inner] = page.frames()
      const first = await inner?.waitForFunction(fits).then((handle) => handle.jsonValue())
      await button(frame, 'Continue').click()
      await seeHeading(frame, 'First, who are you?')
      await inner?.waitForFunction(`${fits} !== 0 && ${fits} !== ${String(first)}`)
      await hears(page, 'ready')
    }, whileWatched))

  it('Escape inside the frame closes the dialog that it is in', () =>
    visit(async (page, here) => {
      await openWithLoader(page, here.demo.url, here)
      await page.evaluate(openCall(here, `{ display: 'iframe' }`))
      const agree = button(page.frameLocator('iframe'), 'Continue')
      await agree.press('Escape')
      await hears(page, 'closed')
      assert.equal(await page.locator('iframe').count(), 0)
    }, whileWatched))

  it('a window that the browser blocks is an error, and not mistaken for a closed one', () =>
    visit(async (page, here) => {
      await openWithLoader(page, here.demo.url, here)
      await page.evaluate(`window.open = () => null`)
      await page.evaluate(openCall(here, `{ display: 'popup' }`))
      await hears(page, 'error popup_blocked')
    }, whileWatched))

  it('a page whose origin is not registered is notified of that, from a window and from a frame', (t) =>
    visit(async (page, here) => {
      const stranger = await servePages(async () => ({ type: 'text/html', body: '<!doctype html><title>s</title>' }))
      t.after(stranger.stop)
      for (const display of ['popup', 'iframe']) {
        await openWithLoader(page, `${stranger.url}/`, here)
        await page.evaluate(openCall(here, `{ display: '${display}' }`))
        await hears(page, 'error origin_not_registered')
        assert.equal(await page.evaluate(`handle.finished.then(({ type }) => type)`), 'error')
      }
    }, whileWatched))

  it('a refused request is an error in the page, and its window does not load the redirect URI as well', () =>
    visit(async (page, here) => {
      await openWithLoader(page, here.demo.url, here)
      const opened = page.waitForEvent('popup')
      await page.evaluate(openCall(here, `{ display: 'popup' }`, `scope: 'no:such'`))
      const popup = await opened
      const loaded: string[] = []
      popup.on('request', (request) => loaded.push(request.url()))
      const closed = popup.waitForEvent('close')
      await hears(page, 'error invalid_request')
      await closed
      assert.deepEqual(
        loaded.filter((url) => url.startsWith(here.demo.url)),
        [],
      )
    }, whileWatched))

  it('in a window, the page is notified when the widget is ready', () =>
    visit(async (page, here) => {
      await openWithLoader(page, here.demo.url, here)
      const opened = page.waitForEvent('popup')
      await page.evaluate(openCall(here, `{ display: 'popup' }`))
      const popup = await opened
      await hears(page, 'ready')
      await popup.close()
      await hears(page, 'closed')
    }, whileWatched))

  it('a second call takes the window of the first one over, and only the second call gets the result', () =>
    visit(async (page, here) => {
      await openWithLoader(page, here.demo.url, here)
      const opened = page.waitForEvent('popup')
      await page.evaluate(openCall(here, `{ display: 'popup' }`))
      const popup = await opened
      await hears(page, 'ready')
      await page.evaluate(`window.first = handle`)
      // The page may be ready before it has loaded, and that event is not the one of the second call.
      await popup.waitForLoadState('load')
      const reloaded = popup.waitForEvent('load')
      await page.evaluate(openCall(here, `{ display: 'popup' }`))
      await reloaded
      await button(popup, 'Not now').click()
      const ends = `Promise.all([first, handle].map(async ({ finished }) => (await finished).type))`
      assert.deepEqual(await page.evaluate(ends), ['closed', 'result'])
    }, whileWatched))

  it('when the user declines in a frame, the page is notified', () =>
    visit(async (page, { demo }) => {
      await page.goto(demo.url)
      await button(page, 'on this page').click()
      await button(page.frameLocator('iframe'), 'Not now').click()
      await page.getByText('Nothing was shared.').waitFor()
    }))

  it('in a frame of an unregistered page nothing is ever shown, whatever origin it claims and however it answers', (t) =>
    visit(async (page, here) => {
      // It answers "welcome" to every message, and sends it twenty times unasked.
      const script = `addEventListener('message', (event) => event.source.postMessage({ marker: 'assay-connect', type: 'welcome', nonce: event.data.nonce }, '*'))
        let count = 0
        setInterval(() => {
          frames[0].postMessage({ marker: 'assay-connect', type: 'welcome' }, '*')
          if ((count += 1) === 20) document.body.dataset.said = 'twenty times'
        }, 20)`
      let claimed = here.demo.url
      const stranger = await servePages(async () => ({
        type: 'text/html',
        body: `<!doctype html><title>s</title><script>${script}</script><iframe src="${frameRequest(here, claimed).replaceAll('&', '&amp;')}"></iframe>`,
      }))
      t.after(stranger.stop)
      for (claimed of [here.demo.url, stranger.url]) {
        const begun = page.waitForResponse((response) => response.url().endsWith('/connect/v1/session'))
        await page.goto(stranger.url)
        await (await begun).finished()
        const frame = page.frameLocator('iframe')
        await page.locator('body[data-said]').waitFor()
        assert.equal(await frame.locator('#root').innerHTML(), '', claimed)
      }
    }))

  it('without registration of the page’s origin, the loader’s window is sent back with the reason', () =>
    visit(async (page, here) => {
      await page.goto(frameRequest(here, 'http://127.0.0.1:9').replace('display=iframe', 'display=popup'))
      await page.getByText('This answer does not belong to your session.').waitFor()
    }))
})
