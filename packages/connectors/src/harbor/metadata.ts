/** Harbor as the catalogue shows it: an exchange that exists only in the sandbox, to sign in at with OAuth2. */
import type { SignIn } from '../kit/connector.ts'
import type { ProviderMetadata } from '../kit/metadata.ts'

export const harborMetadata: ProviderMetadata = {
  provider_id: 'harbor',
  name: 'Harbor',
  kind: 'exchange',
  connection_types: ['oauth2'],
  credential_fields: [],
  required_permissions: ['Read your account'],
  features: { holdings: true, staking: true, transactions: true },
  known_limits: ['Harbor exists only in the sandbox.'],
  status: 'available',
  website: 'https://harbor.example',
}

export const harborSignIn: SignIn = {
  origin: 'https://harbor.example',
  authorizationPath: '/oauth/authorize',
  tokenPath: '/oauth/token',
  scope: 'read',
}
