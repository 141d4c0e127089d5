/** Sending by SMTP, to a test server that speaks just enough of RFC 5321. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { describe, it, type TestContext } from 'node:test'
import { createSmtpMailer, type Mailer } from './index.ts'

interface TestSmtp {
  mailer: Mailer
  /** What the clients sent, line by line. */
  heard: string[]
}

async function startSmtp(t: TestContext, replies: Record<string, string> = {}, requireTls = false): Promise<TestSmtp> {
  const heard: string[] = []
  const server = createServer((socket) => {
    let inData = false
    const reply = (command: string, usual: string): void => void socket.write(`${replies[command] ?? usual}\r\n`)
    reply('greeting', '220 test')
    createInterface({ input: socket }).on('line', (line) => {
      heard.push(line)
      if (inData) {
        if (line !== '.') return
        inData = false
        return reply('sent', '250 ok')
      }
      const command = line.split(/[ :]/, 1)[0]?.toUpperCase() ?? ''
      if (command === 'EHLO') return void socket.write('250-test\r\n250 SMTPUTF8\r\n')
      inData = command === 'DATA'
      reply(command, command === 'DATA' ? '354 go on' : command === 'QUIT' ? '221 bye' : '250 ok')
    })
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const from = 'Assay <connect@example.com>'
  return { mailer: createSmtpMailer({ url: `smtp://127.0.0.1:${port}`, from, requireTls }), heard }
}

const mail = {
  to: 'ann@example.com',
  subject: '123456 is your code for Büro & Co',
  text: 'Your code is 123456.',
  sessionId: 's',
}

describe('mail by SMTP', () => {
  it('goes to one address, from the configured sender, and suppresses automatic replies', async (t) => {
    const { mailer, heard } = await startSmtp(t)
    assert.equal(await mailer.send(mail), true)
    assert.deepEqual(
      heard.filter((line) => /^(MAIL FROM|RCPT TO)/.test(line)).map((line) => line.split(' SMTPUTF8')[0]),
      ['MAIL FROM:<connect@example.com>', 'RCPT TO:<ann@example.com>'],
    )
    assert.ok(heard.includes('Auto-Submitted: auto-generated'))
    assert.ok(heard.includes('Your code is 123456.'))
  })

  it('STARTTLS stripping: nothing is sent to a server that offers no TLS (RFC 3207 §6)', async (t) => {
    const { mailer, heard } = await startSmtp(t, { STARTTLS: '502 not implemented' }, true)
    await assert.rejects(mailer.send(mail), /offers no TLS/)
    assert.deepEqual(
      heard.filter((line) => /^(MAIL|RCPT|AUTH|DATA)/.test(line)),
      [],
    )
  })

  it('header injection: a line break in a name stays inside the subject', async (t) => {
    const { mailer, heard } = await startSmtp(t)
    await mailer.send({ ...mail, subject: 'code for App\r\nBcc: eve@example.com' })
    assert.equal(heard.filter((line) => line.startsWith('RCPT TO')).length, 1)
    assert.equal(
      heard.some((line) => line.startsWith('Bcc:')),
      false,
    )
  })

  it('an address that the server refuses permanently is not retried (RFC 5321 §4.2.1)', async (t) => {
    const { mailer } = await startSmtp(t, { RCPT: '550 5.1.1 <ann@example.com> unknown' })
    assert.equal(await mailer.send(mail), false)
  })

  it('a temporary failure is thrown, without the address or the server’s text', async (t) => {
    const { mailer } = await startSmtp(t, { RCPT: '451 4.3.0 <ann@example.com> try later' })
    await assert.rejects(mailer.send(mail), (error: Error) => {
      assert.match(error.message, /\(451\)/)
      assert.equal(error.message.includes('ann@'), false)
      return true
    })
  })

  it(
    'a server that goes on answering without an end is a temporary failure, and its connection is closed',
    {
      timeout: 30_000,
    },
    async (t) => {
      const closed = Promise.withResolvers<void>()
      const server = createServer((socket) => {
        socket.write('220 test\r\n')
        const answering = setInterval(() => socket.write('250-wait\r\n'), 10)
        socket.on('error', () => undefined).on('data', () => undefined)
        socket.on('close', () => (clearInterval(answering), closed.resolve()))
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      t.after(() => server.close())
      const { port } = server.address() as AddressInfo
      const options = { url: `smtp://127.0.0.1:${port}`, from: 'a@example.com', requireTls: false, timeoutMs: 200 }
      await assert.rejects(createSmtpMailer(options).send(mail), /no answer/)
      await closed.promise
    },
  )

  it('an unreachable server is a temporary failure', async () => {
    const mailer = createSmtpMailer({
      url: 'smtp://user:secret@127.0.0.1:1',
      from: 'a@example.com',
      requireTls: false,
    })
    await assert.rejects(mailer.send(mail), (error: Error) => {
      assert.equal(`${error.message} ${String(error.cause)}`.includes('secret'), false)
      return true
    })
  })
})
