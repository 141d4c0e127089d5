/**
 * Harbor, the sandbox's exchange with OAuth2. Its document lies beside its simulator (packages/sandbox/src/harbor/API.md).
 * Everything it has goes through one list of entries; tokens are kept and renewed by whoever opened the session.
 */
import { parseDecimal, SourceError } from '@assay/core'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Account, Balance, BearerCredentials, Connector, Io, Page, Session, Window } from '../kit/connector.ts'
import { fetchText } from '../kit/http.ts'
import { parseJson } from '../kit/json.ts'
import { harborAsset } from './assets.ts'
import { harborMetadata, harborSignIn } from './metadata.ts'
import { harborStreams, pageSize } from './streams.ts'
import { toTransactions } from './transactions.ts'

export const harborConnector: Connector = {
  providerId: 'harbor',
  streams: harborStreams,
  signIn: harborSignIn,
  budget: {
    tiers: [{ capacity: 10, refillPerSecond: 10 }],
    verifyCost: 1,
    balancesCost: 1,
    scope: 'key',
  },
  open(credentials, io) {
    if (credentials.type !== 'oauth2') throw new TypeError('Harbor is signed in at, it has no keys')
    return openSession(credentials, io)
  },
  toTransactions,
}

function openSession({ getToken }: BearerCredentials, io: Io): Session {
  const ask = createAsk(getToken, io)
  return {
    verify: async () => toAccount(await ask('/v1/me')),
    fetchBalances: async () => toBalances(await ask('/v1/balances')),
    fetchPage: async (stream, window, position) => {
      if (stream !== 'entries') throw new RangeError(`Harbor has no stream ${JSON.stringify(stream)}`)
      return toPage(await ask(`/v1/entries?${toQuery(window, position)}`))
    },
  }
}

function createAsk(getToken: BearerCredentials['getToken'], io: Io): (path: string) => Promise<unknown> {
  const url = (path: string): string => new URL(path, io.baseUrl ?? harborSignIn.origin).href
  const once = async (path: string, token: string): Promise<unknown> =>
    parseJson(
      await fetchText(io, url(path), {
        headers: { Authorization: `Bearer ${token}` },
        faultByStatus: { 401: 'needs_reauth', 403: 'missing_permission' },
      }),
    )
  return async (path) => {
    const token = await getToken()
    try {
      return await once(path, token)
    } catch (error) {
      if (!(error instanceof SourceError) || error.fault !== 'needs_reauth') throw error
      // Ended before its time. A new one may still be had; a second refusal is final.
      return once(path, await getToken(token))
    }
  }
}

const meSchema = z.object({ id: z.string().min(1), scopes: z.array(z.string()) })

function toAccount(answer: unknown): Account {
  const { id, scopes } = read(meSchema, answer)
  return {
    fingerprint: createHash('sha256').update(`harbor\n${id}`).digest('hex'),
    excess: scopes.filter((scope) => scope !== 'read'),
    missing: scopes.includes('read') ? [] : [...harborMetadata.required_permissions],
    keyExpiresAtMs: null,
  }
}

const balancesSchema = z.object({
  balances: z.array(z.object({ asset: z.string(), name: z.string(), available: z.string(), staked: z.string() })),
})

function toBalances(answer: unknown): Balance[] {
  return read(balancesSchema, answer).balances.map(({ asset: code, name, available, staked }) => {
    const { assetId, symbol } = harborAsset(code)
    return { assetId, symbol, name, liquid: parseDecimal(available), staked: parseDecimal(staked) }
  })
}

const pageSchema = z.object({
  entries: z.array(z.looseObject({ id: z.string(), reference: z.string(), time: z.iso.datetime() })),
  next: z.string().nullable(),
})

/** Harbor writes amounts as text, so an entry written out again has every digit. */
function toPage(answer: unknown): Page {
  const { entries, next } = read(pageSchema, answer)
  return {
    records: entries.map((entry) => ({
      key: entry.id,
      group: entry.reference,
      occurredAtMs: Date.parse(entry.time),
      body: JSON.stringify(entry),
    })),
    next,
  }
}

function toQuery({ startMs, endMs }: Window, position: string | null): string {
  return new URLSearchParams({
    from: new Date(startMs).toISOString(),
    to: new Date(endMs).toISOString(),
    limit: String(pageSize),
    ...(position === null ? {} : { cursor: position }),
  }).toString()
}

function read<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer)
  if (!parsed.success) throw new SourceError('venue_down', 'Harbor answered something else than its document says')
  return parsed.data
}
