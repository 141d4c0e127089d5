import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { harborScenarios } from '../scenarios/harbor/index.ts'
import { errorPage, signInPage } from './page.ts'

const asked = {
  redirectUri: 'http://127.0.0.1:4000/callback',
  challenge: 'c'.repeat(43),
  state: 'a state',
  scope: 'read',
}
const { headers = {}, body } = signInPage({ asked, scenarios: harborScenarios })

describe("Harbor's page", () => {
  it('offers every test account, says what may be done, and carries the request on', () => {
    for (const { name, title } of harborScenarios) {
      assert.ok(body.includes(`name="account" value="${name}"`) && body.includes(title), name)
    }
    assert.ok(body.includes('See your balances') && !body.includes('Place trades'))
    assert.ok(signInPage({ asked: { ...asked, scope: 'read trade' }, scenarios: [] }).body.includes('Place trades'))
    for (const [field, value] of [
      ['redirect_uri', asked.redirectUri],
      ['state', asked.state],
      ['code_challenge', asked.challenge],
    ]) {
      assert.ok(body.includes(`name="${field}" value="${value}"`), field)
    }
  })

  it('lets in nothing but its own style sheet, and nobody may frame it', () => {
    const policy = headers['content-security-policy'] ?? ''
    const [, style = ''] = /<style>([^]*?)<\/style>/.exec(body) ?? []
    const digest = createHash('sha256').update(style).digest('base64')
    assert.ok(policy.includes(`style-src 'sha256-${digest}'`))
    assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/)
    assert.doesNotMatch(body, /<script|style="|https?:\/\/(?!127\.0\.0\.1)/)
  })

  it('shows what was sent as text', () => {
    const state = `"><script>alert('x')</script>&`
    const page = signInPage({ asked: { ...asked, state }, scenarios: [] })
    assert.doesNotMatch(page.body, /<script/)
    assert.ok(page.body.includes('&#34;&#62;&#60;script'))
    assert.doesNotMatch(errorPage('<b>').body, /<b>/)
  })
})
