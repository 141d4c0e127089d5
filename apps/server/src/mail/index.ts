/**
 * Mail, by SMTP (nodemailer); in sandbox mode into a table, where testers read it, and in live mode to the terminal. Only workers send: a mail server that
 * is slow or away must not hold up a request, nor tell by its time whom it knows.
 */
import { createTransport } from 'nodemailer'
import type { Database } from '../db/index.ts'
import * as store from './store.ts'
import type { SandboxMail } from './store.ts'

export type { SandboxMail } from './store.ts'

export interface Mail {
  to: string
  subject: string
  text: string
  /** The session that asked for it. */
  sessionId: string
}

export interface Mailer {
  /** Throws when trying again may help. False: the mail server will never take it. */
  send(mail: Mail): Promise<boolean>
}

const timeoutMs = 15_000

export interface SmtpOptions {
  url: string
  from: string
  /** False for a server on this machine alone. */
  requireTls: boolean
}

export function createSmtpMailer({ url, from, requireTls }: SmtpOptions): Mailer {
  const transport = createTransport({
    url,
    // Without this nodemailer goes on in clear text when the server, or an attacker between, offers no STARTTLS
    // (RFC 3207 §6), and sends the code and the mailbox's password that way. The URL cannot say otherwise: config.ts
    // refuses options in it.
    requireTLS: requireTls,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    async send({ to, subject, text }) {
      try {
        // An object, so that the address is taken as it is and never parsed as a list.
        await transport.sendMail({
          from,
          to: { name: '', address: to },
          subject,
          text,
          // RFC 3834 §5: no out-of-office answers, please.
          headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
        })
        return true
      } catch (error) {
        // Nothing of the message was sent. The server that we wanted to reach may answer next time.
        if (codeOf(error) === 'ETLS') throw new Error('the mail server offers no TLS, which is required')
        const reply = replyOf(error)
        // RFC 5321 §4.2.1: 5yz is permanent.
        if (reply !== undefined && reply >= 500) return false
        // The server's own words may repeat the address, and this ends up in the queue's table and in the log.
        throw new Error(`the mail server did not take the message (${reply ?? 'no answer'})`)
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

/** For the one person of live mode, who reads the terminal that the service was started in. */
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
