/** Credentials at rest: what is sealed for a connection, and that it opens for that connection alone (see sealing.ts). */
import { z } from 'zod'
import type { Keyring } from '../keys.ts'
import { openText, sealKeyName, sealText } from '../sealing.ts'

const credentialsSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('api_key'),
    apiKey: z.string(),
    secretKey: z.string(),
    passphrase: z.string().exactOptional(),
  }),
  /** Back from the provider's page: not tokens yet. */
  z.object({ type: z.literal('oauth2_code'), code: z.string(), codeVerifier: z.string(), redirectUri: z.string() }),
  z.object({
    type: z.literal('oauth2'),
    accessToken: z.string(),
    refreshToken: z.string().nullable(),
    expiresAtMs: z.number(),
  }),
])
export type SealedCredentials = z.infer<typeof credentialsSchema>

export interface Sealer {
  seal(connectionId: string, credentials: SealedCredentials): Promise<string>
  open(connectionId: string, sealed: string): Promise<SealedCredentials>
  /** The key that sealed it, by its name in the ring. */
  keyNameOf(sealed: string): string
}

export function createSealer(keyring: Keyring): Sealer {
  return {
    seal: (connectionId, credentials) => sealText(keyring, connectionId, JSON.stringify(credentials)),
    keyNameOf: sealKeyName,
    async open(connectionId, sealed) {
      return credentialsSchema.parse(JSON.parse(await openText(keyring, connectionId, sealed)))
    },
  }
}
