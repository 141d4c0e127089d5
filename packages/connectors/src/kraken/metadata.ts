/**
 * Kraken as the catalogue shows it. The permission names are those of Kraken's "Create API key" page; which calls need
 * which is in docs.kraken.com/api-reference ("API Key Permissions Required").
 */
import type { ProviderMetadata } from '../kit/metadata.ts'

export const krakenMetadata: ProviderMetadata = {
  provider_id: 'kraken',
  name: 'Kraken',
  kind: 'exchange',
  connection_types: ['api_key'],
  credential_fields: [
    {
      name: 'api_key',
      label: 'API key',
      secret: false,
      required: true,
      hint: 'Kraken: Settings, API, Create API key. 56 characters.',
    },
    {
      name: 'secret_key',
      label: 'Private key',
      secret: true,
      required: true,
      hint: 'Shown once, right after the key was made. 88 characters, ending in ==.',
    },
  ],
  required_permissions: ['Funds permissions - Query', 'Data - Query ledger entries'],
  features: { holdings: true, staking: true, transactions: true },
  known_limits: [
    'Kraken Futures is another account with keys of its own and is not read; moves to and from it are shown as transfers.',
    'Kraken allows an account about one page of 50 ledger entries every six seconds: a long history takes a while.',
    'Addresses and transaction hashes are missing where Kraken no longer lists the deposit or withdrawal.',
  ],
  status: 'available',
  website: 'https://www.kraken.com',
}
