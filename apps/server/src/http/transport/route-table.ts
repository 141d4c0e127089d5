/**
 * Which paths exist, with which methods, and who may read their answers from a browser. Fastify's router answers "no
 * route" for a known path with another method; this table tells 404 from 405 and knows what `Allow` has to say.
 */
import type { FastifyInstance } from 'fastify'

/**
 * Who may read the answers from a browser: anyone (no credentials), the configured widget origins, or no page of
 * another origin at all.
 */
export type CorsPolicy = 'any' | 'widget' | 'none'

/** Routes that share a policy; a group is encapsulated and may bring its own body parsers and error handler. */
export interface RouteGroup {
  cors: CorsPolicy
  /**
   * Unknown paths below these prefixes, such as `/accounts/v2/`, are a 404 that can be read like the group's answers.
   */
  prefixes?: readonly string[]
  register: (app: FastifyInstance) => void | Promise<void>
}

interface KnownPath {
  methods: ReadonlySet<string>
  cors: CorsPolicy
}

export interface RouteTable {
  add(pattern: string, methods: string | readonly string[], cors: CorsPolicy): void
  find(path: string): KnownPath | undefined
  /** Whether a route has this very path, without a parameter in it. */
  isExact(path: string): boolean
  addPrefix(prefix: string, cors: CorsPolicy): void
  /** Finds the CORS policy of a known path, or of a path below a known prefix. */
  findCors(path: string): KnownPath | undefined
}

export function createRouteTable(): RouteTable {
  const paths = new Map<string, { shape: RegExp; methods: Set<string>; cors: CorsPolicy }>()
  const prefixes = new Map<string, CorsPolicy>()

  function find(path: string): KnownPath | undefined {
    // Few paths, and asked only for requests that no route took. An exact path wins over one with parameters.
    return paths.get(path) ?? paths.values().find(({ shape }) => shape.test(path))
  }

  return {
    find,
    // A pattern is a key of the map as well, and a request may contain one.
    isExact: (path) => !path.includes('/:') && paths.has(path),
    add(pattern, methods, cors) {
      const known = paths.get(pattern) ?? { shape: toShape(pattern), methods: new Set(['OPTIONS']), cors }
      for (const method of [methods].flat()) known.methods.add(method)
      paths.set(pattern, known)
    },
    addPrefix: (prefix, cors) => void prefixes.set(prefix, cors),
    findCors(path) {
      const known = find(path)
      if (known !== undefined) return known
      const [, cors] = prefixes.entries().find(([prefix]) => path.startsWith(prefix)) ?? []
      return cors && { cors, methods: new Set(['GET', 'POST', 'DELETE']) }
    },
  }
}

/** `/accounts/v2/transactions/:id` */
function toShape(pattern: string): RegExp {
  const parts = pattern.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replaceAll(/[^\w-]/g, '\\$&')))
  return new RegExp(`^${parts.join('/')}$`)
}
