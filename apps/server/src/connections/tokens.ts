/**
 * The tokens of a connection that was made by signing in at the provider. The code of the sign-in becomes tokens at
 * their first use, in a worker; later pairs replace earlier ones. Providers spend a refresh token at its first use, so a
 * new pair is stored before its first use, and the queue's lane keeps a connection to one job at a time.
 *
 * A process that dies between the provider's answer and our write has lost the pair: then the person signs in again.
 */
import { redeemCode, renewTokens, type Connector, type Io, type ProviderClient } from '@assay/connectors'
import { SourceError } from '@assay/core'
import type { Database } from '../db/index.ts'
import type { ConnectionRef } from '../owner.ts'
import type { SealedCredentials, Sealer } from './seal.ts'
import * as store from './store.ts'

export type SignInCredentials = Exclude<SealedCredentials, { type: 'api_key' }>

export interface TokenDeps {
  db: Database
  sealer: Sealer
  io: Io
  connector: Connector
  client: ProviderClient | undefined
}

/** Renewed this long before its end, so that a call on its way does not meet it. */
const marginMs = 30_000

export function holdTokens(
  { db, sealer, io, connector, client }: TokenDeps,
  row: { ref: ConnectionRef; boundTo: string; sealed: string },
  first: SignInCredentials,
): (refused?: string) => Promise<string> {
  let held = first
  let { sealed } = row
  let renewing: Promise<void> | undefined
  /** How the code was tried in vain, when it may have been spent all the same. */
  let lost: SourceError | undefined

  async function replace(): Promise<void> {
    const next = await askNext()
    for (;;) {
      const nextSealed = await sealer.seal(row.boundTo, next)
      if (await store.replaceCredentials(db, row.ref, sealed, nextSealed)) {
        held = next
        sealed = nextSealed
        return
      }
      // A rotation of the sealing keys has sealed the same again, or a repair put others in their place.
      const now = (await store.findOpenable(db, row.ref))?.sealed_credentials
      if (now === undefined || now === null) throw new SourceError('needs_reauth', 'the connection is gone')
      const opened = await sealer.open(row.boundTo, now)
      sealed = now
      if (opened.type === 'api_key' || JSON.stringify(opened) === JSON.stringify(held)) continue
      held = opened
      return
    }
  }

  async function askNext(): Promise<SignInCredentials> {
    const { signIn } = connector
    if (signIn === undefined || client === undefined) {
      throw new Error(`this installation is not registered at ${connector.providerId}`)
    }
    if (held.type === 'oauth2_code') {
      const tokens = redeemCode(io, signIn, client, held, lost).catch((error: unknown) => {
        if (error instanceof SourceError && error.fault === 'venue_down') lost = error
        throw error
      })
      return { type: 'oauth2', ...(await tokens) }
    }
    if (held.refreshToken === null) throw new SourceError('needs_reauth', 'the sign-in has run out')
    const tokens = await renewTokens(io, signIn, client, held.refreshToken)
    // RFC 6749 §6: a provider that sends no new one lets the old one go on.
    return { type: 'oauth2', ...tokens, refreshToken: tokens.refreshToken ?? held.refreshToken }
  }

  const isGood = (refused: string | undefined): boolean =>
    held.type === 'oauth2' && held.accessToken !== refused && held.expiresAtMs - marginMs > io.now()

  return async (refused) => {
    if (!isGood(refused)) {
      renewing ??= replace().finally(() => {
        renewing = undefined
      })
      await renewing
    }
    if (held.type !== 'oauth2') throw new Error('a sign-in that was redeemed has tokens')
    return held.accessToken
  }
}
