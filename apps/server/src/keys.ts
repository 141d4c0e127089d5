/**
 * The operator's keys. One ring of 32-byte keys, newest first: the first seals and signs, all of them open and verify,
 * so that a rotation needs no pause. Keys for other purposes (cursors, token derivation) are derived from the ring by
 * HKDF (RFC 5869), one for each purpose, and never used for anything else.
 *
 * In sandbox mode the ring is made at first start and kept in the data directory, readable by its owner alone.
 */
import { hkdfSync, randomBytes } from 'node:crypto'
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
import { ConfigError } from './config.ts'

export interface RingKey {
  name: string
  secret: Uint8Array
}

export interface Keyring {
  sealing: readonly [RingKey, ...RingKey[]]
  /** One key for each of the ring's, in its order. */
  derive(purpose: 'cursor' | 'token' | 'lane' | 'sign_in' | 'provider_sign_in'): readonly Uint8Array[]
}

const keyBytes = 32

export function parseKeyring(text: string): Keyring {
  const keys = text.split(',').map((part): RingKey => {
    const [name = '', encoded = ''] = part.trim().split(':', 2)
    const secret = Buffer.from(encoded, 'base64')
    // Never the value itself: this message ends up on a terminal and in a log.
    if (!/^[A-Za-z0-9_-]{1,40}$/.test(name) || secret.length !== keyBytes) {
      throw new ConfigError([`ASSAY_SEALING_KEYS must be name:base64 of ${keyBytes} bytes, comma-separated`])
    }
    return { name, secret: new Uint8Array(secret) }
  })
  const [first, ...others] = keys
  if (first === undefined || new Set(keys.map((key) => key.name)).size !== keys.length) {
    throw new ConfigError(['ASSAY_SEALING_KEYS must name each key differently'])
  }
  return {
    sealing: [first, ...others],
    derive: (purpose) =>
      keys.map((key) => new Uint8Array(hkdfSync('sha256', key.secret, '', `assay:${purpose}`, keyBytes))),
  }
}

export function ensureSandboxKeyring(dataDirectory: string): Keyring {
  const file = path.join(dataDirectory, 'sealing.keys')
  if (!existsSync(file)) {
    mkdirSync(dataDirectory, { recursive: true })
    writeOnce(file, `sandbox:${randomBytes(keyBytes).toString('base64')}\n`)
  }
  return parseKeyring(readFileSync(file, 'utf8'))
}

/**
 * Under its name the file is whole or absent, however the process ends: an empty one would keep every later start from
 * succeeding. A link, unlike a rename, never takes the place of what is there: of two processes that start at once, one
 * gives the file its name and the other reads that.
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

/** The name is as lasting as what it names. */
function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
