/** The route groups, each with who may read its answers from a browser (contract §2, CORS). */
import { compressAnswers } from './transport/compress.ts'
import { registerConnect } from './connect/index.ts'
import { registerEnterprise } from './enterprise/index.ts'
import type { FrontDoors } from './front-doors.ts'
import { registerOauthRoutes } from './oauth/index.ts'
import { registerSandboxRoutes, type SandboxRoutesDeps } from './sandbox/index.ts'
import type { RouteGroup } from './transport/route-table.ts'
import { registerV1 } from './v1/index.ts'
import { registerV2 } from './v2/index.ts'

export function oauthRoutes(deps: Parameters<typeof registerOauthRoutes>[1]): RouteGroup {
  return { cors: 'any', register: (app) => registerOauthRoutes(app, deps) }
}

export function resourceRoutes(deps: FrontDoors): RouteGroup {
  return {
    cors: 'any',
    prefixes: ['/platform/v1/', '/accounts/v2/', '/enterprise/v2/'],
    register(app) {
      compressAnswers(app)
      registerV1(app, deps)
      registerV2(app, deps)
      registerEnterprise(app, deps)
    },
  }
}

export function connectRoutes(deps: Parameters<typeof registerConnect>[1]): RouteGroup {
  return { cors: 'widget', register: (app) => registerConnect(app, deps) }
}

export function sandboxRoutes(deps: SandboxRoutesDeps): RouteGroup {
  return { cors: 'none', register: (app) => registerSandboxRoutes(app, deps) }
}
