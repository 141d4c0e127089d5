/**
 * The keys of an installation, in two parts that are held by different processes.
 *
 *   server keys    a ring of 32-byte secrets, in every process. Keys for single purposes (cursors, token derivation, …)
 *                  are derived from them by HKDF (RFC 5869) and never used for anything else.
 *   sealing keys   X25519 pairs (RFC 7748). A process that stores a secret seals it to a public half; only
 *                  workers hold the private halves. A process that answers requests from the internet cannot open a
 *                  credential, not even its own.
 *
 * Both are rings, newest first: the first signs and seals, all of them verify and open, so that a rotation needs no
 * pause. In sandbox mode the keys are made at first start and kept in the data directory, readable by its owner alone.
 */
import { createPrivateKey, createPublicKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { ConfigError, keyRing, type KeyRing, type KeySettings, type NamedKey } from './config/setting-values.ts'

export const purposes = ['cursor', 'token', 'lane', 'sign_in', 'provider_sign_in', 'claims'] as const
export type KeyPurpose = (typeof purposes)[number]

/** A half of a pair. A KeyObject shows nothing of itself when it is printed. */
export interface SealingKey {
  name: string
  key: KeyObject
}

export type SealingKeys = readonly [SealingKey, ...SealingKey[]]

export interface Keyring {
  /** One key for each server key, in their order. */
  derive(purpose: KeyPurpose): readonly Uint8Array[]
  /** Public halves: the first seals. Throws a ConfigError in a command that was given none. */
  seals: SealingKeys
  /** Private halves. Undefined in a process that must not open anything. */
  opens: SealingKeys | undefined
}

const keyBytes = 32

export function openKeyring({ server, sealingPublic, sealingPrivate }: KeySettings): Keyring {
  if (server === undefined) throw new ConfigError(['ASSAY_SERVER_KEYS is required'])
  const opens = sealingPrivate && mapRing(sealingPrivate, ({ name, bytes }) => ({ name, key: toPrivateKey(bytes) }))
  const given = sealingPublic && mapRing(sealingPublic, ({ name, bytes }) => ({ name, key: toPublicKey(bytes) }))
  const seals = opens === undefined ? given : mapRing(opens, ({ name, key }) => ({ name, key: createPublicKey(key) }))
  return {
    derive: (purpose) =>
      server.map((key) => new Uint8Array(hkdfSync('sha256', key.bytes, '', `assay:${purpose}`, keyBytes))),
    get seals() {
      if (seals !== undefined) return seals
      throw new ConfigError(['ASSAY_SEALING_PUBLIC_KEYS is required to seal a secret'])
    },
    opens,
  }
}

function mapRing<A, B>([first, ...others]: readonly [A, ...A[]], to: (one: A) => B): readonly [B, ...B[]] {
  return [to(first), ...others.map(to)]
}

// DER of the two halves (RFC 8410): the header is the same for every X25519 key, and the key follows unchanged.
const privateHeader = Buffer.from('302e020100300506032b656e04220420', 'hex')
const publicHeader = Buffer.from('302a300506032b656e032100', 'hex')

export function toPrivateKey(bytes: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([privateHeader, bytes]), format: 'der', type: 'pkcs8' })
}

function toPublicKey(bytes: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([publicHeader, bytes]), format: 'der', type: 'spki' })
}

export function toPublicBytes(privateBytes: Uint8Array): Uint8Array {
  const der = createPublicKey(toPrivateKey(privateBytes)).export({ format: 'der', type: 'spki' })
  return new Uint8Array(der.subarray(publicHeader.length))
}

type KeySetting = 'ASSAY_SERVER_KEYS' | 'ASSAY_SEALING_PUBLIC_KEYS' | 'ASSAY_SEALING_PRIVATE_KEYS'
export type KeyTexts = Record<KeySetting, string>

/** New keys of one name, as their settings are written. */
export function generateKeys(name: string): KeyTexts {
  const privateBytes = randomBytes(keyBytes)
  const write = (bytes: Uint8Array): string => writeRing([{ name, bytes }])
  return {
    ASSAY_SERVER_KEYS: write(randomBytes(keyBytes)),
    ASSAY_SEALING_PUBLIC_KEYS: write(toPublicBytes(privateBytes)),
    ASSAY_SEALING_PRIVATE_KEYS: write(privateBytes),
  }
}

export function writeRing(keys: readonly NamedKey[]): string {
  return keys.map(({ name, bytes }) => `${name}:${Buffer.from(bytes).toString('base64')}`).join(',')
}

/** In the data directory, and in a backup that was asked to hold the keys. */
export const keysFileName = 'sealing.keys'

export function ensureOwnKeys(dataDirectory: string): KeySettings {
  const file = path.join(dataDirectory, keysFileName)
  if (!existsSync(file)) {
    mkdirSync(dataDirectory, { recursive: true, mode: 0o755 })
    const { ASSAY_SERVER_KEYS, ASSAY_SEALING_PRIVATE_KEYS } = generateKeys('sandbox')
    writeOnce(file, writeKeysFile({ ASSAY_SERVER_KEYS, ASSAY_SEALING_PRIVATE_KEYS }))
  }
  return readOwnKeys(dataDirectory)
}

/** New ones in their place would open nothing of what is stored. */
export function readOwnKeys(dataDirectory: string): KeySettings {
  const file = path.join(dataDirectory, keysFileName)
  if (!existsSync(file)) throw new ConfigError([`${file} does not exist; put the file of this installation back`])
  return parseKeysFile(readFileSync(file, 'utf8'), file)
}

/** Lines of NAME=value, which both a shell and `docker run --env-file` can read. */
export function writeKeysFile(texts: Readonly<Omit<KeyTexts, 'ASSAY_SEALING_PUBLIC_KEYS'>>): string {
  return Object.entries(texts)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

function parseKeysFile(text: string, file: string): KeySettings {
  const find = (name: keyof KeyTexts): KeyRing => {
    const line = text.split('\n').find((one) => one.startsWith(`${name}=`))
    try {
      return keyRing(line?.slice(name.length + 1) ?? '')
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw new ConfigError([`${file} has no valid ${name}; put the file of this installation back`])
    }
  }
  return {
    server: find('ASSAY_SERVER_KEYS'),
    // The public keys are derived from the private ones.
    sealingPublic: undefined,
    sealingPrivate: find('ASSAY_SEALING_PRIVATE_KEYS'),
  }
}

/**
 * However the process ends, the file is either complete or absent: an empty one would make every later start fail. A
 * link, unlike a rename, never replaces an existing file: if two processes start at once, one of them creates the file
 * and the other reads it.
 */
function writeOnce(file: string, text: string): void {
  const draft = `${file}.${randomBytes(8).toString('hex')}`
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    linkSync(draft, file)
    syncDirectory(path.dirname(file))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Makes the file's name as durable as its content. */
function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
