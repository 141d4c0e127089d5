/**
 * Secrets at rest: a compact JWE (RFC 7516) each. Every seal draws its own data key, wrapped by the operator's newest key
 * (A256GCMKW); the header names that key, so that any key of the ring opens what it sealed, and the thing the secret
 * belongs to, so that a text copied to another row does not open there.
 */
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'
import type { Keyring } from './keys.ts'

export function sealText(keyring: Keyring, boundTo: string, text: string): Promise<string> {
  const [newest] = keyring.sealing
  return new CompactEncrypt(new TextEncoder().encode(text))
    .setProtectedHeader({ alg: 'A256GCMKW', enc: 'A256GCM', kid: newest.name, bound_to: boundTo })
    .encrypt(newest.secret)
}

export async function openText(keyring: Keyring, boundTo: string, sealed: string): Promise<string> {
  const { plaintext, protectedHeader } = await compactDecrypt(
    sealed,
    ({ kid }) => {
      const key = keyring.sealing.find(({ name }) => name === kid)
      if (key === undefined) throw new Error(`no sealing key named ${JSON.stringify(kid)} in ASSAY_SEALING_KEYS`)
      return key.secret
    },
    { keyManagementAlgorithms: ['A256GCMKW'], contentEncryptionAlgorithms: ['A256GCM'] },
  )
  if (protectedHeader['bound_to'] !== boundTo) throw new Error('sealed for another connection or row')
  return new TextDecoder().decode(plaintext)
}

/** The key that sealed it, by its name in the ring. */
export function sealKeyName(sealed: string): string {
  return decodeProtectedHeader(sealed).kid ?? ''
}

/** What a look at everything of one kind that is sealed has found. */
export interface SealReport {
  /** By the name of the key that sealed them. */
  sealedBy: Map<string, number>
  /** What no key of the ring opens, by the id of what it belongs to. */
  lost: string[]
}

/** One of them, counted in the report. Undefined when it does not open: one that is lost must not hide the others. */
export async function examineSeal(
  report: SealReport,
  keyring: Keyring,
  { id, boundTo, sealed }: { id: string; boundTo: string; sealed: string },
): Promise<{ keyName: string; text: string } | undefined> {
  const keyName = sealKeyName(sealed)
  report.sealedBy.set(keyName, (report.sealedBy.get(keyName) ?? 0) + 1)
  const text = await openText(keyring, boundTo, sealed).catch(() => undefined)
  if (text === undefined) report.lost.push(id)
  return text === undefined ? undefined : { keyName, text }
}
