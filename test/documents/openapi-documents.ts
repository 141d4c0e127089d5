/**
 * The OpenAPI documents as an integrator's tools see them: fetched from a running service, nothing of ours but the
 * shape of an operation. Requests are made of their examples, answers are judged by their schemas (JSON Schema
 * 2020-12).
 */
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import type { Json, JsonObject, OpenApi, OpenApiOperation, Version } from '@assay/contract'

export interface Operation extends OpenApiOperation {
  version: Version
  /** In capitals. */
  method: string
  route: string
}

export interface Documents {
  operations: Operation[]
  /** What is wrong with an answer, in words; undefined when it is as documented. */
  findFault(operation: Operation, answer: { status: number; mediaType: string; body: unknown }): string | undefined
  /** The example of a refusal. */
  problem(version: Version, code: string): Json
}

const versions = ['v1', 'v2', 'connect'] as const

export async function fetchDocuments(url: string): Promise<Documents> {
  // Not strict: OpenAPI has keywords that JSON Schema has not.
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  formats.default(ajv)
  const documents = new Map<Version, OpenApi>()
  for (const version of versions) {
    const response = await fetch(`${url}/openapi/${version}.json`)
    const document = (await response.json()) as OpenApi
    documents.set(version, document)
    ajv.addSchema(document, version)
  }
  const operations = [...documents].flatMap(([version, { paths }]) =>
    Object.entries(paths).flatMap(([route, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        ...operation,
        version,
        method: method.toUpperCase(),
        route,
      })),
    ),
  )
  const find = (version: Version, pointer: readonly string[]): Json | undefined =>
    pointer.reduce<Json | undefined>(
      (at, name) => (at as JsonObject | undefined)?.[name],
      documents.get(version) as never,
    )

  return {
    operations,
    problem: (version, code) =>
      find(version, ['components', 'responses', code, 'content', 'application/problem+json', 'example']) ?? null,
    findFault({ version, method, route, responses }, { status, mediaType, body }) {
      const response = responses[status]
      if (response === undefined) return `${status} is not among the documented ${Object.keys(responses).join(' ')}`
      const [, component] = /^#\/components\/responses\/(\w+)$/.exec(textOf(response['$ref'])) ?? []
      const place =
        component === undefined
          ? ['paths', route, method.toLowerCase(), 'responses', String(status)]
          : ['components', 'responses', component]
      const schema = [...place, 'content', mediaType, 'schema']
      if (find(version, schema) === undefined) return `${status} as ${mediaType} is not documented`
      const check = ajv.compile({ $ref: `${version}#/${schema.map(toPointerPart).join('/')}` })
      return check(body) ? undefined : ajv.errorsText(check.errors)
    },
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}

/** RFC 6901 §3, within a URI (§6). */
function toPointerPart(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}

export interface ExampleRequest {
  method: string
  target: string
  body: string | undefined
}

/**
 * The documented request, with what only a running service knows (ids, keys, codes) put in the place of its stand-in.
 */
export function toRequest(operation: Operation, standIns: Readonly<Record<string, string>>): ExampleRequest {
  const real = (text: string): string =>
    Object.entries(standIns).reduce((sofar, [standIn, value]) => sofar.replaceAll(standIn, value), text)
  let path = operation.route
  const query = new URLSearchParams()
  for (const { name, in: place, example } of operation.parameters) {
    if (example === undefined) continue
    const text = real(Array.isArray(example) ? example.join(',') : textOf(example))
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(text))
    else query.set(name, text)
  }
  const content = operation.requestBody?.['content'] as { 'application/json'?: { example?: Json } } | undefined
  const body = content?.['application/json']?.example
  return {
    method: operation.method,
    target: query.size === 0 ? path : `${path}?${query.toString()}`,
    body: body === undefined ? undefined : real(JSON.stringify(body)),
  }
}
