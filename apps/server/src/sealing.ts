/**
 * Secrets at rest: a compact JWE (RFC 7516) each. Every seal agrees on a key of its own with the newest public key
 * (ECDH-ES+A256KW over X25519, RFC 7518 §4.6 and RFC 8037). The header names that key, so that any private key of the
 * ring opens what its public half sealed, and the thing the secret belongs to, so that a text copied to another row
 * does not open there.
 *
 * Every holder of a public key can seal, and a seal does not say who made it. That is enough, because an attacker who
 * can write to the database could put false data there directly.
 */
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader } from 'jose'
import type { Database } from './db/index.ts'
import type { Keyring } from './keys.ts'

export function sealText({ seals: [newest] }: Pick<Keyring, 'seals'>, boundTo: string, text: string): Promise<string> {
  return new CompactEncrypt(new TextEncoder().encode(text))
    .setProtectedHeader({ alg: 'ECDH-ES+A256KW', enc: 'A256GCM', kid: newest.name, bound_to: boundTo })
    .encrypt(newest.key)
}

export async function openText({ opens }: Pick<Keyring, 'opens'>, boundTo: string, sealed: string): Promise<string> {
  if (opens === undefined) throw new Error('this process has no private sealing keys: only workers open secrets')
  const { plaintext, protectedHeader } = await compactDecrypt(
    sealed,
    ({ kid }) => {
      const found = opens.find(({ name }) => name === kid)
      if (found === undefined) {
        throw new Error(`no sealing key named ${JSON.stringify(kid)} in ASSAY_SEALING_PRIVATE_KEYS`)
      }
      return found.key
    },
    { keyManagementAlgorithms: ['ECDH-ES+A256KW'], contentEncryptionAlgorithms: ['A256GCM'] },
  )
  if (protectedHeader['bound_to'] !== boundTo) throw new Error('sealed for another connection or row')
  return new TextDecoder().decode(plaintext)
}

/** The key that sealed it, by its name in the ring. Empty for a text that is not a seal, such as one that was cut short. */
export function sealKeyName(sealed: string): string {
  try {
    return decodeProtectedHeader(sealed).kid ?? ''
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return ''
  }
}

/** The findings of a look at all secrets of one kind. */
export interface SealReport {
  /** By the name of the key that sealed them. */
  sealedBy: Map<string, number>
  /** The ids of things whose secret no key of the ring opens. */
  lost: string[]
}

/** A rotation's report: how many were sealed with the newest key. */
export interface Resealed extends SealReport {
  resealed: number
}

export interface SealedThing {
  id: string
  boundTo: string
  sealed: string
}

/** Counts one secret in the report. Returns undefined when it does not open: a lost one must not hide the others. */
export async function examineSeal(
  report: SealReport,
  keyring: Keyring,
  { id, boundTo, sealed }: SealedThing,
): Promise<{ keyName: string; text: string } | undefined> {
  const keyName = sealKeyName(sealed)
  report.sealedBy.set(keyName, (report.sealedBy.get(keyName) ?? 0) + 1)
  const text = await openText(keyring, boundTo, sealed).catch(() => undefined)
  if (text === undefined) report.lost.push(id)
  return text === undefined ? undefined : { keyName, text }
}

/**
 * Seals one with the newest key if an older one sealed it. `replace` is false when the row holds something else by now.
 */
export async function resealOne(
  report: Resealed,
  keyring: Keyring,
  thing: SealedThing,
  replace: (sealed: string) => Promise<boolean>,
): Promise<void> {
  const opened = await examineSeal(report, keyring, thing)
  if (opened === undefined || opened.keyName === keyring.seals[0].name) return
  if (await replace(await sealText(keyring, thing.boundTo, opened.text))) report.resealed += 1
}

/** How the rows of one kind are listed, read and replaced. All of them must fit into memory. */
interface SealedKind<Row> {
  list: (db: Database) => Promise<readonly Row[]>
  toThing: (row: Row) => SealedThing
  replace: (db: Database, row: Row, sealed: string) => Promise<boolean>
}

/**
 * `check` opens everything of this kind and changes nothing; `reseal` also seals with the newest key what an older one
 * sealed.
 */
export function createSealKeeper<Row>({ list, toThing, replace }: SealedKind<Row>): {
  check: (db: Database, keyring: Keyring) => Promise<SealReport>
  reseal: (db: Database, keyring: Keyring) => Promise<Resealed>
} {
  return {
    async check(db, keyring) {
      const report: SealReport = { sealedBy: new Map(), lost: [] }
      for (const row of await list(db)) await examineSeal(report, keyring, toThing(row))
      return report
    },
    async reseal(db, keyring) {
      const report: Resealed = { sealedBy: new Map(), lost: [], resealed: 0 }
      for (const row of await list(db)) {
        await resealOne(report, keyring, toThing(row), (sealed) => replace(db, row, sealed))
      }
      return report
    },
  }
}
