/** What a tester is helped with in sandbox mode: scenarios in words, fresh test keys, and the mailed code. */
import * as contract from '@assay/contract'
import { Refusal } from '@assay/core'
import type { FastifyInstance } from 'fastify'
import type { SandboxMailbox } from '../../mail/index.ts'
import { createKeyOf } from '../../sandbox/index.ts'
import type { ConnectRoutesDeps } from './deps.ts'
import { createServeSession } from './serve-session.ts'

export function registerSandboxHelp(
  app: FastifyInstance,
  { connect, admit }: ConnectRoutesDeps,
  sandbox: NonNullable<ConnectRoutesDeps['sandbox']>,
): void {
  const { control, mailbox, newAccount } = sandbox
  const serve = createServeSession(connect.authenticate, admit)
  const serveManage = createServeSession(connect.authenticateManaging, admit)

  serve(app, contract.getSandboxHelp, async ({ session }) => {
    const { providers } = await control.listProviders()
    const scenarios = providers.flatMap(({ provider_id, scenarios: own }) =>
      own.map(({ name, title, description }) => ({ provider_id, name, title, description })),
    )
    return { scenarios, mail: await findCode(mailbox, session.sessionId) }
  })
  serve(app, contract.createSandboxKey, async ({ session, body }) => {
    if (body.scenario === contract.sameAccount) return { fields: await createKeyToRepair(session.connectionId) }
    const wanted = { providerId: body.provider_id, scenario: body.scenario, account: newAccount() }
    return { fields: { ...(await control.createAccount(wanted)) } }
  })
  async function createKeyToRepair(connectionId: string | null): Promise<Record<string, string>> {
    if (connectionId === null) throw new Refusal('invalid_request', 'This session does not repair a connection.')
    return { ...(await createKeyOf(sandbox, connectionId)) }
  }
  serveManage(app, contract.getManageSandboxHelp, async ({ session }) => ({
    mail: await findCode(mailbox, session.sessionId),
  }))
}

async function findCode(mailbox: SandboxMailbox, sessionId: string): Promise<{ code: string } | null> {
  const mail = await mailbox.findLatest(sessionId)
  const code = /\b\d{6}\b/.exec(mail?.text ?? '')?.[0]
  return code === undefined ? null : { code }
}
