/** The objects of the connect and manage APIs: a session and its parts, and a user's view of their own data. */
import { causes } from '@assay/core'
import { consentScopes } from '@assay/core/consent'
import { z } from 'zod'
import { ProofGrade, proofCauses } from './proof.ts'
import { connectionId, decimalText, ProviderId, text, time } from './values.ts'
import { connectionStatus, recordCount } from './providers.ts'

const sessionId = z.string().meta({ description: 'Names the session; not its secret.' })

const ClientSummary = z.object({
  client_id: z.string(),
  name: z.string(),
  logo_uri: z.string().nullable(),
  homepage_uri: z.string().nullable(),
})

const TenantSummary = z.object({ name: z.string() })

/** The application that asks and the organisation behind it. */
export const askers = { client: ClientSummary, tenant: TenantSummary }

const connectionMembers = {
  connection_id: connectionId,
  provider_id: ProviderId,
  name: z.string(),
  display_label: z.string().nullable(),
  status: connectionStatus,
  status_cause: z.enum(causes).nullable(),
  status_message: z.string().nullable(),
}

const ExistingConnection = z.object({ ...connectionMembers, added_at: time })

const ProofDifference = z
  .object({
    asset_symbol: z.string(),
    cause: z.enum(proofCauses),
    amount: decimalText.meta({ description: 'How much more the provider reports than was read; negative for less.' }),
    start_time: time,
    end_time: time,
    assets: z.int().meta({ description: 'How many assets differ, this one included.' }),
  })
  .nullable()
  .meta({ description: 'What does not add up, the worst first; null when everything does.' })

const Progress = z.object({
  verified: z.literal(true),
  assets: z.int().nullable().meta({ description: 'Null until balances were read.' }),
  records: z.int(),
  transactions: z.int(),
  history_from: time.nullable(),
  done: z.boolean().meta({ description: 'The first full read has ended.' }),
  top: z
    .array(z.object({ asset_symbol: z.string(), share: z.number().meta({ description: '0 to 1, for a bar.' }) }))
    .max(6)
    .meta({ description: 'The largest by value.' }),
  value_in_usd: decimalText.nullable(),
  proof: z
    .object({ grade: ProofGrade, proved_since: time.nullable(), difference: ProofDifference })
    .nullable()
    .meta({ description: 'Whether the balances add up to what was read; null until they were first judged.' }),
})

export const ConnectSession = z
  .object({
    session_id: sessionId,
    expires_at: time,
    step: z.enum(['sign_in', 'consent', 'connect', 'ended']).meta({ description: 'The next step.' }),
    ended: z.enum(['finished', 'declined']).nullable(),
    ...askers,
    scopes: z.array(z.enum(consentScopes)),
    grant_expires_at: time.meta({
      description: 'Until when the application could read, if finished in this session; to the day.',
    }),
    shares_email: z.boolean().meta({ description: 'The tenant will see the user’s email address.' }),
    display: z.enum(['page', 'popup', 'iframe']),
    web_message_origin: z.string().nullable(),
    lang: z.string().nullable(),
    theme: z.string().nullable(),
    provider_id: ProviderId.nullable().meta({ description: 'Preselected.' }),
    connection_id: connectionId.nullable().meta({ description: 'The connection to repair.' }),
    repair_refused: z.boolean().meta({
      description: 'A repair was requested, and its connection does not belong to the user who signed in.',
    }),
    email_sign_in: z.boolean(),
    user: z.object({ email: z.string().nullable() }).nullable(),
    consented: z.boolean(),
    existing: z
      .array(ExistingConnection)
      .meta({ description: 'The user’s settled connections, which will be seen too.' }),
    unfinished: z.object({ session_id: sessionId, started_at: time, connection_count: z.int() }).nullable(),
    connections: z.array(z.object({ ...connectionMembers, progress: Progress })),
    sandbox: z.boolean(),
  })
  .meta({ id: 'ConnectSession', description: 'One run of the connect flow.' })

export const ManagedConnection = z
  .object({
    ...{ ...connectionMembers, added_at: time, last_synced_at: time.nullable() },
    transaction_count: z.int(),
    record_count: recordCount,
  })
  .meta({ id: 'ManagedConnection' })

const accesses = z
  .array(z.object({ endpoint: z.string(), hour: time, count: z.int(), last_at: time }))
  .meta({ description: 'Reads by endpoint and hour, newest first.' })
const namedClient = z.object({ client_id: z.string(), name: z.string() })

export const AuditEvent = z
  .object({
    actor: z.string().meta({ description: 'user, application, tenant, operator or service.' }),
    action: z.string().meta({ examples: ['connection.added'] }),
    client_name: z.string().nullable(),
    provider_name: z.string().nullable(),
    count: z.int().meta({ description: 'How often it happened.' }),
    last_at: time,
  })
  .meta({
    id: 'AuditEvent',
    description: 'Entries of the audit log that concern this user and differ only in their time and subject.',
  })

export const TenantRead = z
  .object({ client: namedClient, accesses })
  .meta({ id: 'TenantRead', description: 'What the tenant read of this user by its own access, through one client.' })

const ManagedClaim = z
  .object({
    claim: z.enum(['value_at_least', 'holds_at_least']),
    asset_id: z.string().nullable(),
    amount: decimalText.meta({ description: 'In US dollars for value_at_least, otherwise of the asset.' }),
    as_of: time,
    holds: z.boolean().nullable().meta({ description: 'Null when the data was too weak for an answer.' }),
    audience: z.string(),
    made_at: time,
  })
  .meta({ id: 'ManagedClaim' })

const grantMembers = {
  grant_id: z.string(),
  client: namedClient,
  scopes: z.array(z.string()).meta({
    description: 'What the newest consent and the tokens of older ones that are still valid allow together.',
  }),
  granted_at: time.meta({ description: 'When the oldest of these consents was given.' }),
  expires_at: time,
  accesses,
  claims: z
    .array(ManagedClaim)
    .meta({ description: 'What the application learned without seeing rows, newest first.' }),
}

export const ManagedGrant = z
  .object(grantMembers)
  .meta({ id: 'ManagedGrant', description: 'What the user allows one application to do.' })

export const EndedGrant = z
  .object({
    ...grantMembers,
    ended_at: time,
    ended_by: z.enum(['user', 'tenant']).nullable().meta({ description: 'Null when it expired.' }),
  })
  .meta({ id: 'EndedGrant', description: 'What the user allowed one application to do, until it ended.' })

export type ConnectSession = z.output<typeof ConnectSession>

/** Signing in is the same for a session and for the manage page. */
export const emailBody = z.strictObject({ email: text(254).meta({ examples: ['ann@example.com'] }) })
export const signInCodeBody = z.strictObject({ code: text(16).meta({ examples: ['123456'] }) })
export const sentAnswer = z.object({ sent_to: z.string(), resend_after_seconds: z.int() })
