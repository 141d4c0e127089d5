/** Providers and connections: the three ways to connect, the catalogue, and what a user has connected. */
import { causes } from '@assay/core'
import { z } from 'zod'
import { successErrors } from './errors.ts'
import { ConnectionProof } from './proof.ts'
import { connectionId, iconUrl, ProviderId, text, time } from './values.ts'

const connectionTypes = ['api_key', 'wallet', 'oauth2'] as const

const CryptoSourceCredentialAuthType = z.enum(connectionTypes).meta({ id: 'CryptoSourceCredentialAuthType' })

// This is wide enough for an RSA key in PEM; a secret is never echoed, not even in an error.
const secret = text(8_192).meta({ format: 'password' })

const APIConnection = z
  .strictObject({
    type: z.literal('api_key'),
    api_key: text(4_096),
    secret_key: secret,
    passphrase: secret.optional(),
    confirmed_read_only: z.boolean().optional().meta({
      description:
        'The person confirmed that the key can only read. Required as `true` for providers whose `permission_check` is `none`.',
    }),
  })
  .meta({ id: 'APIConnection', description: 'A read-only key that the user made at the provider.' })

const WalletConnection = z
  .strictObject({
    type: z.literal('wallet'),
    address: text(256).optional(),
    extended_public_key: text(256).optional(),
    descriptor: text(2_048).optional(),
    networks: z.array(text(64)).min(1).max(50).optional().meta({
      description: 'Only these networks are read, by the names that the catalogue has in `networks`; otherwise all.',
    }),
  })
  .check((context) => {
    const { address, extended_public_key: key, descriptor } = context.value
    if ([address, key, descriptor].filter((given) => given !== undefined).length === 1) return
    const message = 'must have exactly one of address, extended_public_key and descriptor'
    context.issues.push({ code: 'custom', message, input: undefined })
  })
  .meta({ id: 'WalletConnection', description: 'Exactly one of address, extended_public_key and descriptor.' })

const OAuth2Connection = z
  .strictObject({ type: z.literal('oauth2'), redirect_uri: text(2_048).optional() })
  .meta({ id: 'OAuth2Connection', description: 'The user signs in at the provider; follow `redirect_url`.' })

export const connection = z.discriminatedUnion('type', [APIConnection, WalletConnection, OAuth2Connection])

export const connectionStatus = z.enum(['pending', 'syncing', 'active', 'degraded', 'needs_reauth', 'removed'])

const keyShape = z
  .object({ pattern: z.string(), alphabet: z.string(), length_min: z.int(), length_max: z.int() })
  .nullable()
  .meta({
    description:
      'What the value looks like, where that is certain: a regular expression for all of it, its characters and lengths.',
  })

const keyGuide = z
  .object({
    page: z.string(),
    menu: z.array(z.string()),
    leave_empty: z.array(z.string()),
    shown_once: z.string().nullable(),
  })
  .nullable()
  .meta({ description: 'How a read-only key is made, in the provider’s own words.' })

const walletApp = z.object({
  name: z.string(),
  menu: z.array(z.string()).meta({ description: 'What to choose in the app, in its own words.' }),
  shows: z.enum(['address', 'extended_public_key']),
})

export const ProviderMetadata = z
  .object({
    provider_id: ProviderId,
    name: z.string(),
    aliases: z.array(z.string()).meta({ description: 'Other names that people search for.' }),
    kind: z.enum(['exchange', 'wallet']),
    connection_types: z.array(CryptoSourceCredentialAuthType),
    permission_check: z
      .enum(['full', 'partial', 'none'])
      .meta({ description: 'Whether the rights of a key can be read before it is accepted.' }),
    credential_fields: z.array(
      z.object({
        name: z.enum(['api_key', 'secret_key', 'passphrase', 'address', 'extended_public_key', 'descriptor']),
        label: z.string(),
        secret: z.boolean(),
        required: z.boolean(),
        hint: z.string(),
        shape: keyShape,
      }),
    ),
    required_permissions: z.array(z.string()).meta({ description: 'In the provider’s own words.' }),
    guide: keyGuide,
    wallet_apps: z.array(walletApp).meta({
      description: 'For wallets: the apps and devices that people use, and where each shows what to paste.',
    }),
    networks: z.array(z.object({ name: z.string(), aliases: z.array(z.string()) })).meta({
      description:
        'What `networks` of a connection may name, by name or by alias, to read only these. Empty where there is no choice.',
    }),
    features: z.object({ holdings: z.boolean(), staking: z.boolean(), transactions: z.boolean() }),
    known_limits: z.array(z.string()),
    status: z.enum(['available', 'beta', 'degraded', 'unavailable', 'not_in_sandbox']),
    website: z.string(),
    icon_url: iconUrl,
    brand: z.object({ color: z.string(), short_name: z.string() }),
    popularity_rank: z.int().nullable().meta({ description: 'The widget lists the smallest first; null for most.' }),
  })
  .meta({ id: 'ProviderMetadataV2.1', description: 'A provider as the catalogue shows it.' })

export const connectedMembers = {
  name: z.string(),
  display_label: z.string().nullable(),
  connection_type: CryptoSourceCredentialAuthType,
  status: connectionStatus,
  status_cause: z.enum(causes).nullable(),
  status_message: z.string().nullable(),
  added_at: time,
  last_synced_at: time.nullable(),
  next_sync_at: time.nullable(),
  history_from: time.nullable().meta({ description: 'The oldest moment read so far.' }),
  transaction_count: z.int(),
}

export const recordCount = z.int().meta({
  description: 'The provider’s own records read so far. It grows during the first read, before transactions do.',
})

export const ConnectedProvidersMetadata = z
  .object({
    ...{ connection_id: connectionId, provider_id: ProviderId, ...connectedMembers },
    record_count: recordCount,
    proof: ConnectionProof,
  })
  .meta({ id: 'ConnectedProvidersMetadataV2.1', description: 'A connection of the user.' })

/** The outcome for a source that an application tried to add. */
export const addedAnswer = z.object({
  data: z.object({
    added: z.boolean(),
    redirect_url: z.string().nullable(),
    connection_id: connectionId.nullable(),
    provider_id: ProviderId,
    display_label: z.string().nullable(),
    status: connectionStatus.nullable(),
  }),
  errors: successErrors,
})

/** What a provider's OAuth2 page, or the widget's in its place, sent back to the application. */
export const callbackBody = z.strictObject({ code: text(4_096), state: text(256) })

/** What the provider's page sent to the callback page: a code, or the news that the person did not allow it. */
export const providerAnswer = z.union([callbackBody, z.strictObject({ error: text(256), state: text(256) })])
