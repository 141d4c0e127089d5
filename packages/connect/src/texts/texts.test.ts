import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { de } from './de.ts'
import { en } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { ja } from './ja.ts'
import { pt } from './pt.ts'
import { fillText, type Text } from './text.ts'

const languages: Readonly<Record<string, Readonly<Record<string, Text>>>> = { de, fr, es, pt, ja }

function formsOf(text: Text): string[] {
  return typeof text === 'string' ? [text] : Object.values(text)
}

function namesIn(text: Text): string[] {
  return [...new Set(formsOf(text).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].toSorted()
}

describe('texts', () => {
  for (const [language, texts] of Object.entries(languages)) {
    it(`${language} has every text that English has, with the same placeholders`, () => {
      assert.deepEqual(Object.keys(texts), Object.keys(en))
      for (const [key, english] of Object.entries(en)) {
        const text = texts[key] ?? ''
        assert.notEqual(formsOf(text).join(''), '', key)
        // A singular may omit the count ("the account"), or state it where English omits it.
        const withoutCount = (names: string[]): string[] => names.filter((name) => name !== '{count}')
        assert.deepEqual(withoutCount(namesIn(text)), withoutCount(namesIn(english)), key)
      }
    })

    it(`${language} has a form for every plural its rules can ask for in whole numbers`, () => {
      const rules = new Intl.PluralRules(language)
      for (const [key, text] of Object.entries(texts)) {
        if (typeof text === 'string') continue
        for (const count of [0, 1, 2, 5, 21, 1_000]) {
          assert.ok(text[rules.select(count)] !== undefined || Object.keys(text).length === 1, `${key} ${count}`)
        }
      }
    })
  }

  it('no English text has an article before a name that is filled in: it may begin with a vowel', () => {
    for (const text of Object.values<Text>(en)) {
      for (const form of formsOf(text)) assert.doesNotMatch(form, /\ban? \{/i, form)
    }
  })

  it('no text has an exclamation mark or jargon', () => {
    for (const texts of [en, ...Object.values(languages)]) {
      for (const text of Object.values<Text>(texts)) {
        for (const form of formsOf(text)) assert.doesNotMatch(form, /[!¡！]|OAuth|\bscope\b|\bsync\b/i, form)
      }
    }
  })
})

describe('punctuation', () => {
  const listForms = (texts: Readonly<Record<string, Text>>): string[] => Object.values(texts).flatMap(formsOf)

  it('in French a line never breaks before a mark or inside quotes: the space there is U+202F', () => {
    for (const form of listForms(fr)) {
      assert.doesNotMatch(form, /[^\u202f][:;?!»]|«[^\u202f]/, form)
    }
  })

  it('in Spanish every question opens with its own mark', () => {
    for (const form of listForms(es)) {
      assert.equal(form.split('¿').length, form.split('?').length, form)
    }
  })

  it('in Japanese marks are full-width', () => {
    for (const form of listForms(ja)) assert.doesNotMatch(form, /[:;?]/, form)
  })
})

describe('filling a text', () => {
  const text = { one: '{count} asset in {place}', other: '{count} assets in {place}' }

  it('chooses the plural by the language, and writes numbers its way', () => {
    assert.equal(fillText(text, { count: 1, place: 'A' }, 'en'), '1 asset in A')
    assert.equal(fillText(text, { count: 1_240, place: 'A' }, 'en'), '1,240 assets in A')
    assert.equal(fillText(text, { count: 1_240, place: 'A' }, 'de'), '1.240 assets in A')
    assert.equal(fillText(text, { count: 0, place: 'A' }, 'fr'), '0 asset in A')
  })

  it('a value that holds a placeholder is not filled again', () => {
    assert.equal(fillText('{a} {b}', { a: '{b}', b: 'x' }, 'en'), '{b} x')
  })
})
