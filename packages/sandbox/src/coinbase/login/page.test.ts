import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { coinbaseScenarios } from '../../scenarios/coinbase/index.ts'
import { openSignIn, startCoinbase } from '../../testing/coinbase-client.ts'
import { consentPage, errorPage, signInPage } from './page.ts'

const asked = {
  redirectUri: 'http://127.0.0.1:4000/callback',
  state: 'a state',
  scopes: ['wallet:accounts:read', 'wallet:transactions:read', 'wallet:odd:read'],
  challenge: `S256:${'c'.repeat(43)}`,
}
const signIn = signInPage(asked, coinbaseScenarios)
const consent = consentPage(asked, 'default:nora', 'A lived-in account')

describe("the simulator's pages", () => {
  it('say on each of them that this is a simulator', () => {
    for (const { body } of [signIn, consent, errorPage('x')]) {
      assert.match(body, /<title>.*Coinbase simulator<\/title>/)
      assert.ok(body.includes('not Coinbase'))
    }
  })

  it('sign in: offers every test account and carries the request on', () => {
    for (const { name, title } of coinbaseScenarios) {
      assert.ok(signIn.body.includes(`name="account" value="${name}"`) && signIn.body.includes(title), name)
    }
    for (const [field, value] of [
      ['redirect_uri', asked.redirectUri],
      ['state', asked.state],
      ['scope', asked.scopes.join(' ')],
      ['code_challenge', 'c'.repeat(43)],
      ['code_challenge_method', 'S256'],
    ]) {
      for (const { body } of [signIn, consent]) assert.ok(body.includes(`name="${field}" value="${value}"`), field)
    }
  })

  it('consent: a ticked box for each scope, in words and by name', () => {
    for (const scope of asked.scopes) {
      assert.ok(consent.body.includes(`<input type="checkbox" name="grant" value="${scope}" checked>`), scope)
    }
    assert.ok(consent.body.includes('See your transactions') && consent.body.includes('wallet:odd:read'))
  })

  it('load only their own style sheet, need no script, and cannot be framed', () => {
    for (const { headers = {}, body } of [signIn, consent]) {
      const policy = headers['content-security-policy'] ?? ''
      const [, style = ''] = /<style>([^]*?)<\/style>/.exec(body) ?? []
      assert.ok(policy.includes(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`))
      assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/)
      assert.doesNotMatch(body, /<script|style="|https?:\/\/(?!127\.0\.0\.1)/)
    }
  })

  it('label every field, and name the page, its language and its one heading', () => {
    for (const { body } of [signIn, consent]) {
      const inputs = body.match(/<input type="(radio|checkbox)"/g) ?? []
      assert.equal((body.match(/<label>\s*<input type="(radio|checkbox)"/g) ?? []).length, inputs.length)
      assert.match(body, /<html lang="en">/)
      assert.equal((body.match(/<h1>/g) ?? []).length, 1)
      assert.match(body, /<fieldset>\s*<legend>/)
    }
  })

  it('show what was sent as text', () => {
    const state = `"><script>alert('x')</script>&`
    for (const { body } of [signInPage({ ...asked, state }, []), consentPage(asked, state, state), errorPage(state)]) {
      assert.doesNotMatch(body, /<script/)
    }
  })

  it('lead from one to the other and back to the application', async () => {
    const { sandbox } = await startCoinbase()
    try {
      const client = openSignIn(sandbox)
      const request = await client.ask()
      const second = await client.decide(request, { account: 'default:walk', step: 'consent' })
      const page = await second.text()
      assert.equal(second.status, 200)
      const fields = [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(
        ([, name = '', value = '']): [string, string] => [name, value],
      )
      const answer = await client.decide({ ...request, fields: Object.fromEntries(fields) }, { decision: 'allow' }, [
        'wallet:accounts:read',
      ])
      assert.equal((await client.redeem(request, answer)).scope, 'wallet:accounts:read')
      assert.equal((await client.decide(request, { account: 'nobody', decision: 'allow' })).status, 400)
      assert.equal((await client.decide(request, { account: 'default' })).status, 400)
    } finally {
      await sandbox.close()
    }
  })
})
