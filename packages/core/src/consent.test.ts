import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { consentLanguages, toConsentLanguage, toConsentRecord, toConsentText, type ConsentFacts } from './consent.ts'

const facts: ConsentFacts = {
  app: 'Northwind',
  tenant: 'Sandbox',
  scopes: ['providers:read', 'providers:write', 'assets:read', 'transactions:read', 'offline_access', 'claims:read'],
  sharesEmail: true,
  expiresAt: '2027-03-01T23:59:59.999Z',
  existing: ['Kraken', 'Binance (savings)'],
}

const noAmounts = {
  en: 'Not how much you hold.',
  de: 'Nicht, wie viel Sie halten.',
  fr: 'Pas combien vous détenez.',
  es: 'No cuánto tienes.',
  pt: 'Não quanto você tem.',
  ja: '保有額そのものは伝わりません。',
} as const
const ownPages = {
  en: 'your own page here',
  de: 'eigene',
  fr: 'votre page personnelle',
  es: 'tu página personal',
  pt: 'página pessoal',
  ja: 'あなたのページ',
} as const

describe('the words of the consent', () => {
  for (const language of consentLanguages) {
    it(`in ${language} name every scope, the email address, the end and what is connected already`, () => {
      const whole = toConsentRecord(facts, language)
      assert.doesNotMatch(whole, /[{}]|undefined|!/)
      for (const scope of facts.scopes) {
        const without = toConsentRecord({ ...facts, scopes: facts.scopes.filter((one) => one !== scope) }, language)
        assert.ok(without.length < whole.length, `${scope} adds words`)
      }
      assert.ok(toConsentRecord({ ...facts, sharesEmail: false }, language).length < whole.length)
      assert.match(whole, /2027/)
      assert.match(whole, /Kraken\nBinance \(savings\)$/)
    })

    it(`in ${language} the record is what the page shows, line by line`, () => {
      const { title, lead, sections, existing } = toConsentText(facts, language)
      const shown = [title, lead, ...sections.flatMap((one) => [one.title, ...one.lines]), existing, ...facts.existing]
      assert.equal(toConsentRecord(facts, language), shown.join('\n'))
    })
  }

  it('for claims only say what the application learns, and that it sees nothing', () => {
    for (const language of consentLanguages) {
      const { title, sections, existing } = toConsentText({ ...facts, scopes: ['claims:read'] }, language)
      const whole = toConsentText(facts, language)
      assert.notEqual(title, whole.title)
      assert.notEqual(existing, whole.existing)
      const linesOf = (of: typeof sections, name: string): string[] =>
        of.find((section) => section.name === name)?.lines ?? []
      const [learned, ...others] = linesOf(sections, 'see')
      const shared = learned?.replace(` ${noAmounts[language]}`, '').replace(noAmounts[language], '')
      assert.ok(shared !== undefined && linesOf(whole.sections, 'see').includes(shared), language)
      // In addition, the tenant learns the email address.
      assert.equal(others.length, 1)
      assert.equal(linesOf(sections, 'never').length, linesOf(whole.sections, 'never').length + 1)
    }
  })

  it('say that claims hide the amount only where neither balances nor transactions are shared', () => {
    for (const [language, noAmount] of Object.entries(noAmounts)) {
      const record = (scopes: ConsentFacts['scopes']): string =>
        toConsentRecord({ ...facts, scopes }, toConsentLanguage(language))
      assert.ok(record(['claims:read']).includes(noAmount), language)
      assert.ok(record(['claims:read', 'providers:read']).includes(noAmount), language)
      assert.ok(!record(['assets:read', 'claims:read']).includes(noAmount), language)
      assert.ok(!record(['transactions:read', 'claims:read']).includes(noAmount), language)
    }
  })

  it('name the own page only to a user who can open it by email', () => {
    for (const [language, ownPage] of Object.entries(ownPages)) {
      const record = (sharesEmail: boolean): string =>
        toConsentRecord({ ...facts, sharesEmail }, toConsentLanguage(language))
      assert.equal(record(true).split(ownPage).length, 3, language)
      assert.ok(!record(false).includes(ownPage), language)
      const end = toConsentText({ ...facts, sharesEmail: false }, toConsentLanguage(language)).sections.at(-1)
      assert.match(end?.lines[0] ?? '', /2027.*Northwind/, language)
    }
  })

  it('use the punctuation of the language: U+202F before a mark in French, full-width marks in Japanese', () => {
    const whole = (language: 'fr' | 'ja'): string =>
      [facts.scopes, ['claims:read'] as const]
        .flatMap((scopes) => [true, false].map((sharesEmail) => ({ ...facts, scopes, sharesEmail })))
        .map((one) => toConsentRecord({ ...one, existing: ['Kraken'] }, language))
        .join('\n')
    assert.doesNotMatch(whole('fr'), /[^\u202f][:;?!»]|«[^\u202f]/)
    assert.doesNotMatch(whole('ja'), /[:;?]/)
  })

  it('fill in a name that looks like a placeholder only once', () => {
    assert.equal(toConsentText({ ...facts, app: '{tenant}' }, 'en').title, '{tenant} wants to see your crypto accounts')
  })

  it('are English for a language that the page does not have', () => {
    assert.deepEqual(['de-CH', 'PT-br', 'nl', null, undefined].map(toConsentLanguage), ['de', 'pt', 'en', 'en', 'en'])
  })
})
