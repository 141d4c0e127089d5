/**
 * The connect widget as this service hosts it: the built files of `@assay/connect`, held in memory, with a strict
 * policy. (An integrator can put the same files on any static host; then these routes are simply not used.) When
 * `widget_url` has another host than `base_url`, the pages are served only to requests for that host: three names may
 * lead to one process, and a widget that lives elsewhere must not take paths from the API.
 *
 * A page may not be framed, except with `display=iframe` by a registered embed origin of the client that asks. The
 * address names the client, and the page itself checks its parent once more.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { notFound, Refusal } from '@assay/core'
import plugin from '@fastify/helmet'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Admission } from './request/admission.ts'
import { hasCopy } from './request/conditional.ts'
import { queryOf } from './request/query.ts'
import type { RouteGroup } from './transport/route-table.ts'
import { helmetOptions } from './transport/security-headers.ts'

export interface WidgetOptions {
  /** The built widget; by default `findWidgetDirectory()`. */
  directory: string
  authUrl: string
  baseUrl: string
  /** Its path is where the pages are served. */
  widgetUrl: string
  findClient: (clientId: string) => Promise<{ embedOrigins: readonly string[] } | undefined>
  admission: Pick<Admission, 'admitAddress'>
}

interface StaticFile {
  bytes: Buffer
  type: string
  etag: string
  /** Its name holds its hash: it never changes. */
  immutable: boolean
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
}
const yearSeconds = 31_536_000

/**
 * Belongs to its user alone. The page that opened it must not keep hold of its window: once the person has signed in, it
 * could put a copy in the page's place. The other pages answer the window that opened them.
 */
const managePage = 'manage/index.html'

/** Next to the package's own entry point, wherever npm has put it. */
export function findWidgetDirectory(): string {
  return path.dirname(fileURLToPath(import.meta.resolve('@assay/connect')))
}

export function widgetRoutes(options: WidgetOptions): RouteGroup {
  // Public files without a secret; the embedding loader among them is imported by pages of other origins.
  return { cors: 'any', register: (app) => registerWidget(app, options) }
}

async function registerWidget(app: FastifyInstance, options: WidgetOptions): Promise<void> {
  await app.register(plugin, helmetOptions)
  const root = new URL(options.widgetUrl).pathname.replace(/\/+$/, '')
  const files = readFiles(options.directory)
  const config = toFile(
    'config.json',
    Buffer.from(JSON.stringify({ auth_url: options.authUrl, base_url: options.baseUrl })),
  )
  // The pages set their own policy below, answer by answer.
  const helmet = { contentSecurityPolicy: false, frameguard: false } as const
  const [own, api] = [new URL(options.widgetUrl), new URL(options.baseUrl)]
  const only = own.origin === api.origin ? {} : { constraints: { host: own.host } }

  const pages = [
    { route: root === '' ? '/' : root, file: 'index.html', folder: `${root}/` },
    { route: `${root}/callback`, file: 'callback/index.html', folder: `${root}/callback/` },
    { route: `${root}/manage`, file: managePage, folder: `${root}/manage/` },
  ]
  for (const { route, file, folder } of pages) {
    const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const page = files.get(file)
      if (page === undefined) throw notBuilt()
      const framedBy = file === 'index.html' ? await findFrameOrigin(request, reply, options) : undefined
      void reply.header('Content-Security-Policy', toPolicy(options, framedBy))
      if (framedBy === undefined) void reply.header('X-Frame-Options', 'DENY')
      if (file === managePage) void reply.header('Cross-Origin-Opener-Policy', 'same-origin')
      return sendFile(request, reply, withBase(page, folder))
    }
    app.get(route, { helmet, ...only }, answer)
    if (folder !== route) app.get(folder, { helmet, ...only }, answer)
  }

  app.get(`${root}/config.json`, only, async (request, reply) => sendFile(request, reply, config))
  app.get<{ Params: { file: string } }>(`${root}/:file`, only, async (request, reply) =>
    sendKnown(files.get(request.params.file), request, reply),
  )
  app.get<{ Params: { file: string } }>(`${root}/assets/:file`, only, async (request, reply) =>
    sendKnown(files.get(`assets/${request.params.file}`), request, reply),
  )
}

/** All of them, once: some hundred kilobytes, and no path of a request ever reaches the disk. */
function readFiles(directory: string): Map<string, StaticFile> {
  let names: string[]
  try {
    names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map()
    throw error
  }
  const known = names.filter((name) => path.extname(name) in types)
  return new Map(
    known.map((name) => {
      const key = name.split(path.sep).join('/')
      return [key, toFile(key, readFileSync(path.join(directory, name)))]
    }),
  )
}

function toFile(name: string, bytes: Buffer): StaticFile {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`
  const type = types[path.posix.extname(name)] ?? 'application/octet-stream'
  return { bytes, type, etag, immutable: name.startsWith('assets/') }
}

/** The addresses in a page are relative to its folder; here the page is also served without the slash at the end. */
function withBase(page: StaticFile, folder: string): StaticFile {
  const html = page.bytes.toString('utf8').replace('<head>', `<head><base href="${folder}">`)
  return toFile('index.html', Buffer.from(html))
}

/** The page keeps `embedded_by` in a frame's address, so that a reload there is let in again. */
async function findFrameOrigin(
  request: FastifyRequest,
  reply: FastifyReply,
  options: WidgetOptions,
): Promise<string | undefined> {
  const query = new URLSearchParams(queryOf(request.url))
  const origin = query.get('web_message_origin')
  const clientId = query.get('display') === 'iframe' ? query.get('client_id') : query.get('embedded_by')
  if (origin === null || clientId === null) return undefined
  // Every visitor can request the page, and only this look-up costs a statement.
  await options.admission.admitAddress(request, reply)
  const client = await options.findClient(clientId)
  return client?.embedOrigins.find((registered) => registered === origin)
}

function toPolicy({ authUrl, baseUrl }: WidgetOptions, framedBy: string | undefined): string {
  const service = [...new Set([authUrl, baseUrl].map((url) => new URL(url).origin))].join(' ')
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    // Logos of applications: https, or loopback during development.
    "img-src 'self' https: http://127.0.0.1:* http://localhost:*",
    `connect-src 'self' ${service}`,
    "base-uri 'self'",
    "form-action 'none'",
    `frame-ancestors ${framedBy ?? "'none'"}`,
  ].join('; ')
}

function sendKnown(file: StaticFile | undefined, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (file === undefined) throw notFound('file')
  return sendFile(request, reply, file)
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: StaticFile): FastifyReply {
  void reply.header('ETag', file.etag)
  void reply.header('Cache-Control', file.immutable ? `public, max-age=${yearSeconds}, immutable` : 'no-cache')
  if (hasCopy(request, file.etag)) return reply.code(304).send()
  return reply.type(file.type).send(file.bytes)
}

function notBuilt(): Refusal {
  return new Refusal('unavailable', 'the connect widget is not built; run: npm run build --workspace @assay/connect')
}
