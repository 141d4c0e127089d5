/**
 * The API reference under /docs in a browser: find a call, get a token with one click, send the call, see the answer.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { launchBrowser, openContext } from '../widget/browser.ts'
import { lastFirst, startTestService } from '../service.ts'
import { button, seeAccessible } from '../widget/widget-person.ts'

describe('/docs in sandbox mode', () => {
  it('finds a call, gets a token and sends the call, for a user and for the tenant', async (test) => {
    const t = lastFirst(test)
    const { url } = await startTestService(t)
    const browser = await launchBrowser()
    t.after(() => browser.close())
    const context = await openContext(browser)
    const failures: string[] = []
    context.on('weberror', (error) => failures.push(String(error.error())))
    context.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) failures.push(message.text())
    })
    const page = await context.newPage()
    await page.goto(`${url}/docs`)

    await page.getByLabel('Find a call').fill('accounts/v2/providers catalog')
    const nothing = page.getByText('No call has these words.')
    assert.equal(await nothing.isVisible(), false)
    const links = page.locator('.contents li:visible')
    assert.equal(await links.count(), 1)
    // A phone shows only the parts of the document until the user searches for calls.
    await page.setViewportSize({ width: 390, height: 844 })
    assert.equal(await links.count(), 1)
    await page.setViewportSize({ width: 1280, height: 800 })
    await links.getByRole('link').click()
    await page.getByLabel('Find a call').fill('no such words')
    await nothing.waitFor()

    const hiddenLines = `(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(
      document.querySelector('#makeClaim textarea'))`
    assert.equal(await page.evaluate<number>(hiddenLines), 0)

    await button(page, 'Get a sandbox token').click()
    await page.getByText('Token ready').waitFor()
    for (const [id, expected] of [
      ['listProviders', /^200\s*\{[^]*"provider_id": "kraken"/],
      ['getUserStats', /^200\s*\{[^]*"users": \d/],
      ['getTransaction', /^404\s*\{[^]*"code": "not_found"/],
    ] as const) {
      const call = page.locator(`section#${id} form.try`)
      await call.getByRole('button').click()
      await call.locator('output', { hasText: expected }).waitFor()
    }
    // The authorization server's calls: a code is redeemed once, its refresh token refreshes, and ends when revoked.
    for (const [title, expected] of [
      ['Redeem a code', /^200\s*\{[^]*"refresh_token": "/],
      ['Redeem a code', /^400\s*\{[^]*"error": "invalid_grant"/],
      ['Client credentials', /^200\s*\{[^]*"scope": "enterprise:read"/],
    ] as const) {
      const form = page.locator(`form[aria-label="${title}"]`)
      await form.getByRole('button').click()
      await form.locator('output', { hasText: expected }).waitFor()
    }
    // That code was presented twice, so its tokens have ended; without a token the forms start over.
    for (const form of ['Refresh', 'Introspect', 'Revoke']) {
      await page.locator(`form[aria-label="${form}"] input:is([name=token], [name=refresh_token])`).fill('')
    }
    for (const [title, expected] of [
      ['Refresh', /^200\s*\{[^]*"access_token": "/],
      ['Introspect', /^200\s*\{[^]*"active": true/],
      ['Revoke', /^200/],
      ['Introspect', /^200\s*\{[^]*"active": false/],
    ] as const) {
      const form = page.locator(`form[aria-label="${title}"]`)
      await form.getByRole('button').click()
      await form.locator('output', { hasText: expected }).waitFor()
    }
    // The smallest of the pages has everything that the others have.
    await page.goto(`${url}/docs/v1`)
    const [first] = await page.locator('form.try[data-method=GET][data-access=user]').all()
    await first?.getByRole('button').click()
    await first?.locator('output', { hasText: /^200/ }).waitFor()
    await seeAccessible(page, 'the API reference with an answer')
    assert.deepEqual(failures, [])
  })
})
