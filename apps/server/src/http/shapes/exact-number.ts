/**
 * A JSON number with every digit. `JSON.stringify` writes what `JSON.rawJSON` wraps as it is, so no binary float stands
 * between the provider's digits and ours (https://github.com/tc39/proposal-json-parse-with-source; V8 has it,
 * TypeScript's library does not know it yet).
 */
import type { Decimal } from '@assay/core'

export interface RawJson {
  readonly rawJSON: string
}

const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => RawJson }

/** A Decimal is canonical: digits with at most a minus and a point, which is also a JSON number. */
export function toExactNumber(value: Decimal): RawJson {
  return rawJSON(value)
}
