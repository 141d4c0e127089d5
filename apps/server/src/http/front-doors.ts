/** What the resource routes are made over. */
import type { ProviderMetadata } from '@assay/connectors/catalog'
import type { Claims } from '../claims/index.ts'
import type { Connect } from '../connect/index.ts'
import type { Connections } from '../connections/index.ts'
import type { Enterprise } from '../enterprise/index.ts'
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
  /** The tenant itself, through one of its clients, was given something of this user. */
  onTenantRead: (clientId: string, userKey: string, endpoint: string) => void
  /** Epoch ms, by the database's clock. */
  now: () => number
  /** How long removed transactions are kept for those who poll. */
  removalsKeptMs: number
  /** How long it can be asked what was known of transactions. */
  versionsKeptMs: number
  sync: Pick<Sync, 'findCompleteness' | 'findCoverage' | 'findRefresh' | 'requestRefresh'>
}
