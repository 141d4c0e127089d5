/** The manage API, under {auth_url}/connect/v1/me: a user's own page, with a sign-in and a secret of its own. */
import { z } from 'zod'
import {
  askers,
  AuditEvent,
  signInCodeBody,
  emailBody,
  EndedGrant,
  ManagedConnection,
  ManagedGrant,
  sentAnswer,
  TenantRead,
} from '../connect.ts'
import { defineEndpoint } from '../endpoint.ts'
import { text } from '../values.ts'
import * as examples from './connect-examples.ts'

const common = { family: 'connect_v1', scope: null } as const
const signedIn = { ...common, bearer: 'manage', errors: ['invalid_token'] } as const

export const createManageSession = defineEndpoint({
  ...common,
  id: 'createManageSession',
  method: 'POST',
  path: '/connect/v1/me/session',
  body: z.strictObject({ client_id: text(64) }),
  response: z.object({ session_secret: z.string(), ...askers, email_sign_in: z.boolean(), sandbox: z.boolean() }),
  summary: 'Begin a manage session',
  description:
    'For the users of this client’s tenant. Ends when the user signs out, after 15 minutes of silence, and after an hour.',
  errors: [],
  example: {
    body: { client_id: 'cli_demo' },
    response: { session_secret: examples.secretExample, ...examples.askers, email_sign_in: true, sandbox: true },
  },
})

export const requestManageCode = defineEndpoint({
  ...signedIn,
  id: 'requestManageCode',
  method: 'POST',
  path: '/connect/v1/me/email',
  body: emailBody,
  response: sentAnswer,
  summary: 'Mail a sign-in code',
  description: 'As in a connect session.',
  example: { body: { email: 'ann@example.com' }, response: examples.sent },
})

export const enterManageCode = defineEndpoint({
  ...signedIn,
  id: 'enterManageCode',
  method: 'POST',
  path: '/connect/v1/me/code',
  body: signInCodeBody,
  response: z.object({ signed_in: z.literal(true) }),
  summary: 'Sign in with the code',
  description: 'As in a connect session.',
  example: { body: { code: '123456' }, response: { signed_in: true } },
})

export const endManageSession = defineEndpoint({
  ...signedIn,
  id: 'endManageSession',
  method: 'DELETE',
  path: '/connect/v1/me/session',
  response: z.object({ signed_out: z.literal(true) }),
  summary: 'Sign out',
  description: 'Ends the manage session: its secret is refused from the very next request.',
  example: { response: { signed_out: true } },
})

export const getMe = defineEndpoint({
  ...signedIn,
  id: 'getMe',
  method: 'GET',
  path: '/connect/v1/me',
  response: z.object({
    user: z.object({ email: z.string().nullable() }),
    connections: z.array(ManagedConnection),
    grants: z.array(ManagedGrant),
    ended_grants: z.array(EndedGrant).meta({
      description: 'The one that ended last first, each for as long as its accesses (90 days) or claims are kept.',
    }),
    tenant_reads: z.array(TenantRead),
    events: z
      .array(AuditEvent)
      .meta({ description: 'Each kind of entry once, with the number of entries; the newest first.' }),
  }),
  summary: 'See my data',
  description:
    'Connections, which application may read what and what it read, also under a consent that has ended, and what the tenant itself read.',
  example: {
    response: {
      user: { email: 'ann@example.com' },
      connections: [examples.managed],
      grants: [examples.grant],
      ended_grants: [examples.endedGrant],
      tenant_reads: [examples.tenantRead],
      events: [examples.event],
    },
  },
})

const removedAnswer = z.object({ removed: z.literal(true) })
const removal = {
  ...signedIn,
  method: 'DELETE',
  response: removedAnswer,
  errors: ['invalid_token', 'not_found'],
} as const
const removed = { removed: true }

export const removeMyConnection = defineEndpoint({
  ...removal,
  id: 'removeMyConnection',
  path: '/connect/v1/me/connections/{id}',
  params: z.object({ id: z.string() }),
  summary: 'Remove a connection',
  description: 'Its credentials and data are destroyed.',
  example: { params: { id: examples.managed.connection_id }, response: removed },
})

export const revokeMyGrant = defineEndpoint({
  ...removal,
  id: 'revokeMyGrant',
  path: '/connect/v1/me/grants/{id}',
  params: z.object({ id: z.string() }),
  summary: 'Take back a consent',
  description: 'Every token under it is refused from the very next request.',
  example: { params: { id: examples.grant.grant_id }, response: removed },
})

export const deleteMe = defineEndpoint({
  ...removal,
  id: 'deleteMe',
  path: '/connect/v1/me',
  summary: 'Delete my account',
  description: 'All connections with their credentials and data, all consents and tokens, and the user.',
  example: { response: removed },
})

export const getManageSandboxHelp = defineEndpoint({
  ...signedIn,
  id: 'getManageSandboxHelp',
  sandboxOnly: true,
  method: 'GET',
  path: '/connect/v1/me/sandbox',
  response: z.object({ mail: z.object({ code: z.string() }).nullable() }),
  summary: 'Sandbox: the mailed code',
  description: 'Sandbox mode only.',
  example: { response: { mail: { code: '123456' } } },
})
