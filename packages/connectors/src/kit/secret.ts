/** Objects that hold keys print as `[secret]` wherever they are logged, serialised or shown in a debugger. */
import { inspect } from 'node:util'

const hidden = { value: () => '[secret]', enumerable: false }

/** The same object; its members can still be read by name. */
export function conceal<T extends object>(value: T): T {
  return Object.defineProperties(value, { [inspect.custom]: hidden, toJSON: hidden, toString: hidden })
}
