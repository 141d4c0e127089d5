/**
 * Harbor, the sandbox's exchange with OAuth2. Its document lies beside its simulator (packages/sandbox/src/harbor/API.md).
 * Everything it has goes through one list of entries.
 */
import { createHash } from 'node:crypto'
import { parseDecimal } from '@assay/core'
import { z } from 'zod'
import { readAnswer } from '../kit/answer.ts'
import { createBearerClient } from '../kit/bearer.ts'
import type { Account, Balance, BearerCredentials, Connector, Io, Page, Session, Window } from '../kit/connector.ts'
import { toRawRecord } from '../kit/records.ts'
import { harborAsset } from './assets.ts'
import { harborDefinition, pageSize } from './definition.ts'
import { linkKeys, toTransactions } from './transactions.ts'

export const connector: Connector = {
  providerId: harborDefinition.metadata.provider_id,
  version: 1,
  budget: {
    buckets: [{ name: 'calls', scope: 'key', tiers: [{ capacity: 10, refillPerSecond: 10 }] }],
    verify: { calls: 1 },
    balances: { calls: 1 },
    partitions: {},
  },
  open(credentials, io) {
    if (credentials.type !== 'oauth2') throw new TypeError('Harbor uses OAuth2 sign-in, not API keys')
    return openSession(credentials, io)
  },
  linkKeys,
  toTransactions,
}

function openSession(credentials: BearerCredentials, io: Io): Session {
  const call = createBearerClient(credentials, io, harborDefinition)
  return {
    verify: async () => toAccount(await call('/v1/me')),
    fetchBalances: async () => ({ balances: toBalances(await call('/v1/balances')) }),
    fetchPage: async ({ stream, window, position }) => {
      if (stream !== 'entries') throw new RangeError(`Harbor has no stream ${JSON.stringify(stream)}`)
      return toPage(await call(`/v1/entries?${toQuery(window, position)}`), window)
    },
  }
}

const meSchema = z.object({ id: z.string().min(1), scopes: z.array(z.string()) })

function toAccount(answer: unknown): Account {
  const { id, scopes } = readAnswer('me', meSchema, answer)
  return {
    fingerprint: createHash('sha256').update(`harbor\n${id}`).digest('hex'),
    excess: scopes.filter((scope) => scope !== 'read'),
    missing: scopes.includes('read') ? [] : [...harborDefinition.metadata.required_permissions],
    keyExpiresAtMs: null,
  }
}

const amount = z.string().regex(/^-?\d+(\.\d+)?$/)
const balancesSchema = z.object({
  balances: z.array(z.object({ asset: z.string().min(1), name: z.string(), available: amount, staked: amount })),
})

function toBalances(answer: unknown): Balance[] {
  return readAnswer('balances', balancesSchema, answer).balances.map(({ asset: code, name, available, staked }) => {
    const { assetId, symbol } = harborAsset(code)
    return { assetId, symbol, name, liquid: parseDecimal(available), staked: parseDecimal(staked) }
  })
}

const pageSchema = z.object({ entries: z.array(z.unknown()), next: z.string().nullable() })
const entryHead = z.object({ id: z.string().min(1), time: z.iso.datetime() })

/** Harbor writes amounts as text, so an entry written out again has every digit. */
function toPage(answer: unknown, window: Window): Page {
  const { entries, next } = readAnswer('entries', pageSchema, answer)
  const records = entries.map((entry) =>
    toRawRecord(JSON.stringify(entry), window, () => {
      const { id, time } = entryHead.parse(entry)
      return { key: id, occurredAtMs: Date.parse(time) }
    }),
  )
  return { records, next, ...(next === null ? { complete: window } : {}) }
}

function toQuery({ start, end }: Window, position: string | null): string {
  return new URLSearchParams({
    from: new Date(start).toISOString(),
    to: new Date(end).toISOString(),
    limit: String(pageSize),
    ...(position === null ? {} : { cursor: position }),
  }).toString()
}
