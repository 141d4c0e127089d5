/** What every role is made of, once it is wired. */
import type { Connect } from '../connect/index.ts'
import type { Oauth } from '../oauth/index.ts'
import type { Parent } from '../processes/index.ts'
import type { FleetMetrics, Metrics } from '../telemetry/index.ts'
import type { Tenants } from '../tenants/index.ts'
import type { Addresses } from './addresses.ts'
import type { Mail } from './authorization.ts'
import type { Engine, EngineDeps } from './engine.ts'
import type { OpenSandbox } from './providers.ts'

export interface Build {
  version: string
  commit: string | undefined
}

export interface Parts extends EngineDeps {
  metrics: Metrics
  fleetMetrics: FleetMetrics
  build: Build
  tenants: Tenants
  engine: Engine
  sandbox: OpenSandbox | undefined
  addresses: Addresses
  mail: Mail
  oauth: Oauth
  connect: Connect
  /** Set when several processes share a port. */
  parent: Parent | undefined
}
