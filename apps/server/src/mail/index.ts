/**
 * Mail: by SMTP (nodemailer), in sandbox mode into a table that testers read, and in live mode to the terminal. Only
 * workers send it. A slow or unreachable mail server must not delay a request, nor reveal by timing which addresses it
 * knows.
 */
import type { Database } from '../db/index.ts'
import * as store from './store.ts'
import type { SandboxMail } from './store.ts'

export type { SandboxMail } from './store.ts'

export interface Mail {
  to: string
  subject: string
  text: string
  /** The connect session or manage session that asked for it. */
  sessionId: string
}

export interface Mailer {
  /** Throws when a retry may help. Returns false when the mail server will never accept the message. */
  send(mail: Mail): Promise<boolean>
}

/** For the whole of a message. A server that answers now and then, but never to the end, must not keep a job either. */
const defaultTimeoutMs = 10_000

export interface SmtpOptions {
  url: string
  from: string
  /** False for a server on this machine. */
  requireTls: boolean
  timeoutMs?: number
}

/** Loaded with the first mail: it costs each start 130 ms of processor time, and most processes send none. */
async function openTransport({ url, requireTls }: SmtpOptions) {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    url,
    // One connection for each message. Only a pool can close the connection of a message that is being sent.
    pool: true,
    maxConnections: 1,
    maxMessages: 1,
    maxRequeues: 0,
    // Without this, nodemailer continues in clear text when the server, or an attacker in between, offers no STARTTLS
    // (RFC 3207 §6), and would send the code and the mailbox's password that way. The URL cannot override it, because
    // config.ts refuses options in it.
    requireTLS: requireTls,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

export function createSmtpMailer(options: SmtpOptions): Mailer {
  const { from, timeoutMs = defaultTimeoutMs } = options
  return {
    async send({ to, subject, text }) {
      const transport = await openTransport(options)
      const close = (): void => transport.close({ force: true })
      const timer = setTimeout(close, timeoutMs)
      try {
        // An object, so that nodemailer uses the address as it is and never parses it as a list.
        await transport.sendMail({
          from,
          to: { name: '', address: to },
          subject,
          text,
          // RFC 3834 §5: suppresses out-of-office replies.
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        })
        return true
      } catch (error) {
        // Nothing of the message was sent, and the next attempt may reach the right server.
        if (codeOf(error) === 'ETLS') throw new Error('the mail server offers no TLS, which is required')
        const reply = replyOf(error)
        // RFC 5321 §4.2.1: 5yz is permanent.
        if (reply !== undefined && reply >= 500) return false
        // The server's own words may repeat the address, and this ends up in the queue's table and in the log.
        throw new Error(`the mail server did not take the message (${reply ?? 'no answer'})`)
      } finally {
        clearTimeout(timer)
        close()
      }
    },
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

function replyOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('responseCode' in error)) return undefined
  return typeof error.responseCode === 'number' ? error.responseCode : undefined
}

/** Live mode has one user, who reads the terminal in which the service was started. */
export function createTerminalMailer(write: (text: string) => void): Mailer {
  return {
    async send({ to, subject }) {
      write(`Sign-in by ${to}: ${subject}.\n`)
      return true
    },
  }
}

export interface SandboxMailbox extends Mailer {
  /** The newest first. */
  list(): Promise<SandboxMail[]>
  findLatest(sessionId: string): Promise<SandboxMail | undefined>
}

const mailsShownMax = 100

export function createSandboxMailbox(db: Database): SandboxMailbox {
  return {
    async send(mail) {
      await store.insertMail(db, mail)
      return true
    },
    list: () => store.listMails(db, mailsShownMax),
    findLatest: (sessionId) => store.findLatestMail(db, sessionId),
  }
}
