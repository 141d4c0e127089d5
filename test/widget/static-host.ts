/** The widget's package on a plain static host: the built files, one edited config.json, no headers to help. */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { findWidgetDirectory } from '../../apps/server/src/http/widget.ts'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

export async function startStaticHost(
  port: number,
  { authUrl, baseUrl }: { authUrl: string; baseUrl: string },
): Promise<PageHost> {
  const config = JSON.stringify({ auth_url: authUrl, base_url: baseUrl, look: { accent: '#7a1fa2', radius: '2px' } })
  return servePages(async (name) => {
    if (name === '/config.json') return { type: 'application/json', body: config }
    const file = path.join(findWidgetDirectory(), name.endsWith('/') ? `${name}index.html` : name)
    return { type: types[path.extname(file)] ?? 'application/octet-stream', body: await readFile(file) }
  }, port)
}

export interface StaticPage {
  type: string
  body: string | Buffer
}

export interface PageHost {
  url: string
  stop(): Promise<void>
}

/** Serves pages on their own origin; other paths get a 404. */
export async function servePages(find: (path: string) => Promise<StaticPage>, port = 0): Promise<PageHost> {
  const server = createServer((request, response) => {
    find(new URL(request.url ?? '/', 'http://host').pathname).then(
      // Modules are fetched by pages of other origins, as from any CDN.
      ({ type, body }) =>
        response.writeHead(200, { 'Content-Type': type, 'Access-Control-Allow-Origin': '*' }).end(body),
      () => response.writeHead(404).end(),
    )
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
