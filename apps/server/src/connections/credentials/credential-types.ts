/**
 * The ways to connect an account, one record each: how the credentials are checked, what is sealed, in which lane their
 * jobs run, and what a connector gets. Code elsewhere uses these records and never switches on the type itself.
 *
 *   api_key   key, secret and passphrase are sealed
 *   oauth2    the provider's code is sealed, and replaced by tokens at their first use (tokens.ts)
 *   wallet    an address stays in clear, because transactions show it anyway. An extended public key and a descriptor
 *             are sealed: they reveal every past and future address of their owner
 */
import { invalidParameter, type ErrorItem } from '@assay/core'
import {
  cleanField,
  findPrivateMaterial,
  fitsShape,
  recognizeWallet,
  type WalletMistake,
} from '@assay/core/credentials'
import type {
  ApiKeyCredentials,
  ConnectionType,
  Credentials,
  ProviderMetadata,
  WalletCredentials,
} from '@assay/connectors'
import { z } from 'zod'
import type { Sealer } from './seal.ts'
import { holdTokens, keptSignIn, type HeldTokenDeps } from './tokens.ts'

/** Credentials as a request gives them, ready to be verified. */
export interface NewApiKey extends ApiKeyCredentials {
  /** The person confirmed that the key can only read, because the provider does not say. */
  confirmedReadOnly?: boolean
}

/** The code from the provider's page, which is not yet exchanged for tokens. */
export interface NewSignIn {
  type: 'oauth2'
  code: string
  /** Set when the code is itself sealed, by the process that got it from the browser: only a worker can open it. */
  codeBoundTo: string | null
  codeVerifier: string
  redirectUri: string
}

interface NewByType {
  api_key: NewApiKey
  oauth2: NewSignIn
  wallet: WalletCredentials
}
export type NewCredentials = NewByType[ConnectionType]

/**
 * What a caller sends. With OAuth2 it is only the address to return to, because the person signs in first.
 */
export type GivenCredentials = NewApiKey | WalletCredentials | SignInRequest

export interface SignInRequest {
  type: 'oauth2'
  redirectUri?: string | undefined
}

/** The provider's own page gives the credentials, so the person has to go there first. */
export function isSignIn(given: GivenCredentials): given is SignInRequest {
  return credentialTypes[given.type].isGivenAtProvider
}

/** Credentials as the row has them. They were destroyed if all members are null. */
export interface StoredCredentials {
  sealedCredentials: string | null
  address: string | null
  networks: readonly string[] | null
}

export interface CheckPolicy {
  /** What happens to keys whose rights cannot be read. */
  uncheckedKeys: 'confirm' | 'refuse'
}

/** The row that is opened, for a worker. `sealer` opens for that row. */
export interface OpenContext extends Omit<HeldTokenDeps, 'sealed'> {
  stored: StoredCredentials
}

type RightsFault = 'missing_permission' | 'excess_permission'

interface CredentialType<New extends NewCredentials> {
  isGivenAtProvider: boolean
  /** What is sealed, as JSON; undefined members are left out. */
  schema: z.ZodType
  /** Takes away what a clipboard adds, as the widget does. */
  clean(given: New): New
  /**
   * Checks what can be known without asking the provider. Throws a Refusal when the request is malformed; returns an
   * item for the person when the credentials are refused.
   */
  check(given: New, provider: ProviderMetadata, policy: CheckPolicy): ErrorItem | undefined
  seal(given: New, seal: (kept: object) => Promise<string>): Promise<StoredCredentials>
  /** Jobs whose text is the same run one after another, in one lane. */
  lane(given: New, connectionId: string): string
  open(context: OpenContext): Promise<Credentials>
  /** The text for a person when the provider does not accept them. */
  describeRefused(providerName: string): { message: string; fix: string }
  /** The same when they lack rights, or have more than reading needs. */
  describeRights(fault: RightsFault, providerName: string, rights: string): { message: string; fix: string } | undefined
}

const keptKey = z.object({
  apiKey: z.string(),
  secretKey: z.string(),
  passphrase: z.string().exactOptional(),
})

const keptWallet = z.union([z.object({ extendedPublicKey: z.string() }), z.object({ descriptor: z.string() })])

const inClear = { address: null, networks: null }

