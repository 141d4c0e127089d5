/** The route groups, each with who may read its answers from a browser (contract §2, CORS). */
import { registerConnect } from './connect/index.ts'
import type { FrontDoors } from './front-doors.ts'
import { registerOauthRoutes } from './oauth/index.ts'
import { registerSandboxRoutes, type SandboxRoutesDeps } from './sandbox/index.ts'
import type { RouteGroup } from './route-table.ts'
import { registerV1 } from './v1/index.ts'
import { registerV2 } from './v2/index.ts'

export function oauthRoutes(deps: Parameters<typeof registerOauthRoutes>[1]): RouteGroup {
  return { cors: 'anyone', register: (app) => registerOauthRoutes(app, deps) }
}

export function resourceRoutes(deps: FrontDoors): RouteGroup {
  return {
    cors: 'anyone',
    register(app) {
      registerV1(app, deps)
      registerV2(app, deps)
    },
  }
}

export function connectRoutes(deps: Parameters<typeof registerConnect>[1]): RouteGroup {
  return { cors: 'widget', register: (app) => registerConnect(app, deps) }
}

export function sandboxRoutes(deps: SandboxRoutesDeps): RouteGroup {
  return { cors: 'nobody', register: (app) => registerSandboxRoutes(app, deps) }
}
