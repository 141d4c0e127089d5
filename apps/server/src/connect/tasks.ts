/** What workers do for the connect flow: mail codes, and clear away what has lapsed. */
import type { Database } from '../db/index.ts'
import type { Handler } from '../jobs/index.ts'
import type { Mailer } from '../mail/index.ts'
import type { Tenants } from '../tenants/index.ts'
import * as manage from './manage/manage-store.ts'
import * as signIns from './sign-in/sign-in-store.ts'
import { findSignInCodeToMail, type SignInCodeDeps, type SignInPurpose } from './sign-in/sign-in.ts'
import * as store from './store.ts'

export interface MailTaskDeps extends SignInCodeDeps {
  mailer: Mailer
  tenants: Tenants
  onRefused(details: { client_id: string }): void
}

export function createMailTask(deps: MailTaskDeps): Handler<'sign_in_mail'> {
  return async ({ sessionId }) => {
    const found = await findSignInCodeToMail(deps, sessionId)
    if (found === undefined) return
    const client = await deps.tenants.getClient(found.clientId)
    const tenant = await deps.tenants.findTenant(client.tenantId)
    const { subject, text } = writeMail(found, client.name, tenant?.name ?? '')
    const taken = await deps.mailer.send({ to: found.email, subject, text, sessionId })
    if (!taken) deps.onRefused({ client_id: client.clientId })
  }
}

function writeMail(
  { code, purpose }: { code: string; purpose: SignInPurpose },
  clientName: string,
  tenantName: string,
): { subject: string; text: string } {
  const use =
    purpose === 'connect'
      ? `It lets you connect accounts for\n${clientName}, by ${tenantName}.`
      : `It lets you see and end what you\nshare with ${tenantName} through ${clientName}.`
  return {
    subject: `${code} is your code for ${clientName}`,
    text: `Your code is ${code}.

Enter it on the page where you asked for it. ${use} It works once, for 10 minutes.

If you did not ask for it, ignore this message: without the code nothing
happens. Do not share it with anyone; we never ask for it.
`,
  }
}

const batchSize = 1_000
/** How long users can see what was read. */
const accessDays = 90

/** Deletes expired rows. By then, `connections` has destroyed what belonged to lapsed sessions. */
export async function sweepConnect(db: Database): Promise<void> {
  for (;;) {
    const deleted = await db.transaction(async (tx) => {
      const sessions = await store.deleteExpired(tx, batchSize)
      const codes = await signIns.deleteExpired(tx, batchSize)
      return sessions + codes + (await manage.deleteExpired(tx, batchSize, accessDays))
    })
    if (deleted < batchSize) return
  }
}
