/** HTML as a tagged template: every value is escaped unless it is HTML itself. */
export interface Html {
  readonly html: string
}

type Value = string | number | Html | readonly Html[] | null | undefined | false

export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  const parts = strings.map((text, index) => text + (index < values.length ? toText(values[index]) : ''))
  return { html: parts.join('') }
}

function toText(value: Value): string {
  if (value === null || value === undefined || value === false) return ''
  if (typeof value === 'string' || typeof value === 'number') return escape(String(value))
  if ('html' in value) return value.html
  return value.map((part) => part.html).join('')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character)
}
