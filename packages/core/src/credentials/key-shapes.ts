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
