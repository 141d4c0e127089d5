/**
 * OpenAPI 3.1 from the same records that validate. Truth about the format: the OpenAPI 3.1.1 specification.
 *
 * zod's registry wants one schema for a name, but v1 and v2 have an ErrorItem each. v1's are registered as `v1/…`, and
 * the prefix is taken off here: within one document a name means one thing.
 */
import { refusalCodes, type RefusalCode } from '@assay/core'
import { z } from 'zod'
import type { Endpoint, Family } from './endpoint.ts'
import { endpoints } from './endpoints/index.ts'
import { ErrorResponse, ErrorResponseV1, statusOf } from './errors.ts'
import { pageParameters } from './pages.ts'

export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json }
export interface JsonObject {
  [member: string]: Json
}

export interface OpenApiOperation {
  operationId: string
  summary: string
  description: string
  security: JsonObject[]
  parameters: { name: string; in: string; required: boolean; description?: string; schema: JsonObject }[]
  requestBody?: JsonObject
  responses: Record<string, JsonObject>
}

export interface OpenApi {
  openapi: '3.1.1'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: { schemas: Record<string, JsonObject>; securitySchemes: JsonObject }
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

export function toOpenApi(version: Version, baseUrl: string): OpenApi {
  const { families, error, ...info } = about[version]
  const own = endpoints.filter(({ family }) => families.includes(family))
  const schemas = collectSchemas()
  const errorRef = schemas.add(error, 'output')

  const paths: OpenApi['paths'] = {}
  for (const endpoint of own) {
    const operations = (paths[endpoint.path] ??= {})
    operations[endpoint.method.toLowerCase()] = toOperation(endpoint, schemas.add, errorRef)
  }
  return {
    openapi: '3.1.1',
    info,
    servers: [{ url: baseUrl }],
    paths,
    components: {
      schemas: schemas.named,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: bearerOf(version) } },
    },
  }
}

function bearerOf(version: Version): string {
  return version === 'connect' ? 'The session_secret of the creating call.' : 'An access token of POST /oauth/token.'
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
        // Answers may get new members; only what is strict on purpose says otherwise.
        const { def } = zodSchema._zod
        if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties
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

function toOperation(endpoint: Endpoint, add: AddSchema, errorRef: JsonObject): OpenApiOperation {
  const responses: OpenApiOperation['responses'] = {
    200: {
      description: 'Success',
      headers: successHeaders(endpoint),
      content: {
        [endpoint.mediaType ?? 'application/json']: {
          schema: add(endpoint.response, 'output'),
          example: endpoint.example.response as Json,
        },
        ...(endpoint.csv === undefined ? {} : { 'text/csv': { schema: { type: 'string' } } }),
      },
    },
  }
  for (const code of refusalsOf(endpoint)) {
    responses[statusOf[code]] = {
      description: code,
      content: { 'application/problem+json': { schema: errorRef } },
    }
  }
  const operation: OpenApiOperation = {
    operationId: endpoint.id,
    summary: endpoint.summary,
    description: endpoint.description,
    security: securityOf(endpoint),
    parameters: [
      ...toParameters(endpoint.params?.shape ?? {}, 'path', add),
      ...toParameters(queryShape(endpoint), 'query', add),
    ],
    responses,
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

function securityOf({ scope, bearer }: Endpoint): JsonObject[] {
  if (scope !== null) return [{ bearer: [scope] }]
  return bearer === undefined ? [] : [{ bearer: [] }]
}

function queryShape(endpoint: Endpoint): Readonly<Record<string, z.core.$ZodType>> {
  const paging = endpoint.paging === undefined ? {} : pageParameters[endpoint.paging.style]
  return { ...endpoint.query?.shape, ...paging }
}

function toParameters(shape: Readonly<Record<string, z.core.$ZodType>>, place: 'path' | 'query', add: AddSchema) {
  return Object.entries(shape).map(([name, schema]) => {
    const { description, ...rest } = add(schema as z.ZodType, 'input')
    return {
      name,
      in: place,
      required: place === 'path' || !(schema as z.ZodType).safeParse(undefined).success,
      ...(typeof description === 'string' ? { description } : {}),
      schema: rest,
    }
  })
}

/** What each endpoint can answer with, in the order of the codes. */
function refusalsOf(endpoint: Endpoint): RefusalCode[] {
  const possible = new Set<RefusalCode>([
    'invalid_request',
    'rate_limited',
    'internal',
    'unavailable',
    ...endpoint.errors,
  ])
  if (endpoint.scope !== null) possible.add('invalid_token').add('insufficient_scope')
  if (endpoint.body !== undefined) possible.add('payload_too_large').add('unsupported_media_type')
  return refusalCodes.filter((code) => possible.has(code))
}

function successHeaders(endpoint: Endpoint): JsonObject {
  const headers: JsonObject = { 'X-Request-Id': { schema: { type: 'string' } } }
  if (endpoint.paging?.style === 'link') {
    headers['Link'] = { description: '<…>; rel="next" while rows are left.', schema: { type: 'string' } }
  }
  return headers
}
