/**
 * Which paths exist, with which methods, and who may read their answers from a browser. Fastify's router answers "no
 * route" for a known path with another method; this table tells 404 from 405 and knows what `Allow` has to say.
 */
import type { FastifyInstance } from 'fastify'

/** Contract §2: anyone (no credentials), the configured widget origins, or no page of another origin at all. */
export type CorsPolicy = 'anyone' | 'widget' | 'nobody'

/** Routes that share a policy; a group is encapsulated and may bring its own body parsers and error handler. */
export interface RouteGroup {
  cors: CorsPolicy
  register: (app: FastifyInstance) => void | Promise<void>
}

interface KnownPath {
  methods: ReadonlySet<string>
  cors: CorsPolicy
}

export interface RouteTable {
  add(pattern: string, methods: string | readonly string[], cors: CorsPolicy): void
  find(path: string): KnownPath | undefined
}

export function createRouteTable(): RouteTable {
  const paths = new Map<string, { shape: RegExp; methods: Set<string>; cors: CorsPolicy }>()

  return {
    add(pattern, methods, cors) {
      const known = paths.get(pattern) ?? { shape: toShape(pattern), methods: new Set(['OPTIONS']), cors }
      for (const method of [methods].flat()) known.methods.add(method)
      paths.set(pattern, known)
    },
    find(path) {
      // Few paths, and asked only for requests that no route took. An exact path wins over one with parameters.
      const exact = paths.get(path)
      if (exact !== undefined) return exact
      return paths.values().find(({ shape }) => shape.test(path))
    },
  }
}

/** `/accounts/v2/transactions/:id` */
function toShape(pattern: string): RegExp {
  const parts = pattern.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll(/[^\w-]/g, '\\$&')))
  return new RegExp(`^${parts.join('/')}$`)
}
