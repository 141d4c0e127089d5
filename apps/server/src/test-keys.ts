/** Keys for tests, made from their names: the same name gives the same key in every process. */
import { createHash } from 'node:crypto'
import { openKeyring, toPublicBytes, writeRing, type Keyring, type KeyTexts } from './keys.ts'
import type { KeyRing, NamedKey } from './config/setting-values.ts'

/** `one` is a key of that name; `one/other` is another key of the same name. */
export function testKeys(
  first: string,
  ...others: string[]
): { server: KeyRing; sealingPublic: KeyRing; sealingPrivate: KeyRing } {
  const toRing = (purpose: string): KeyRing => [toKey(purpose, first), ...others.map((one) => toKey(purpose, one))]
  const sealingPrivate = toRing('sealing')
  const [newest, ...older] = sealingPrivate
  const toPublic = ({ name, bytes }: NamedKey): NamedKey => ({ name, bytes: toPublicBytes(bytes) })
  return { server: toRing('server'), sealingPublic: [toPublic(newest), ...older.map(toPublic)], sealingPrivate }
}

function toKey(purpose: string, one: string): NamedKey {
  const bytes = new Uint8Array(createHash('sha256').update(`${purpose} ${one}`).digest())
  return { name: one.split('/', 1)[0] ?? '', bytes }
}

export function testKeyring(first: string, ...others: string[]): Keyring {
  return openKeyring(testKeys(first, ...others))
}

/** The keys as settings of a process. */
export function testKeyTexts(first: string, ...others: string[]): KeyTexts {
  const { server, sealingPublic, sealingPrivate } = testKeys(first, ...others)
  return {
    ASSAY_SERVER_KEYS: writeRing(server),
    ASSAY_SEALING_PUBLIC_KEYS: writeRing(sealingPublic),
    ASSAY_SEALING_PRIVATE_KEYS: writeRing(sealingPrivate),
  }
}
