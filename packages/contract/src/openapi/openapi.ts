/**
 * OpenAPI 3.1 from the same records that validate. The format follows the OpenAPI 3.1.1 specification.
 *
 * zod's registry wants one schema for a name, but v1 and v2 have an ErrorItem each. v1's are registered as `v1/…`, and
 * the prefix is taken off here: within one document a name means one thing.
 */
import { z } from 'zod'
import type { Endpoint, Family } from '../endpoint.ts'
import { endpoints } from '../endpoints/index.ts'
import { ErrorResponse, ErrorResponseV1, statusOf } from '../errors.ts'
import type { Json, JsonObject } from '../values.ts'
import {
  isKeepable,
  refusalsOf,
  successHeaders,
  toHeaderComponents,
  toHeaders,
  toRefusalComponents,
} from './responses.ts'
import { toSecurity, toSecuritySchemes, type Hosts } from './security.ts'
import { limitDefault, pageParameters } from '../pages.ts'

export interface OpenApiOperation {
  operationId: string
  summary: string
  description: string
  tags: string[]
  security: JsonObject[]
  parameters: OpenApiParameter[]
  requestBody?: JsonObject
  responses: Record<string, JsonObject>
}

export interface OpenApiParameter {
  name: string
  in: 'path' | 'query'
  required: boolean
  description?: string
  schema: JsonObject
  style?: 'form'
  explode?: false
  example?: Json
}

