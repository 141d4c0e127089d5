/**
 * The tokens of a connection that was made by signing in at the provider. The code of the sign-in becomes tokens at
 * their first use, in a worker; later pairs replace earlier ones. Providers spend a refresh token at its first use, so
 * a new pair is stored before its first use, and the queue's lane keeps a connection to one job at a time.
 *
 * A process that dies between the provider's answer and our write has lost the pair: then the person signs in again. A
 * database that is away for a moment is waited for.
 */
import { redeemProviderCode, renewTokens, type Io, type ProviderClient } from '@assay/connectors'
import type { SignIn } from '@assay/connectors/catalog'
import { SourceError, type Fault } from '@assay/core'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { isDatabaseAway, type Database } from '../../db/index.ts'
import type { ConnectionRef } from '../../owner.ts'
import type { Sealer } from './seal.ts'
import * as store from '../store.ts'

const keptCode = z.object({
  code: z.string(),
  codeBoundTo: z.string().nullable(),
  codeVerifier: z.string(),
  redirectUri: z.string(),
  /** An exchange of the code ended with this fault, and may have spent the code all the same. */
  lost: z.enum(['venue_down', 'unreadable_answer']).exactOptional(),
})
const keptTokens = z.object({
  accessToken: z.string(),
  refreshToken: z.string().nullable(),
  expiresAtMs: z.number(),
})

/** What is sealed: the code of a sign-in, and later its tokens. */
export const keptSignIn = z.union([keptCode, keptTokens])
export type KeptSignIn = z.infer<typeof keptSignIn>

export interface HeldTokenDeps {
  db: Database
  sealer: Sealer
  io: Io
  providerId: string
  signIn: SignIn | undefined
  /** How this installation is registered at the provider. */
  client: ProviderClient | undefined
  ref: ConnectionRef
  /** The connection for which the credentials open. */
  boundTo: string
  sealed: string
}

type Lost = NonNullable<z.infer<typeof keptCode>['lost']>

/** After these faults the provider may have redeemed the code, although we could not read its answer. */
function mayBeSpent(fault: Fault): fault is Lost {
  return fault === 'venue_down' || fault === 'unreadable_answer'
}

/** A token is renewed this long before its end, so that it does not expire during a call. */
const marginMs = 30_000

/** A failover takes half a minute. After it the pair is lost in any case. */
const awayMaxMs = 60_000
const awayPauseMs = 500

async function whileAway(write: () => Promise<void>): Promise<void> {
  const giveUpAtMs = performance.now() + awayMaxMs
  for (;;) {
    try {
      return await write()
    } catch (error) {
      if (!isDatabaseAway(error) || performance.now() > giveUpAtMs) throw error
    }
    await delay(awayPauseMs)
  }
}

export function holdTokens(deps: HeldTokenDeps, first: KeptSignIn): (refused?: string) => Promise<string> {
  const { db, sealer, io, ref, boundTo } = deps
  let held = first
  let { sealed } = deps
  let renewing: Promise<void> | undefined

  /** Puts the next in the place of those that are held. Can be repeated when it is not known whether it did. */
  async function keep(next: KeptSignIn): Promise<void> {
    for (;;) {
      const nextSealed = await sealer.seal(boundTo, next)
      if (await store.replaceCredentials(db, ref, sealed, nextSealed)) {
        held = next
        sealed = nextSealed
        return
      }
      // A rotation of the sealing keys has sealed the same again, or a repair put others in their place.
      const now = (await store.findOpenable(db, ref))?.sealed_credentials
      if (now === undefined || now === null) throw new SourceError('needs_reauth', 'the connection is gone')
      const opened = keptSignIn.safeParse(await sealer.open(boundTo, now))
      if (!opened.success) throw new SourceError('needs_reauth', 'credentials of another kind took their place')
      sealed = now
      if (JSON.stringify(opened.data) === JSON.stringify(held)) continue
      held = opened.data
      return
    }
  }

  async function askNext(): Promise<KeptSignIn> {
    const { signIn, client } = deps
    if (signIn === undefined || client === undefined) {
      throw new Error(`this installation is not registered at ${deps.providerId}`)
    }
    if ('code' in held) {
      const given = held
      const { codeBoundTo, codeVerifier, redirectUri } = given
      const code = codeBoundTo === null ? given.code : await sealer.openText(codeBoundTo, given.code)
      const lost = given.lost && new SourceError(given.lost, 'an earlier exchange of the code was not answered')
      try {
        return await redeemProviderCode(io, signIn, client, { code, codeVerifier, redirectUri }, lost)
      } catch (error) {
        // Kept with the code, because the next try may be another job's.
        const fault = error instanceof SourceError ? error.fault : undefined
        if (fault !== undefined && mayBeSpent(fault)) await whileAway(() => keep({ ...given, lost: fault }))
        throw error
      }
    }
    if (held.refreshToken === null) throw new SourceError('needs_reauth', 'the sign-in has expired')
    const tokens = await renewTokens(io, signIn, client, held.refreshToken)
    // RFC 6749 §6: if the provider sends no new refresh token, the old one stays valid.
    return { ...tokens, refreshToken: tokens.refreshToken ?? held.refreshToken }
  }

  const isGood = (refused: string | undefined): boolean =>
    'accessToken' in held && held.accessToken !== refused && held.expiresAtMs - marginMs > io.now()

  return async (refused) => {
    if (!isGood(refused)) {
      renewing ??= askNext()
        .then((next) => whileAway(() => keep(next)))
        .finally(() => {
          renewing = undefined
        })
      await renewing
    }
    if (!('accessToken' in held)) throw new Error('a sign-in that was redeemed has tokens')
    return held.accessToken
  }
}

/** What identifies a sign-in at the provider: its newest token, or the code while it was not redeemed. */
export async function openToken(sealer: Sealer, boundTo: string, sealed: string): Promise<string> {
  const kept = keptSignIn.parse(await sealer.open(boundTo, sealed))
  if ('accessToken' in kept) return kept.refreshToken ?? kept.accessToken
  return kept.codeBoundTo === null ? kept.code : sealer.openText(kept.codeBoundTo, kept.code)
}
