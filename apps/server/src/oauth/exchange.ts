/** What every grant type of the token endpoint is given, and what it gives. */
import type { KeyObject } from 'node:crypto'
import type { Database, Sql } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import type { Tenants } from '../tenants/index.ts'
import type { RandomBytes } from './token-values.ts'

export interface CodeRedeemed extends Owner {
  clientId: string
  grantId: string
  /** The connect session that led to the code. */
  sessionId: string
}

export interface ExchangeDeps {
  db: Database
  tenants: Pick<Tenants, 'findClient' | 'verifySecret'>
  /** Newest first: the first derives, all of them recognise. */
  tokenKeys: readonly [KeyObject, ...KeyObject[]]
  /**
   * Runs in the transaction that spends the code of a connect session: what the session made is the user's from the same
   * moment. It does not run for a code that was issued without a session.
   */
  onCodeRedeemed: (tx: Sql, event: CodeRedeemed) => Promise<void>
  randomBytes: RandomBytes
}

/** RFC 6749 §5.1, as it goes over the wire. */
export interface TokenResponse {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  scope: string
  refresh_token?: string
  refresh_token_expires_in?: number
  user_id?: string
  grant_id?: string
}
