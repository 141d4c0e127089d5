/**
 * What the keys of a provider look like, where that is known for certain. A shape that is only likely does not belong
 * here: the doctor would refuse keys that work. Sources: the providers' own pages where keys are made; ccxt 4.5.
 */
export interface KeyShape {
  /** The whole value, cleaned. */
  pattern: RegExp
  lengthMin: number
  lengthMax: number
  /** Characters that cannot occur. */
  foreign: RegExp
}

type FieldName = 'api_key' | 'secret_key'

const base64Foreign = /[^A-Za-z0-9+/=]/
const printable = /[^\x21-\x7e]/

const shapes: Readonly<Record<string, Readonly<Partial<Record<FieldName, KeyShape>>>>> = {
  // 42 and 64 bytes in base64: docs.kraken.com shows 56 and 88 characters; the key never needs padding.
  kraken: {
    api_key: { pattern: /^[A-Za-z0-9+/]{56}$/, lengthMin: 56, lengthMax: 56, foreign: base64Foreign },
    secret_key: { pattern: /^[A-Za-z0-9+/]{86}==$/, lengthMin: 88, lengthMax: 88, foreign: base64Foreign },
  },
  binance: {
    api_key: { pattern: /^[A-Za-z0-9]{64}$/, lengthMin: 64, lengthMax: 64, foreign: /[^A-Za-z0-9]/ },
  },
}

/** Nothing known: any text without spaces, and not absurdly short. */
const anyKey: KeyShape = { pattern: /^[\x21-\x7e]{8,4096}$/, lengthMin: 8, lengthMax: 4096, foreign: printable }

export function shapeOf(providerId: string, field: FieldName): KeyShape {
  return (Object.hasOwn(shapes, providerId) ? shapes[providerId]?.[field] : undefined) ?? anyKey
}

export function isKnownShape(shape: KeyShape): boolean {
  return shape !== anyKey
}
