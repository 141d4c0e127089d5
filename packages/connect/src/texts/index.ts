/** The person's language: asked for by the application, or the browser's, or English. One file is loaded, not six. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { en, type TextKey } from './en.ts'
import { fillText, type Text, type Values } from './text.ts'

export type { TextKey } from './en.ts'

type Texts = Readonly<Record<TextKey, Text>>

const languages: Readonly<Record<string, () => Promise<Texts>>> = {
  en: async () => en,
  de: async () => (await import('./de.ts')).de,
  fr: async () => (await import('./fr.ts')).fr,
  es: async () => (await import('./es.ts')).es,
  pt: async () => (await import('./pt.ts')).pt,
  ja: async () => (await import('./ja.ts')).ja,
}

export interface Speech {
  language: string
  t: (key: TextKey, values?: Values) => string
  /** 2 March 2026, in the person's way. */
  date: (iso: string) => string
  /** March 2021: for the beginning of a history a day says too much. */
  month: (iso: string) => string
  moment: (iso: string) => string
  /** US dollars, whole. Decimal text in; the digits behind the point are dropped, not rounded through a float. */
  dollars: (decimal: string) => string
  /** Every digit of a decimal text, without its sign. */
  amount: (decimal: string) => string
}

export async function loadSpeech(wanted: readonly string[]): Promise<Speech> {
  // The full tag keeps the person's format of numbers and dates (de-CH); its first part chooses the language.
  const tag = wanted.find((candidate) => isTag(candidate) && Object.hasOwn(languages, primary(candidate))) ?? 'en'
  const load = languages[primary(tag)] ?? languages['en']
  const texts = (await load?.()) ?? en
  return createSpeech(tag, texts)
}

export function createSpeech(language: string, texts: Texts = en): Speech {
  const dated = (options: Intl.DateTimeFormatOptions) => (iso: string) =>
    new Intl.DateTimeFormat(language, options).format(new Date(iso))
  return {
    language,
    t: (key, values = {}) => fillText(texts[key], values, language),
    date: dated({ dateStyle: 'long' }),
    month: dated({ year: 'numeric', month: 'long' }),
    moment: dated({ dateStyle: 'medium', timeStyle: 'short' }),
    dollars: (decimal) =>
      new Intl.NumberFormat(language, { style: 'currency', currency: 'USD', maximumFractionDigits: 0 }).format(
        BigInt(/^-?\d+/.exec(decimal)?.[0] ?? '0'),
      ),
    amount: (decimal) => toAmount(language, decimal),
  }
}

/** The language's own format writes the whole part; a float would lose digits of the fraction, so they are appended. */
function toAmount(language: string, decimal: string): string {
  const [, whole = '0', fraction] = /^-?(\d+)(?:\.(\d+))?$/.exec(decimal) ?? []
  const format = new Intl.NumberFormat(language)
  const point = format.formatToParts(0.5).find(({ type }) => type === 'decimal')?.value ?? '.'
  return format.format(BigInt(whole)) + (fraction === undefined ? '' : point + fraction)
}

function primary(tag: string): string {
  return tag.split('-', 1)[0]?.toLowerCase() ?? 'en'
}

function isTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1
  } catch {
    return false
  }
}

const SpeechContext = createContext<Speech>(createSpeech('en'))
export const SpeechProvider = SpeechContext.Provider

export function useSpeech(): Speech {
  return useContext(SpeechContext)
}
