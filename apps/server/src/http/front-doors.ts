/** What the resource routes need. */
import type { ProviderMetadata } from '@assay/connectors/catalog'
import type { Claims } from '../claims/index.ts'
import type { Connect } from '../connect/index.ts'
import type { Connections } from '../connections/index.ts'
import type { Enterprise } from '../enterprise/index.ts'
import type { Slots } from '../limits/index.ts'
import type { Oauth } from '../oauth/index.ts'
import type { Portfolio } from '../portfolio/index.ts'
import type { Proof } from '../proof/index.ts'
import type { Sync } from '../sync/index.ts'
import type { Cursors } from './paging/cursor.ts'
import type { Serve } from './request/serve.ts'

export interface FrontDoors {
  serve: Serve
  /** What can be connected here. */
  catalog: readonly ProviderMetadata[]
  /** For the one list whose cursor comes in a body. */
  cursors: Cursors
  connections: Connections
  connect: Pick<Connect, 'addForApplication' | 'completeSignIn'>
  portfolio: Portfolio
  claims: Pick<Claims, 'make'>
  proof: Pick<Proof, 'explain' | 'list'>
  enterprise: Enterprise
  oauth: Pick<Oauth, 'isAllowed'>
  slots: Slots
  /** The tenant itself, through one of its clients, is given something of these users. Refuses what cannot be recorded. */
  onTenantAccess: (clientId: string, userKeys: ReadonlySet<string>, endpoint: string) => Promise<void>
  /** Epoch ms, by the database's clock. */
  now: () => number
  /** How long removed transactions are kept for clients that poll. */
  removalsKeptMs: number
  /** How long a request can ask what was known of transactions at an earlier moment. */
  versionsKeptMs: number
  sync: Pick<Sync, 'findCompleteness' | 'findCoverage' | 'findRefresh' | 'requestRefresh'>
}