export const credentialTypes: { readonly [Type in ConnectionType]: CredentialType<NewByType[Type]> } = {
  api_key: {
    isGivenAtProvider: false,
    schema: keptKey,
    clean: cleanTexts,
    check(given, provider, policy) {
      const members = { api_key: given.apiKey, secret_key: given.secretKey, passphrase: given.passphrase }
      for (const field of provider.credential_fields) {
        const value = field.name in members ? members[field.name as keyof typeof members] : undefined
        if (!field.required || (value ?? '') !== '') continue
        throw invalidParameter(`connection.${field.name}`, `is required for ${provider.name}`)
      }
      const hasPassphrase = provider.credential_fields.some((field) => field.name === 'passphrase')
      if (given.passphrase !== undefined && !hasPassphrase) {
        throw invalidParameter('connection.passphrase', `is not accepted for ${provider.name}, whose keys have none`)
      }
      if (Object.values(members).some(canSpend)) {
        const { provider_id } = provider
        return { cause: 'invalid_credentials', provider_id, ...spendingSecret('a key') }
      }
      return provider.permission_check === 'none' ? checkUnread(given, provider, policy) : undefined
    },
    async seal(given, seal) {
      return { ...inClear, sealedCredentials: await seal(keptKey.parse(given)) }
    },
    // Several providers refuse a nonce that does not grow, even when two connections share the key. The secret belongs
    // to the lane: someone who knows only the public half could otherwise take the key from the job that reads with it.
    lane: ({ apiKey, secretKey }) => JSON.stringify([apiKey, secretKey]),
    async open(context) {
      return { type: 'api_key', ...keptKey.parse(await openSealed(context)) }
    },
    describeRefused: (provider) => ({
      message: `${provider} does not accept this key.`,
      fix: `Copy the key and its secret again, or make a new read-only key at ${provider}. If the key works only from certain IP addresses, add this service's address to its list.`,
    }),
    describeRights: () => undefined,
  },

  oauth2: {
    isGivenAtProvider: true,
    schema: keptSignIn,
    clean: (given) => given,
    check: () => undefined,
    async seal(given, seal) {
      return { ...inClear, sealedCredentials: await seal(keptSignIn.parse(given)) }
    },
    // Tokens belong to one connection, and one job at a time may renew them.
    lane: (_, connectionId) => connectionId,
    async open(context) {
      const first = keptSignIn.parse(await openSealed(context))
      const sealed = getSealed(context.stored)
      return { type: 'oauth2', getToken: holdTokens({ ...context, sealed }, first) }
    },
    describeRefused: (provider) => ({
      message: `${provider} did not accept this sign-in.`,
      fix: `Sign in to ${provider} again.`,
    }),
    describeRights: (fault, provider, rights) =>
      fault === 'excess_permission'
        ? {
            message: `This sign-in allows more than reading: ${rights}.`,
            fix: `Sign in to ${provider} again and uncheck ${rights}.`,
          }
        : {
            message: `This sign-in does not allow everything that is needed; missing: ${rights}.`,
            fix: `Sign in to ${provider} again and allow ${rights}.`,
          },
  },

  wallet: {
    isGivenAtProvider: false,
    schema: keptWallet,
    clean: cleanTexts,
    check: checkWallet,
    async seal({ address = null, networks = null, extendedPublicKey, descriptor }, seal) {
      const kept = { extendedPublicKey, descriptor }
      const sealedCredentials = address === null ? await seal(keptWallet.parse(kept)) : null
      return { address, networks, sealedCredentials }
    },
    // Chains are public and count no keys. A lane for the address would make users who watch it wait for each other.
    lane: (_, connectionId) => connectionId,
    async open(context) {
      const { address, networks } = context.stored
      const what = address === null ? keptWallet.parse(await openSealed(context)) : { address }
      return { type: 'wallet', ...what, ...(networks === null ? {} : { networks }) }
    },
    describeRefused: (provider) => ({
      message: `${provider} cannot read this wallet.`,
      fix: 'Copy its address again from your wallet.',
    }),
    describeRights: () => undefined,
  },
}

/** TypeScript compares methods loosely, so this compiles; looking the record up by its own `type` makes it correct. */
function getType(type: ConnectionType): CredentialType<NewCredentials> {
  return credentialTypes[type]
}

export function cleanCredentials(given: NewCredentials): NewCredentials {
  return getType(given.type).clean(given)
}

export function checkCredentials(
  given: NewCredentials,
  provider: ProviderMetadata,
  policy: CheckPolicy,
): ErrorItem | undefined {
  return getType(given.type).check(given, provider, policy)
}

/** `boundTo` is the connection for which they open. */
export function sealCredentials(sealer: Sealer, boundTo: string, given: NewCredentials): Promise<StoredCredentials> {
  return getType(given.type).seal(given, (kept) => sealer.seal(boundTo, kept))
}

export function toLaneText(given: NewCredentials, connectionId: string): string {
  return getType(given.type).lane(given, connectionId)
}

export function openCredentials(type: ConnectionType, context: OpenContext): Promise<Credentials> {
  return getType(type).open(context)
}

export function isDestroyed({ sealedCredentials, address }: StoredCredentials): boolean {
  return sealedCredentials === null && address === null
}

function getSealed({ sealedCredentials }: StoredCredentials): string {
  if (sealedCredentials === null) throw new Error('this connection has no sealed credentials')
  return sealedCredentials
}

