/**
 * The connect session API, under {auth_url}/connect/v1: what a widget talks to. There are no cookies: a call carries
 * `Authorization: Bearer` and the secret of its session, which is not an access token. Only the calls that begin a
 * session, and the two of the callback page, are made without it.
 */
import { consentLanguages } from '@assay/core/consent'
import { z } from 'zod'
import { askers, signInCodeBody, emailBody, sentAnswer, ConnectSession } from '../connect.ts'
import { defineEndpoint } from '../endpoint.ts'
import { ProviderId, text, line } from '../values.ts'
import { addedAnswer, connection, providerAnswer } from '../providers.ts'
import { askers as exampleAskers, connectQuery, redirectTo, secretExample, sent, session } from './connect-examples.ts'
import * as examples from './examples.ts'

const common = { family: 'connect_v1', scope: null, errors: [] } as const
const inSession = { ...common, bearer: 'session', errors: ['invalid_token'] } as const

const nothing = z.strictObject({}).optional()
const sessionAnswer = z.object({ session: ConnectSession })
const sessionExample = { session }
/** A connect URL is short; a login token in it is not. */
const queryLengthMax = 8_192
/** As many as a session lists. */
const existingMax = 500

export const createSession = defineEndpoint({
  ...common,
  id: 'createSession',
  method: 'POST',
  path: '/connect/v1/session',
  body: z.strictObject({ query: z.string().max(queryLengthMax) }),
  response: z.object({
    session_secret: z.string().nullable(),
    session: ConnectSession.nullable(),
    redirect_to: z.string().nullable(),
  }),
  summary: 'Begin a session',
  description:
    'Takes the query string of the connect page as it is. A bad client_id or redirect_uri is a 400, to be shown and never redirected; every other mistake comes back as redirect_to.',
  example: {
    body: { query: connectQuery },
    response: { session_secret: secretExample, ...sessionExample, redirect_to: null },
  },
})

export const getSession = defineEndpoint({
  ...inSession,
  id: 'getSession',
  method: 'GET',
  path: '/connect/v1/session',
  response: sessionAnswer,
  summary: 'Get the session',
  description: 'Where the flow stands. A reload begins here.',
  example: { response: sessionExample },
})

export const requestSessionCode = defineEndpoint({
  ...inSession,
  id: 'requestSessionCode',
  method: 'POST',
  path: '/connect/v1/session/email',
  body: emailBody,
  response: sentAnswer,
  summary: 'Mail a sign-in code',
  description: 'The same answer and timing whether the address is known or not. A new code replaces the one before.',
  example: { body: { email: 'ann@example.com' }, response: sent },
})

export const enterSessionCode = defineEndpoint({
  ...inSession,
  id: 'enterSessionCode',
  method: 'POST',
  path: '/connect/v1/session/code',
  body: signInCodeBody,
  response: sessionAnswer,
  summary: 'Sign in with the code',
  description: 'Six digits, ten minutes, five tries, and only in the session that asked.',
  example: { body: { code: '123456' }, response: sessionExample },
})

export const giveConsent = defineEndpoint({
  ...inSession,
  id: 'giveConsent',
  method: 'POST',
  path: '/connect/v1/session/consent',
  body: z
    .strictObject({
      session_id: text(64).optional().meta({
        description:
          'The session whose consent page the user agreed to. Any other session than this one is refused: a browser may hold the pages of several.',
      }),
      language: z
        .enum(consentLanguages)
        .optional()
        .meta({ description: 'The language that the page was in. Default: that of `lang`, or English.' }),
      existing: z.array(text(64)).max(existingMax).optional().meta({
        description:
          'The connections that the page listed as existing. The recorded text names no others. Default: all that exist now.',
      }),
    })
    .optional(),
  response: sessionAnswer,
  summary: 'Record the consent',
  description:
    'The user, who has signed in, agrees to what the page says. The text that was shown is kept with the grant, in its language.',
  example: { body: { session_id: session.session_id, language: 'en' }, response: sessionExample },
})

const addedExample = { data: examples.addedV2, ...examples.errorsNone }

export const addSessionConnection = defineEndpoint({
  ...inSession,
  id: 'addSessionConnection',
  method: 'POST',
  path: '/connect/v1/session/connections',
  body: z.strictObject({
    provider_id: ProviderId,
    display_label: line(80).optional(),
    connection,
    connection_id: text(64).optional().meta({ description: 'Repair this settled connection instead of adding one.' }),
  }),
  response: addedAnswer,
  summary: 'Connect a source',
  description:
    'As POST /accounts/v2/providers, but provisional: seen only in this session until its code is redeemed. Needs sign-in and consent. Repair with another account is account_mismatch and changes nothing.',
  errors: ['invalid_token', 'not_found'],
  example: { body: { provider_id: 'kraken', connection: examples.apiConnection }, response: addedExample },
})

export const removeSessionConnection = defineEndpoint({
  ...inSession,
  id: 'removeSessionConnection',
  method: 'DELETE',
  path: '/connect/v1/session/connections/{connection_id}',
  params: z.object({ connection_id: z.string() }),
  response: sessionAnswer,
  summary: 'Remove a connection of this session',
  description: 'Its credentials and data are destroyed.',
  errors: ['invalid_token', 'not_found'],
  example: { params: { connection_id: examples.connectionId }, response: sessionExample },
})