export interface OpenApi {
  openapi: '3.1.1'
  info: { title: string; version: string; description: string; license: JsonObject }
  servers: { url: string }[]
  tags: Tag[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: {
    schemas: Record<string, JsonObject>
    responses: JsonObject
    headers: JsonObject
    securitySchemes: JsonObject
  }
}

export type Version = 'v1' | 'v2' | 'connect'

interface About {
  families: readonly Family[]
  title: string
  version: string
  description: string
  error: z.ZodType
}

const platform = 'Holdings and transactions of a user’s accounts at exchanges and wallets.'

const about: Readonly<Record<Version, About>> = {
  v1: {
    families: ['platform_v1'],
    title: 'Assay platform API v1',
    // The reference calls v1's documented release 2.0.2.
    version: '2.0.2',
    description: platform,
    error: ErrorResponseV1,
  },
  v2: {
    families: ['accounts_v2', 'enterprise_v2'],
    title: 'Assay platform API v2',
    version: '2.1.0',
    description: platform,
    error: ErrorResponse,
  },
  connect: {
    families: ['connect_v1'],
    title: 'Assay connect API',
    version: '1.0.0',
    description: 'What a connect widget talks to, and a user’s own page. The Bearer is the secret of the session.',
    error: ErrorResponse,
  },
}

export function toOpenApi(version: Version, hosts: Hosts, { isSandbox }: { isSandbox: boolean }): OpenApi {
  const { families, error, ...info } = about[version]
  const own: readonly Endpoint[] = endpoints.filter(
    ({ family, sandboxOnly }: Endpoint) => families.includes(family) && (isSandbox || sandboxOnly !== true),
  )
  const schemas = collectSchemas()
  const errorRef = schemas.add(error, 'output')

  const paths: OpenApi['paths'] = {}
  for (const endpoint of own) {
    const operations = (paths[endpoint.path] ??= {})
    operations[endpoint.method.toLowerCase()] = toOperation(endpoint, schemas.add)
  }
  return {
    openapi: '3.1.1',
    info: { ...info, license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' } },
    // The connect API is the authorization server's.
    servers: [{ url: version === 'connect' ? hosts.authUrl : hosts.baseUrl }],
    tags: toTags(own),
    paths,
    components: {
      schemas: schemas.named,
      responses: toRefusalComponents(own, errorRef),
      headers: toHeaderComponents(own),
      securitySchemes: toSecuritySchemes(own, hosts),
    },
  }
}

type AddSchema = (schema: z.ZodType, io: 'input' | 'output') => JsonObject

/** Turns schemas into JSON Schema and gathers those with a name. */
function collectSchemas(): { named: Record<string, JsonObject>; add: AddSchema } {
  const named: Record<string, JsonObject> = {}

  const add: AddSchema = (schema, io) => {
    // A wrapper, so that a schema with a name of its own comes out as a reference to it.
    const wrapped = z.toJSONSchema(z.object({ it: schema }), {
      io,
      override: ({ zodSchema, jsonSchema }) => {
        delete jsonSchema.id
        // Answers may get new members; only schemas that are strict on purpose forbid them.
        const { def } = zodSchema._zod
        if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties
        // The range of a double, which no field uses as a limit.
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      },
    })
    const plain = JSON.parse(
      JSON.stringify(wrapped)
        .replaceAll('"#/$defs/', '"#/components/schemas/')
        .replaceAll('/schemas/v1~1', '/schemas/'),
    ) as { properties: { it: JsonObject }; $defs?: Record<string, JsonObject> }
    for (const [name, definition] of Object.entries(plain.$defs ?? {})) named[name.replace(/^v1\//, '')] = definition
    return plain.properties.it
  }
  return { named, add }
}

function toOperation(endpoint: Endpoint, add: AddSchema): OpenApiOperation {
  const operation: OpenApiOperation = {
    operationId: endpoint.id,
    summary: endpoint.summary,
    description: endpoint.description,
    tags: [findTag(endpoint)],
    security: toSecurity(endpoint),
    parameters: toParameters(endpoint, add),
    responses: toResponses(endpoint, add),
  }
  if (endpoint.body !== undefined) {
    const content: JsonObject = { schema: add(endpoint.body, 'input') }
    if (endpoint.example.body !== undefined) content['example'] = endpoint.example.body as Json
    operation.requestBody = {
      required: !endpoint.body.safeParse(undefined).success,
      content: { 'application/json': content },
    }
  }
  return operation
}

function toResponses(endpoint: Endpoint, add: AddSchema): OpenApiOperation['responses'] {
  const { mediaType = 'application/json', csv } = endpoint
  const responses: OpenApiOperation['responses'] = {
    200: {
      description:
        endpoint.mediaType === undefined ? 'Success.' : 'Success: a JSON document on each line, as described.',
      headers: toHeaders(successHeaders(endpoint)),
      content: {
        [mediaType]: { schema: add(endpoint.response, 'output'), example: endpoint.example.response as Json },
        ...(csv === undefined ? {} : { 'text/csv': { schema: { type: 'string' }, example: csv } }),
      },
    },
  }
  if (isKeepable(endpoint)) {
    responses[304] = { description: 'What If-None-Match names still holds.', headers: toHeaders(['ETag']) }
  }
  for (const code of refusalsOf(endpoint)) responses[statusOf[code]] = { $ref: `#/components/responses/${code}` }
  return responses
}

function toParameters({ params, query, paging, example }: Endpoint, add: AddSchema): OpenApiParameter[] {
  const pages = paging === undefined ? {} : pageParameters[paging.style]
  // zod leaves it out where text is turned into a number. Null means all rows.
  const count = paging === undefined ? limitDefault : paging.limitDefault
  const inPath: Readonly<Record<string, z.core.$ZodType>> = { ...params?.shape }
  const inQuery: Readonly<Record<string, z.core.$ZodType>> = { ...query?.shape, ...pages }
  const all = [
    ...Object.entries(inPath).map(([name, schema]) => ({ place: 'path' as const, name, schema })),
    ...Object.entries(inQuery).map(([name, schema]) => ({ place: 'query' as const, name, schema })),
  ]
  return all.map(({ place, name, schema }) => {
    const { description, ...rest } = add(schema as z.ZodType, 'input')
    if (name === 'limit' && count !== null) rest['default'] = count
    const given = (place === 'path' ? example.params : example.query)?.[name]
    return {
      name,
      in: place,
      required: place === 'path' || !(schema as z.ZodType).safeParse(undefined).success,
      ...(typeof description === 'string' ? { description } : {}),
      schema: rest,
      // Separated by commas.
      ...(rest['type'] === 'array' ? { style: 'form', explode: false } : {}),
      ...(given === undefined ? {} : { example: toValue(given, rest['type']) }),
    }
  })
}

/** The value of a parameter, from the text that is sent. */
function toValue(given: string, type: Json | undefined): Json {
  if (type === 'array') return given.split(',')
  // A count of rows is not money.
  return type === 'integer' ? Number(given) : given
}

/** What a document is divided into, for people: calls that are about one thing, in the order they are needed. */
interface Tag {
  name: string
  description: string
}

/** The first that fits is taken. */
const tags: readonly (Tag & { fits: RegExp })[] = [
  {
    name: 'Session',
    description: 'One run of the connect flow, as a widget sees it.',
    fits: /^\/connect\/v1\/(session|provider-answers|provider-askers)/,
  },
  { name: 'Manage', description: 'A user’s own page.', fits: /^\/connect\/v1\/me/ },
  { name: 'Statistics', description: 'Sums over all users of a tenant.', fits: /^\/enterprise\/v2\/stats/ },
  { name: 'Enterprise', description: 'What a tenant sees of its users.', fits: /^\/enterprise\// },
  {
    name: 'Providers',
    description: 'Exchanges, wallets and chains: what can be connected, what is connected, and what was read.',
    fits: /\/(providers?|oauth)(\/|$)/,
  },
  { name: 'Refreshes', description: 'Reading again, on request.', fits: /\/refresh(es\/|$)/ },
  { name: 'Assets', description: 'What the user holds.', fits: /\/assets(\/|$)/ },
  { name: 'Claims', description: 'A signed yes or no about what the user holds.', fits: /\/claims$/ },
  { name: 'Transactions', description: 'What happened, newest first.', fits: /\/transactions(\/|$)/ },
]

function findTag({ path }: Pick<Endpoint, 'path'>): string {
  const tag = tags.find(({ fits }) => fits.test(path))
  if (tag === undefined) throw new Error(`no part of the documents is about ${path}`)
  return tag.name
}

/** The tags of these endpoints, in the order in which they first occur. */
function toTags(endpoints: readonly Endpoint[]): Tag[] {
  const names = new Set(endpoints.map(findTag))
  return [...names].flatMap((name) =>
    tags.filter((tag) => tag.name === name).map(({ description }) => ({ name, description })),
  )
}