function openSealed({ sealer, boundTo, stored }: OpenContext): Promise<unknown> {
  return sealer.open(boundTo, getSealed(stored))
}

function cleanTexts<New extends NewCredentials>(given: New): New {
  const members = Object.entries(given).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? cleanField(name, value) : value,
  ])
  // The same members, of which only texts have changed; `type` has nothing to clean.
  return Object.fromEntries(members) as New
}

/** A provider must not get it either. A hexadecimal secret has the form of a private key but is not one. */
function canSpend(value: string | undefined): boolean {
  const found = findPrivateMaterial(value ?? '')
  return found !== undefined && found !== 'private_key_or_hash'
}

function spendingSecret(expected: string): { message: string; fix: string } {
  return {
    message: `This is a secret that can spend, not ${expected}. Nothing was stored.`,
    fix: 'Never paste it anywhere. Move your funds to a new wallet if it may have been seen.',
  }
}

/** The provider does not report the rights of a key, so the gate cannot check them. */
function checkUnread(given: NewApiKey, provider: ProviderMetadata, policy: CheckPolicy): ErrorItem | undefined {
  const { name, provider_id } = provider
  if (policy.uncheckedKeys === 'refuse') {
    const message = `${name} does not tell what a key may do, and this service accepts only keys that are known to be read-only.`
    return { cause: 'excess_permission', provider_id, message }
  }
  if (given.confirmedReadOnly === true) return undefined
  throw invalidParameter(
    'connection.confirmed_read_only',
    `must be true for ${name}, which does not tell what a key may do: let the person confirm that it can only read`,
  )
}

function checkWallet(given: WalletCredentials, provider: ProviderMetadata): ErrorItem | undefined {
  const members = [
    { field: 'address', value: given.address },
    { field: 'extended_public_key', value: given.extendedPublicKey },
    { field: 'descriptor', value: given.descriptor },
  ].flatMap(({ field, value }) => (value === undefined ? [] : [{ field, value }]))
  const [only, ...others] = members
  if (only === undefined || others.length > 0) {
    throw invalidParameter('connection', 'must have exactly one of address, extended_public_key and descriptor')
  }
  const { name, provider_id, credential_fields } = provider
  const field = credential_fields.find((one) => one.name === only.field)
  if (field === undefined) {
    const accepted = credential_fields.map((one) => one.name).join(' or ')
    throw invalidParameter(`connection.${only.field}`, `is not accepted for ${name}; send ${accepted}`)
  }
  checkNetworks(given.networks, provider)
  const refuse = (message: string, fix: string): ErrorItem => ({ cause: 'invalid_address', provider_id, message, fix })
  // Words and keys that can spend must never be stored, not even for the moment until a worker looks at them.
  const secret = findPrivateMaterial(only.value)
  if (secret === 'private_key_or_hash') {
    const message = 'This is a private key or the hash of a transaction, not an address. Nothing was stored.'
    return refuse(message, 'Copy the address from your wallet. If it is a private key, never paste it anywhere.')
  }
  if (secret !== undefined) {
    const { message, fix } = spendingSecret('an address')
    return refuse(message, fix)
  }
  const found = recognizeWallet(only.value)
  if (found !== undefined && 'mistake' in found) return refuse(...mistakes[found.mistake])
  const isOther = found !== undefined && found.wallet.kind !== only.field
  if (isOther && credential_fields.some((one) => one.name === found.wallet.kind)) {
    return refuse(
      `This is not the ${field.label} but another way to name a wallet.`,
      `Send it as ${found.wallet.kind}.`,
    )
  }
  const value = found?.wallet.value ?? only.value
  if (!isOther && (field.shape === null || fitsShape(field.shape, value))) return undefined
  return refuse(`This is not a valid ${field.label} of ${name}.`, 'Copy it again from your wallet.')
}

function checkNetworks(given: WalletCredentials['networks'], { name, networks = [] }: ProviderMetadata): void {
  const isKnown = (one: string): boolean => networks.some((network) => [network.name, ...network.aliases].includes(one))
  if (given === undefined || given.every(isKnown)) return
  throw invalidParameter(
    'connection.networks',
    networks.length === 0
      ? `is not accepted: ${name} has no networks to choose from`
      : `must be among ${networks.map((network) => network.name).join(', ')} for ${name}`,
  )
}

const mistakes: Readonly<Record<WalletMistake, [message: string, fix: string]>> = {
  checksum: [
    'A character of this address or key is wrong: its checksum does not match.',
    'Copy it again from your wallet.',
  ],
  test_network: ['This belongs to a test network.', 'Use an address or key of the main network.'],
  unsupported_script: [
    'Wallets with several keys or conditions cannot be read.',
    'Use an address, or a descriptor with one extended public key.',
  ],
  name: ['This is a name, not an address. Names are not looked up.', 'Copy the address that the name stands for.'],
}
