/**
 * Checks all fields of a form together (only a comparison of both fields shows that a key was pasted in place of the
 * secret) and gives one remark about each. Remarks are codes with figures; the widget provides the words, in the
 * person's language.
 */
import { findPem } from './paste.ts'
import { findPrivateMaterial } from './private-material.ts'
import { chainNames, recognizeWallet, type WalletMistake } from './wallet.ts'

/**
 * The shape of a key, where it is certain. A provider's definition gives it as plain data, which the catalogue
 * publishes. A shape that is only likely does not belong here, because the doctor would refuse keys that work.
 */
export interface KeyShape {
  /** A regular expression for the whole value, cleaned and without anchors. */
  pattern: string
  /** The characters that can occur, as they stand between the brackets of a regular expression. */
  alphabet: string
  length_min: number
  length_max: number
}

/** Used when the provider's shape is unknown: any text without spaces that is not absurdly short. */
export const anyKey: KeyShape = {
  pattern: String.raw`[\x21-\x7e]{8,4096}`,
  alphabet: String.raw`\x21-\x7e`,
  length_min: 8,
  length_max: 4096,
}

export function fitsShape({ pattern }: KeyShape, value: string): boolean {
  return new RegExp(`^(?:${pattern})$`).test(value)
}

/** The first character that a value of this shape cannot have. */
export function findForeignCharacter({ alphabet }: KeyShape, value: string): string | undefined {
  return new RegExp(`[^${alphabet}]`).exec(value)?.[0]
}

type FieldName = 'api_key' | 'secret_key' | 'passphrase' | 'address' | 'extended_public_key' | 'descriptor'

export interface FieldToExamine {
  name: FieldName
  required: boolean
  /** Cleaned by `cleanField`. */
  value: string
  /** From the provider's entry in the catalogue; null or absent when the shape of its keys is unknown. */
  shape?: KeyShape | null
  /** For a field that accepts any form of a wallet: the forms that this provider reads. By default the field itself. */
  accepts?: readonly { name: FieldName; shape: KeyShape | null }[]
}

export type RemarkCode =
  | 'looks_right'
  /** It can be sent, and nothing is known of what it should look like. */
  | 'filled_in'
  | 'missing'
  | 'swapped'
  | 'same_twice'
  | 'foreign_character'
  | 'too_short'
  | 'too_long'
  | 'wrong_shape'
  | 'broken_pem'
  | 'wrong_checksum'
  | 'test_network'
  | 'unsupported_script'
  | 'wallet_name'
  | 'other_chain'
  | 'is_address'
  | 'is_extended_public_key'
  | 'is_descriptor'
  | 'no_wallet'
  | 'seed_phrase'
  | 'private_key'
  | 'private_key_or_hash'
  | 'extended_private_key'

export interface Remark {
  field: FieldName
  code: RemarkCode
  /** `stop`: sending it could not work, or must not happen. `quiet`: not filled in yet. */
  level: 'good' | 'quiet' | 'stop'
  /** The character, the lengths or the name of the chain that the remark mentions. */
  got?: string | number
  expected?: number
}

export function examineFields(fields: readonly FieldToExamine[]): Remark[] {
  const swapped = isSwapped(fields)
  return fields.flatMap((field) => {
    const remark = swapped ? swappedRemark(field) : examineField(field, fields)
    return remark === undefined ? [] : [remark]
  })
}

/** The form can be sent: everything required is there and nothing stops it. */
export function isReady(remarks: readonly Remark[]): boolean {
  return remarks.every(({ level }) => level === 'good')
}

function examineField(field: FieldToExamine, all: readonly FieldToExamine[]): Remark | undefined {
  const { name, value, required } = field
  if (value === '') return required ? { field: name, code: 'missing', level: 'quiet' } : undefined
  // Checked first, because this must not be sent, whatever else it looks like. A hexadecimal API secret has the same
  // form as a wallet's private key but is not one.
  const hidden = findPrivateMaterial(value)
  if (hidden !== undefined && (hidden !== 'private_key_or_hash' || isWalletField(name))) {
    return { field: name, code: hidden, level: 'stop' }
  }
  if (isWalletField(name)) return examineWallet(field)
  if (name === 'passphrase') return { field: name, code: 'filled_in', level: 'good' }
  if (all.some((other) => other.name !== name && other.name !== 'passphrase' && other.value === value)) {
    return { field: name, code: 'same_twice', level: 'stop' }
  }
  return examineKey(name, value, field.shape ?? null)
}

