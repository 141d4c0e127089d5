/** `assay webhook …`: the receiver of a tenant's events, and the outcome of its messages. */
import type { LoggedMessage } from '@assay/server/admin'
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine, writeTable } from '../console.ts'
import { usage } from '../usage.ts'
import { withAdmin } from '../with-admin.ts'

export async function webhook(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false } },
  })
  const [action, tenantId, subject, ...others] = positionals
  if (tenantId === undefined || others.length > 0) throw new UsageError(usage.webhook)
  if (action === 'set' && subject !== undefined) return set(tenantId, subject, values.json)
  if (action === 'resend' && subject !== undefined) return resend(tenantId, subject, values.json)
  if (subject !== undefined) throw new UsageError(usage.webhook)
  if (action === 'remove') return remove(tenantId, values.json)
  if (action === 'test') return test(tenantId, values.json)
  if (action === 'log') return log(tenantId, values.json)
  throw new UsageError(usage.webhook)
}

async function set(tenantId: string, url: string, json: boolean): Promise<void> {
  const { replaced, secret } = await withAdmin(async ({ tenants, webhooks }) => {
    // A mistyped id would otherwise store a receiver that never gets a message.
    await tenants.getTenant(tenantId)
    return { replaced: await webhooks.findUrl(tenantId), secret: await webhooks.set(tenantId, url) }
  })
  if (json) return writeJson({ tenant_id: tenantId, url, secret })
  if (replaced === url) writeLine('Messages are no longer signed with the previous secret.')
  else if (replaced !== undefined) writeLine(`${replaced} receives no more messages.`)
  writeLine(`Set. Verify signatures with this secret (shown once): ${secret}`)
  writeLine(`Try it: assay webhook test ${tenantId}`)
}

async function remove(tenantId: string, json: boolean): Promise<void> {
  const removed = await withAdmin(async ({ tenants, webhooks }) => {
    await tenants.getTenant(tenantId)
    return webhooks.remove(tenantId)
  })
  if (json) return writeJson({ tenant_id: tenantId, removed })
  writeLine(removed ? 'Removed.' : 'The tenant had no webhook.')
}

async function test(tenantId: string, json: boolean): Promise<void> {
  const messageId = await withAdmin(async ({ tenants, webhooks }) => {
    await tenants.getTenant(tenantId)
    return webhooks.sendTest(tenantId)
  })
  if (json) return writeJson({ tenant_id: tenantId, message_id: messageId })
  writeLine(`Queued ${messageId}; a worker sends it now. See the outcome: assay webhook log ${tenantId}`)
}

async function log(tenantId: string, json: boolean): Promise<void> {
  const messages = await withAdmin(async (admin) => {
    await admin.tenants.getTenant(tenantId)
    const found = await admin.webhooks.listMessages(tenantId)
    await admin.audit.recordOperatorRead(tenantId, 'webhook.read', tenantId)
    return found
  })
  if (json) return writeJson(messages)
  const rows = messages.map((one) => [
    one.message_id,
    one.type,
    one.created_at,
    one.resent_at ?? '-',
    String(one.attempts),
    one.outcome ?? toWaiting(one),
  ])
  writeTable([['MESSAGE', 'TYPE', 'WRITTEN', 'SENT AGAIN', 'ATTEMPTS', 'OUTCOME'], ...rows])
}

/** With what the receiver answered, because that is what an operator looks for while messages wait. */
function toWaiting({ due_at: dueAt, last_failure: failure }: LoggedMessage): string {
  return failure === null ? `waiting until ${dueAt}` : `${failure}; next attempt at ${dueAt}`
}

async function resend(tenantId: string, messageId: string, json: boolean): Promise<void> {
  await withAdmin(async ({ tenants, webhooks }) => {
    await tenants.getTenant(tenantId)
    await webhooks.resend(tenantId, messageId)
  })
  if (json) return writeJson({ tenant_id: tenantId, message_id: messageId, queued: true })
  writeLine(`Queued ${messageId} again, with the same webhook-id. See the outcome: assay webhook log ${tenantId}`)
}
