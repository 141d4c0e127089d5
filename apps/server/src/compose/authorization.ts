/** Wires how a user authorizes an application: the connect flow, its mail, and the authorization server behind it. */
import { recordAudit } from '../audit.ts'
import { refuseRestless } from '../audit-log/index.ts'
import { randomBytes } from 'node:crypto'
import { isLoopback, type Config } from '../config/config.ts'
import { createConnect, endSessions, type Connect } from '../connect/index.ts'
import type { Connections } from '../connections/index.ts'
import type { Database } from '../db/index.ts'
import { createWindow } from '../limits/index.ts'
import {
  createSandboxMailbox,
  createSmtpMailer,
  createTerminalMailer,
  type Mailer,
  type SandboxMailbox,
} from '../mail/index.ts'
import { queueMatching } from '../match-job.ts'
import { createOauth, type Oauth } from '../oauth/index.ts'
import type { Tenants } from '../tenants/index.ts'
import type { Webhooks } from '../webhooks/index.ts'
import type { Addresses } from './addresses.ts'
import type { EngineDeps } from './engine.ts'

/** How many connections are announced when a grant is revoked; more than any user has. */
const connectionsAnnouncedMax = 1_000

export interface Mail {
  /** Undefined when this installation sends no mail. */
  mailer: Mailer | undefined
  mailbox: SandboxMailbox | undefined
}

export function openMail({ mode, mail }: Config, db: Database): Mail {
  const mailbox = mode === 'sandbox' ? createSandboxMailbox(db) : undefined
  if (mode === 'live') return { mailer: createTerminalMailer((text) => process.stdout.write(text)), mailbox }
  const smtp = mail === undefined ? undefined : openSmtp(mail)
  return { mailer: mailbox ?? smtp, mailbox }
}

function openSmtp({ smtpUrl, from }: NonNullable<Config['mail']>): Mailer {
  return createSmtpMailer({ url: smtpUrl, from, requireTls: !isLoopback(new URL(smtpUrl).hostname) })
}

interface AuthorizationDeps extends Pick<EngineDeps, 'db' | 'clock' | 'keyring' | 'log'> {
  config: Pick<Config, 'signInLimits'>
  tenants: Tenants
  connections: Connections
  webhooks: Webhooks
  addresses: Addresses
  mail: Mail
}

/** An attack refuses many codes in a second, so a process writes one line an hour for each tenant. */
function createTenantLimitWarning({ clock, log }: Pick<AuthorizationDeps, 'clock' | 'log'>) {
  const warned = createWindow({ windowMs: 3_600_000, keysMax: 1_000, now: () => clock.now() })
  return (tenantId: string): void => {
    if (warned.add(tenantId).count > 1) return
    const fix = 'run assay doctor; if these are real users, raise ASSAY_LIMIT_SIGN_IN_CODES_TENANT'
    log.warn({ tenantId, fix }, 'refused a sign-in code because of the limit of the tenant')
  }
}

/** The authorization server, and the connect flow that leads to its codes. */
export function createAuthorization(deps: AuthorizationDeps): { oauth: Oauth; connect: Connect } {
  const { config, db, clock, keyring, tenants, connections, webhooks, addresses, mail } = deps
  const [tokenKey, ...olderTokenKeys] = keyring.derive('token')
  if (tokenKey === undefined) throw new Error('the keyring is empty')
  const oauth = createOauth({
    db,
    tenants,
    keys: { tokenKey, olderTokenKeys },
    issuer: addresses.authUrl,
    widgetUrl: addresses.widgetUrl,
    randomBytes,
    async onCodeRedeemed(tx, { connectSessionId, ...owner }) {
      const { tenantId, userId, clientId, grantId } = owner
      // Codes may have been collected before the limit was reached.
      await refuseRestless(tx, owner)
      const entry = { tenantId, userId, clientId, actor: 'user', action: 'grant.given', subject: grantId } as const
      await recordAudit(tx, entry)
      // Only now can transfers between the provisional and the settled connections be matched.
      if (await connections.settleSession(tx, owner, connectSessionId)) await queueMatching(tx, owner)
    },
    onGrantEnding: endSessions,
    async onGrantRevoked(tx, owner) {
      const page = { limit: connectionsAnnouncedMax, after: undefined }
      for (const { id } of await connections.list(owner, page, tx)) {
        await webhooks.announce(tx, { ...owner, connectionId: id, change: 'revoked' })
      }
    },
  })
  const connect = createConnect({
    db,
    oauth,
    tenants,
    connections,
    keyring,
    issuer: addresses.authUrl,
    widgetUrl: addresses.widgetUrl,
    emailSignIn: mail.mailer !== undefined,
    signInLimits: config.signInLimits,
    onTenantLimit: createTenantLimitWarning(deps),
    now: () => clock.now(),
    randomBytes,
  })
  return { oauth, connect }
}
