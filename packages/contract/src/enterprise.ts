/** What a tenant sees of its users: people, their connections, and sums over all of them. */
import { z } from 'zod'
import { connectionId, decimalText, ProviderId, time } from './values.ts'
import { connectedMembers } from './providers.ts'
import { EnterpriseTransaction } from './transactions.ts'

export const userId = z.string().meta({ description: 'One person within the tenant.', examples: ['usr_01jq8n…'] })

export const EnterpriseUser = z
  .object({
    user_id: userId,
    external_user_id: z.string().nullable().meta({ description: 'The tenant’s own id of the user.' }),
    email: z.string().nullable(),
    granted_at: time.meta({ description: 'When the oldest consent in force was given.' }),
    grant_expires_at: time.meta({ description: 'When the last consent in force ends.' }),
    scopes: z.array(z.string()).meta({
      description:
        'What the newest consents and the tokens of the applications that are still valid cover together. This API shows what the newest consents cover.',
    }),
    connection_count: z.int().nullable().meta({ description: 'Null when no newest consent covers providers:read.' }),
  })
  .meta({ id: 'EnterpriseUser' })

export const EnterpriseAccount = z
  .object({ user_id: userId, connection_id: connectionId, provider_id: ProviderId, ...connectedMembers })
  .meta({ id: 'EnterpriseAccount', description: 'A connection of one of the tenant’s users.' })

export const EnterpriseChange = z
  .discriminatedUnion('op', [
    z.object({ op: z.literal('upsert'), user_id: userId, transaction: EnterpriseTransaction }),
    z.object({ op: z.literal('remove'), user_id: userId, id: z.string(), removed_at: time }),
    z.object({ op: z.literal('remove_user'), user_id: userId }).meta({
      description: 'The last consent that covers the user’s transactions has ended, or the user was deleted.',
    }),
  ])
  .meta({ id: 'EnterpriseChange', description: 'One step that brings a copy of the list of transactions up to date.' })

export const UserStats = z
  .object({
    users: z.int().meta({ description: 'Users with a consent in force.' }),
    users_with_accounts: z.int(),
  })
  .meta({ id: 'UserStats' })

export const ProviderStats = z
  .object({ provider_id: ProviderId, name: z.string(), accounts: z.int(), users: z.int() })
  .meta({ id: 'ProviderStats' })

export const BalanceStats = z
  .object({
    value_in_usd: decimalText.meta({ description: 'Value of all positions that have a price.' }),
    users: z.int(),
    positions: z.int(),
    positions_without_price: z.int(),
  })
  .meta({ id: 'BalanceStats' })

export const AssetStats = z
  .object({
    asset_id: z.string(),
    asset_symbol: z.string(),
    total_holdings: decimalText,
    price_in_usd: decimalText.nullable(),
    value_in_usd: decimalText.nullable(),
    users: z.int(),
  })
  .meta({ id: 'AssetStats' })