export const followSession = defineEndpoint({
  ...inSession,
  id: 'followSession',
  method: 'GET',
  path: '/connect/v1/session/events',
  mediaType: 'application/x-ndjson',
  response: z.union([
    z.object({ type: z.literal('session'), session: ConnectSession }),
    z.object({ type: z.literal('ping') }),
  ]),
  summary: 'Follow the session',
  description:
    'A line at once, then one whenever something changed, a ping every 15 seconds. Ends after two minutes: ask again.',
  errors: ['invalid_token', 'rate_limited'],
  example: { response: { type: 'session', ...sessionExample } },
})

export const completeSessionCallback = defineEndpoint({
  ...inSession,
  id: 'completeSessionCallback',
  method: 'POST',
  path: '/connect/v1/session/callback',
  body: providerAnswer,
  response: addedAnswer,
  summary: 'Complete a sign-in at a provider',
  description:
    'Code (or error) and state from the provider’s page. Anything not begun in this session is invalid_state.',
  example: { body: examples.callback, response: addedExample },
})

export const findProviderAsker = defineEndpoint({
  ...common,
  id: 'findProviderAsker',
  method: 'POST',
  path: '/connect/v1/provider-askers',
  body: z.strictObject({ state: text(256) }),
  response: z.object({ asker: z.object({ ...askers, provider_name: z.string() }).nullable() }),
  summary: 'Get the application that began a sign-in',
  description:
    'For the callback page, which has to name the application before it hands the answer on: the provider’s own page has named only this service. Null when no application began the sign-in, or its answer was handed on before.',
  example: {
    body: { state: examples.callback.state },
    response: { asker: { ...exampleAskers, provider_name: 'Coinbase' } },
  },
})

export const forwardProviderAnswer = defineEndpoint({
  ...common,
  id: 'forwardProviderAnswer',
  method: 'POST',
  path: '/connect/v1/provider-answers',
  body: providerAnswer,
  response: z.object({ redirect_to: z.string().nullable() }),
  summary: 'Resolve a provider’s answer to its destination',
  description:
    'For the callback page. When an application began the sign-in: its redirect URI, with a one-time handle in place of the code. Null when a session waits for the answer and completes it with its own secret, or when nothing waits for it.',
  example: { body: examples.callback, response: { redirect_to: null } },
})

export const resumeSession = defineEndpoint({
  ...inSession,
  id: 'resumeSession',
  method: 'POST',
  path: '/connect/v1/session/resume',
  body: z.strictObject({ session_id: text(64) }),
  response: sessionAnswer,
  summary: 'Take over an unfinished session',
  description: 'One that `unfinished` offered: same user, same client. Its connections move here.',
  errors: ['invalid_token', 'not_found'],
  example: { body: { session_id: session.session_id }, response: sessionExample },
})

const redirectAnswer = z.object({ redirect_to: z.string() })

export const finishSession = defineEndpoint({
  ...inSession,
  id: 'finishSession',
  method: 'POST',
  path: '/connect/v1/session/finish',
  body: nothing,
  response: redirectAnswer,
  summary: 'Finish',
  description: 'Where the browser goes, with code, state and iss. The session has then ended.',
  example: { body: {}, response: { redirect_to: `${redirectTo}&code=${examples.callback.code}` } },
})

export const declineSession = defineEndpoint({
  ...inSession,
  id: 'declineSession',
  method: 'POST',
  path: '/connect/v1/session/decline',
  body: nothing,
  response: redirectAnswer,
  summary: 'Decline',
  description: 'Where the browser goes, with access_denied. What was connected in the session is destroyed.',
  example: { body: {}, response: { redirect_to: `${redirectTo}&error=access_denied` } },
})

export const getSandboxHelp = defineEndpoint({
  ...inSession,
  id: 'getSandboxHelp',
  sandboxOnly: true,
  method: 'GET',
  path: '/connect/v1/session/sandbox',
  response: z.object({
    scenarios: z.array(
      z.object({ provider_id: ProviderId, name: z.string(), title: z.string(), description: z.string() }),
    ),
    mail: z.object({ code: z.string() }).nullable(),
  }),
  summary: 'Sandbox: scenarios and the mailed code',
  description: 'Sandbox mode only.',
  example: {
    response: {
      scenarios: [
        { provider_id: 'kraken', name: 'empty', title: 'Empty', description: 'An account with nothing in it.' },
      ],
      mail: { code: '123456' },
    },
  },
})

/** In place of a scenario: a new key of the account whose connection the session repairs. */
export const sameAccount = 'same_account'

export const createSandboxKey = defineEndpoint({
  ...inSession,
  id: 'createSandboxKey',
  sandboxOnly: true,
  method: 'POST',
  path: '/connect/v1/session/sandbox/key',
  body: z.strictObject({ provider_id: ProviderId, scenario: text(64) }),
  response: z.object({ fields: z.record(z.string(), z.string()) }),
  summary: 'Sandbox: a fresh test key',
  description:
    'Sandbox mode only. What to fill the form with. The scenario `same_account` makes a new key of the account that the session repairs.',
  example: {
    body: { provider_id: 'kraken', scenario: 'default' },
    response: { fields: { api_key: 'the key', secret_key: 'the secret' } },
  },
})
