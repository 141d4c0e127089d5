/** What the resource routes are made over. */
import type { ProviderMetadata } from '@assay/connectors/catalog'
import type { Connect } from '../connect/index.ts'
import type { Connections } from '../connections/index.ts'
import type { Enterprise } from '../enterprise/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Sync } from '../sync/index.ts'
import type { Cursors } from './cursor.ts'
import type { Serve } from './serve.ts'

export interface FrontDoors {
  serve: Serve
  /** What can be connected here. */
  catalog: readonly ProviderMetadata[]
  /** For the one list whose cursor comes in a body. */
  cursors: Cursors
  connections: Connections
  connect: Pick<Connect, 'addForApplication' | 'completeSignIn'>
  ledger: Ledger
  enterprise: Enterprise
  sync: Pick<Sync, 'findCompleteness' | 'findCoverage' | 'findRefresh' | 'requestRefresh'>
}
