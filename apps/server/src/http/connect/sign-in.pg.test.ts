/** Signing in by email, over HTTP. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startConnect, until, type Problem, type TestBrowser } from './test-browser.ts'

function wrongFor(code: string): string {
  return code === '000000' ? '000001' : '000000'
}

describe('signing in by email', async () => {
  // Sandbox mode lifts this limit, so the test sets it.
  const connect = await startConnect({ settings: { ASSAY_LIMIT_SIGN_IN_CODES: '5' } })
  const ask = (browser: TestBrowser, email: string) => browser.call<Problem>('POST', '/session/email', { email })
  const enter = (browser: TestBrowser, code: string) => browser.call<Problem>('POST', '/session/code', { code })

  it('the mail names the application and its tenant, and the address is not echoed as it was typed', async () => {
    const browser = await connect.beginConnectSession()
    const answer = await browser.call('POST', '/session/email', { email: ' Mail.Me@Example.COM ' })
    assert.deepEqual(answer.body, { sent_to: 'mail.me@example.com', resend_after_seconds: 30 })
    const code = await browser.readMail()
    const mailbox = (await (await fetch(`${connect.url}/sandbox/mailbox`)).json()) as {
      data: { to: string; subject: string; text: string; sent_at: string }[]
    }
    const mail = mailbox.data.find(({ to }) => to === 'mail.me@example.com')
    const { client, tenant } = browser.session
    assert.equal(mail?.subject, `${code} is your code for ${client.name}`)
    assert.ok(mail.text.includes(`${client.name}, by ${tenant.name}`))
    assert.match(code, /^\d{6}$/)
  })

  it('a known and an unknown address get the same answer, and the user is created only when the code is entered', async () => {
    const known = await connect.beginConnectSession()
    await known.signIn('known@example.com')
    const answers = []
    for (const email of ['known@example.com', 'unknown@example.com']) {
      const { status, body } = await ask(await connect.beginConnectSession(), email)
      answers.push([status, JSON.stringify(body).replace(email, 'x')])
    }
    assert.deepEqual(answers[0], answers[1])
    assert.equal(await connect.db.maybeRow(`select 1 from users where email = 'unknown@example.com'`), undefined)
  })

  it('after five wrong tries the code is gone, even for the right one', async () => {
    const browser = await connect.beginConnectSession()
    await ask(browser, 'tries@example.com')
    const code = await browser.readMail()
    const fixes = []
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { status, body } = await enter(browser, wrongFor(code))
      assert.equal(status, 400)
      assert.equal(body.errors[0]?.parameter, 'code')
      fixes.push(body.errors[0]?.fix)
    }
    assert.match(fixes[0] ?? '', /4 tries left/)
    assert.match(fixes[3] ?? '', /1 try left/)
    assert.match(fixes[4] ?? '', /new code/)
    const right = await enter(browser, code)
    assert.deepEqual([right.status, right.body.errors[0]?.cause], [400, 'invalid_state'])
  })

  it('five simultaneous tries count as five', async () => {
    const browser = await connect.beginConnectSession()
    await ask(browser, 'parallel@example.com')
    const code = await browser.readMail()
    const guesses = Array.from({ length: 12 }, (_, index) => String(index).padStart(6, '0')).filter(
      (one) => one !== code,
    )
    const answers = await Promise.all(guesses.map((guess) => enter(browser, guess)))
    const told = answers.map(({ body }) => body.errors[0]?.message)
    assert.equal(told.filter((message) => message?.startsWith('is wrong')).length, 5)
    assert.equal((await enter(browser, code)).status, 400)
  })

  it('a code expires after ten minutes', async () => {
    const browser = await connect.beginConnectSession()
    await ask(browser, 'late@example.com')
    const code = await browser.readMail()
    await connect.moveClock(601)
    const { status, body } = await enter(browser, code)
    assert.deepEqual([status, body.errors[0]?.fix], [400, 'Ask for a new code.'])
  })

  it('a code works only in the session that requested it', async () => {
    const browser = await connect.beginConnectSession()
    await ask(browser, 'mine@example.com')
    const code = await browser.readMail()
    const other = await connect.beginConnectSession()
    await ask(other, 'mine@example.com')
    const theirs = await other.readMail()
    assert.equal((await enter(await connect.beginConnectSession(), code)).status, 400)
    // Two codes are equal once in a million runs.
    if (theirs !== code) assert.equal((await enter(other, code)).status, 400)
    assert.equal((await enter(browser, code)).status, 200)
  })

  it('a new code replaces the previous one', async () => {
    const browser = await connect.beginConnectSession()
    await ask(browser, 'twice@example.com')
    const first = await browser.readMail()
    await ask(browser, 'twice@example.com')
    await until(async () => {
      const { data } = (await (await fetch(`${connect.url}/sandbox/mailbox`)).json()) as { data: { to: string }[] }
      return data.filter(({ to }) => to === 'twice@example.com')[1]
    })
    // Two codes are equal once in a million runs.
    if ((await browser.readMail()) !== first) assert.equal((await enter(browser, first)).status, 400)
    assert.equal((await enter(browser, await browser.readMail())).status, 200)
  })

  it('text that is not a code costs no attempt, and spaces in a code do not matter', async () => {
    const browser = await connect.beginConnectSession()
    await ask(browser, 'spaces@example.com')
    const code = await browser.readMail()
    for (const text of ['12345', '1234567', 'abcdef', '１２３４５６'])
      assert.equal((await enter(browser, text)).status, 400)
    assert.equal((await enter(browser, `${code.slice(0, 3)} ${code.slice(3)}`)).status, 200)
  })

  it('mail bombing: five codes an hour for an address, in any spelling and from any session', async () => {
    const spellings = [
      'bomb@example.com',
      'BOMB@example.com',
      'bomb+1@example.com',
      'bomb+2@example.com',
      ' bomb@example.com',
    ]
    for (const spelling of spellings)
      assert.equal((await ask(await connect.beginConnectSession(), spelling)).status, 200)
    const refused = await ask(await connect.beginConnectSession(), 'bomb+3@example.com')
    assert.equal(refused.status, 429)
    assert.ok(Number(refused.headers.get('retry-after')) > 3_000)
    assert.equal(refused.body.errors[0]?.cause, 'rate_limited')
    await connect.moveClock(3_601)
    assert.equal((await ask(await connect.beginConnectSession(), 'bomb@example.com')).status, 200)
  })

  it('mail bombing: ten codes for a session, for any recipients', async () => {
    const browser = await connect.beginConnectSession()
    const seen: number[] = []
    for (let person = 0; person < 11; person += 1) {
      seen.push((await ask(browser, `person-${person}@example.com`)).status)
    }
    assert.deepEqual(seen, [...Array.from({ length: 10 }, () => 200), 429])
  })

  it('after twenty wrong tries a day for an address, over all sessions, not even the right code is accepted', async () => {
    const email = 'guess@example.com'
    const waiting = await connect.beginConnectSession()
    await ask(waiting, email)
    const right = await waiting.readMail()
    for (let round = 0; round < 4; round += 1) {
      const browser = await connect.beginConnectSession()
      await ask(browser, email)
      const code = await browser.readMail()
      for (let attempt = 0; attempt < 5; attempt += 1) await enter(browser, wrongFor(code))
    }
    const refused = await enter(waiting, right)
    assert.deepEqual([refused.status, refused.body.errors[0]?.cause], [429, 'rate_limited'])
    await connect.moveClock(3_601)
    assert.equal((await ask(await connect.beginConnectSession(), email)).status, 429, 'nor is another code sent')
    await connect.moveClock(86_401)
    assert.equal((await ask(await connect.beginConnectSession(), email)).status, 200)
  })

  it('refuses text that is not one address or could be read as several', async () => {
    const browser = await connect.beginConnectSession()
    for (const email of [
      'none',
      'a@b@c',
      'ann@example.com,eve@example.com',
      'x<ann@example.com>',
      'group:ann@example.com;',
      '"ann"@example.com',
      'ann@example.com\r\nBcc: eve@example.com',
      'ann\n@example.com',
      `${'a'.repeat(250)}@example.com`,
    ]) {
      const { status, body } = await ask(browser, email)
      assert.deepEqual([status, body.errors[0]?.parameter], [400, 'email'], email)
    }
  })
})

describe('a tenant whose sign-in codes are used up', async () => {
  const lines: string[] = []
  const connect = await startConnect({
    settings: { ASSAY_LIMIT_SIGN_IN_CODES_TENANT: '1', ASSAY_LOG_LEVEL: 'warn' },
    logTo: (line) => void lines.push(line),
  })
  const ask = async (email: string): Promise<number> => {
    const browser = await connect.beginConnectSession()
    return (await browser.call('POST', '/session/email', { email })).status
  }
  const warnings = (): string[] => lines.filter((line) => line.includes('because of the limit of the tenant'))

  it('is named in the log once an hour, and no address is', async () => {
    assert.deepEqual([await ask('first@example.com'), warnings().length], [200, 0])
    assert.deepEqual([await ask('second@example.com'), await ask('third@example.com')], [429, 429])
    const tenant = await connect.db.row<{ id: string }>(`select tenant_id as id from clients where id = 'cli_demo'`)
    assert.equal(warnings().length, 1)
    assert.ok(warnings()[0]?.includes(tenant.id))
    assert.ok(!lines.join('').includes('@example.com'))
    await connect.moveClock(3_601)
    assert.deepEqual([await ask('first@example.com'), await ask('second@example.com')], [200, 429])
    assert.equal(warnings().length, 2)
  })
})
