/** JSON Schema for people: a type in a few words, members as a table, names as links. */
import type { Json, JsonObject } from '@assay/contract'
import { escapeHtml as e, listOf, member, objectOf, renderText, textOf } from './html.ts'

/** The type of a schema; objects without a name are shown with their members. */
export function renderType(schema: JsonObject): string {
  if (schema['properties'] !== undefined) return renderTable(schema)
  const words = `<span class="type">${describe(schema)}</span>`
  const items = member(schema, 'items')
  return items['properties'] === undefined ? words : `${words}${renderTable(items)}`
}

/** The whole of a named schema. */
export function renderMembers(schema: JsonObject): string {
  return schema['properties'] === undefined ? `<p class="type">${describe(schema)}</p>` : renderTable(schema)
}

function renderTable(schema: JsonObject): string {
  const required = new Set(listOf(schema['required']))
  const rows = Object.entries(member(schema, 'properties')).map(([name, value]) => {
    const property = objectOf(value) ?? {}
    const text = property['description']
    return `<tr><th scope="row"><code>${e(name)}</code>${required.has(name) ? '' : '<span class="quiet"> optional</span>'}</th>
<td>${renderType(property)}${typeof text === 'string' ? `<p>${renderText(text)}</p>` : ''}</td></tr>`
  })
  return `<table>${rows.join('')}</table>`
}

function describe(schema: JsonObject): string {
  const reference = schema['$ref']
  if (typeof reference === 'string') {
    const name = reference.split('/').at(-1) ?? ''
    return `<a href="#schema-${e(name)}">${e(name)}</a>`
  }
  const alternatives = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])]
  if (alternatives.length > 0) return alternatives.map((one) => describe(objectOf(one) ?? {})).join(' or ')
  if (schema['type'] === 'array') return describeList(schema)
  const values = schema['const'] === undefined ? listOf(schema['enum']) : [schema['const']]
  if (values.length > 0) return values.map((value) => `<code>${e(textOf(value))}</code>`).join(' ')
  return [typeWords(schema['type']), ...limits(schema)].join(', ')
}

function describeList(schema: JsonObject): string {
  if (schema['maxItems'] === 0) return 'empty list'
  return `list of ${describe(member(schema, 'items'))}`
}

function typeWords(type: Json | undefined): string {
  const names = Array.isArray(type) ? type.map(String) : [typeof type === 'string' ? type : 'any']
  return e(names.join(' or '))
}

function limits(schema: JsonObject): string[] {
  const { minimum, maximum, maxLength, format } = schema
  const found: string[] = []
  if (typeof format === 'string') found.push(e(format))
  if (typeof minimum === 'number' && typeof maximum === 'number' && maximum < 1e9)
    found.push(`${minimum} to ${maximum}`)
  if (typeof maxLength === 'number') found.push(`at most ${maxLength} characters`)
  return found
}
