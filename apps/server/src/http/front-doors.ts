/** What the resource routes are made over. */
import type { Connect } from '../connect/index.ts'
import type { Connections } from '../connections/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Serve } from './serve.ts'

export interface FrontDoors {
  serve: Serve
  connections: Connections
  connect: Pick<Connect, 'completeSignIn'>
  ledger: Ledger
}
