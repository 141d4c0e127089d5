/** The consent as it was shown, in words: kept with the grant, as a record of what was agreed to. */
import type { Consent } from '../oauth/index.ts'
import type { Client, PlatformScope } from '../tenants/index.ts'
import type { ConnectSession } from './store.ts'

/** Changes with every change of the words. */
const version = '2026-11'

const words: Readonly<Record<PlatformScope, string>> = {
  'providers:read': 'which accounts are connected',
  'providers:write': 'connect and remove accounts',
  'assets:read': 'holdings',
  'transactions:read': 'transactions',
  offline_access: 'also while the user is away',
}

export function toConsent(
  session: ConnectSession,
  client: Client,
  tenantName: string,
  existing: readonly string[],
): Consent {
  const may = session.scopes.map((scope) => words[scope]).join(', ')
  const seen = existing.length === 0 ? '' : ` Accounts connected before are seen too: ${existing.join(', ')}.`
  const text = `${client.name} (${tenantName}) may read, for a year: ${may}. It can never trade or withdraw.${seen}`
  return { version, text, ...(session.lang === null ? {} : { language: session.lang }) }
}