type WalletField = 'address' | 'extended_public_key' | 'descriptor'

function isWalletField(name: FieldName): name is WalletField {
  return name === 'address' || name === 'extended_public_key' || name === 'descriptor'
}

function examineKey(name: 'api_key' | 'secret_key', value: string, known: KeyShape | null): Remark {
  const shape = known ?? anyKey
  const pem = findPem(value)
  // No provider uses a PEM block as the name of a key.
  if (pem !== undefined && name === 'api_key') return { field: name, code: 'wrong_shape', level: 'stop' }
  if (pem !== undefined) {
    return pem === 'whole'
      ? { field: name, code: 'looks_right', level: 'good' }
      : { field: name, code: 'broken_pem', level: 'stop' }
  }
  const foreign = findForeignCharacter(shape, value)
  if (foreign !== undefined) return { field: name, code: 'foreign_character', level: 'stop', got: foreign }
  const lengths = { got: value.length }
  if (value.length < shape.length_min) {
    return { field: name, code: 'too_short', level: 'stop', ...lengths, expected: shape.length_min }
  }
  if (value.length > shape.length_max) {
    return { field: name, code: 'too_long', level: 'stop', ...lengths, expected: shape.length_max }
  }
  if (!fitsShape(shape, value)) return { field: name, code: 'wrong_shape', level: 'stop' }
  return { field: name, code: known === null ? 'filled_in' : 'looks_right', level: 'good' }
}

function examineWallet({ name, value, shape = null, accepts = [{ name, shape }] }: FieldToExamine): Remark {
  const found = recognizeWallet(value)
  if (found === undefined) return { field: name, code: 'no_wallet', level: 'stop' }
  if ('mistake' in found) return { field: name, code: remarkOf(found.mistake), level: 'stop' }
  const { kind, chain, value: written } = found.wallet
  const got = chainNames[chain]
  const isRead = accepts.some((one) => one.name === kind && (one.shape === null || fitsShape(one.shape, written)))
  return isRead
    ? { field: name, code: `is_${kind}`, level: 'good', got }
    : { field: name, code: 'other_chain', level: 'stop', got }
}

const remarksOfMistakes = {
  checksum: 'wrong_checksum',
  test_network: 'test_network',
  unsupported_script: 'unsupported_script',
  name: 'wallet_name',
} as const satisfies Record<WalletMistake, RemarkCode>

/** The remark about a text that was meant as a wallet and is invalid. */
export function remarkOf(mistake: WalletMistake): (typeof remarksOfMistakes)[WalletMistake] {
  return remarksOfMistakes[mistake]
}

/** Each value would be valid in the other field, and at least one is invalid in its own. */
function isSwapped(fields: readonly FieldToExamine[]): boolean {
  const key = fields.find(({ name }) => name === 'api_key')
  const secret = fields.find(({ name }) => name === 'secret_key')
  if (key === undefined || secret === undefined) return false
  const [keyShape, secretShape] = [key.shape ?? null, secret.shape ?? null]
  if (keyShape === null || secretShape === null) return false
  // One of the two is enough while the other is still empty.
  const isKeyElsewhere = key.value === '' || fitsSecret(secretShape, key.value)
  const isSecretElsewhere = secret.value === '' || fitsShape(keyShape, secret.value)
  // Where keys and secrets have one shape, each is at home in both fields.
  const isKeyAtHome = key.value === '' || fitsShape(keyShape, key.value)
  const isSecretAtHome = secret.value === '' || fitsSecret(secretShape, secret.value)
  return isKeyElsewhere && isSecretElsewhere && !(isKeyAtHome && isSecretAtHome)
}

function fitsSecret(shape: KeyShape, value: string): boolean {
  return fitsShape(shape, value) || findPem(value) === 'whole'
}

function swappedRemark({ name, value }: FieldToExamine): Remark | undefined {
  if (name !== 'api_key' && name !== 'secret_key') return undefined
  return value === ''
    ? { field: name, code: 'missing', level: 'quiet' }
    : { field: name, code: 'swapped', level: 'stop' }
}
