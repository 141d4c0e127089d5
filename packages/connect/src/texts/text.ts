/** How a text is written: plain, or one for each plural form the language has (Intl.PluralRules). */
export type Text = string | ({ other: string } & Partial<Record<Intl.LDMLPluralRule, string>>)

export type Values = Readonly<Record<string, string | number>>

/** Numbers are written as the language writes them; `count` also chooses the plural. */
export function fillText(text: Text, values: Values, language: string): string {
  const { count } = values
  const form =
    typeof text === 'string'
      ? text
      : ((typeof count === 'number' ? text[pluralOf(language, count)] : undefined) ?? text.other)
  return form.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name]
    if (value === undefined) return whole
    return typeof value === 'number' ? new Intl.NumberFormat(language).format(value) : value
  })
}

function pluralOf(language: string, count: number): Intl.LDMLPluralRule {
  return new Intl.PluralRules(language).select(count)
}
