/**
 * Credentials at rest: a compact JWE (RFC 7516) for each connection. Every seal draws its own data key, wrapped by the
 * operator's newest key (A256GCMKW); the header names that key, so that any key of the ring opens what it sealed, and
 * the connection, so that a row copied to another connection does not open there.
 */
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'
import { z } from 'zod'
import type { Keyring } from '../keys.ts'

const credentialsSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('api_key'),
    apiKey: z.string(),
    secretKey: z.string(),
    passphrase: z.string().exactOptional(),
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
    seal(connectionId, credentials) {
      const [newest] = keyring.sealing
      return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(credentials)))
        .setProtectedHeader({ alg: 'A256GCMKW', enc: 'A256GCM', kid: newest.name, connection: connectionId })
        .encrypt(newest.secret)
    },

    keyNameOf: (sealed) => decodeProtectedHeader(sealed).kid ?? '',

    async open(connectionId, sealed) {
      const { plaintext, protectedHeader } = await compactDecrypt(
        sealed,
        ({ kid }) => {
          const key = keyring.sealing.find(({ name }) => name === kid)
          if (key === undefined) throw new Error(`no sealing key named ${JSON.stringify(kid)} in ASSAY_SEALING_KEYS`)
          return key.secret
        },
        { keyManagementAlgorithms: ['A256GCMKW'], contentEncryptionAlgorithms: ['A256GCM'] },
      )
      if (protectedHeader['connection'] !== connectionId) throw new Error('credentials sealed for another connection')
      return credentialsSchema.parse(JSON.parse(new TextDecoder().decode(plaintext)))
    },
  }
}
