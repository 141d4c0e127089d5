/**
 * Hints under the fields, and the labels of wallets, in the person's language. The catalogue has them in English, in
 * the words of each provider's definition, and that English text is the key to its translations (decision 0028). A text
 * that this widget does not know, because the service is newer, stays English.
 */
import { en, type TextKey } from './en.ts'
import { fillText } from './text.ts'

export function findHint(hint: string, provider: string): TextKey | undefined {
  return hintKeys.find((key) => fillText(en[key], { provider }, 'en') === hint)
}

/** Exchanges name the fields of a key in their own words, which a person looks for on their page: those stay. */
export function findLabel(label: string): TextKey | undefined {
  return labelKeys.find((key) => en[key] === label)
}

const listKeys = (prefix: string): TextKey[] => Object.keys(en).filter((key): key is TextKey => key.startsWith(prefix))
const hintKeys = listKeys('hint.')
const labelKeys = listKeys('label.')
