/** Tidepool's connector: signed GETs, one list of entries for each wallet, and entries that share an event. */
import { createHash, createHmac } from 'node:crypto'
import {
  assetOf,
  findDecimal,
  isNegative,
  isPositive,
  negate,
  type Decimal,
  type Leg,
  type TransactionDraft,
} from '@assay/core'
import { z } from 'zod'
import { parseJson, readAnswer } from '../../../packages/connectors/src/kit/json.ts'
import type {
  ApiKeyCredentials,
  Balance,
  Connector,
  Io,
  Page,
  PageRequest,
  AccountReader,
  StoredRecord,
} from '../../../packages/connectors/src/kit/connector.ts'
import { fetchText } from '../../../packages/connectors/src/kit/http.ts'
import { toRawRecord } from '../../../packages/connectors/src/kit/records.ts'
import { tidepoolDefinition } from './definition.ts'

const { provider_id: providerId, required_permissions: needed } = tidepoolDefinition.metadata

export const connector: Connector = {
  providerId,
  version: 1,
  budget: {
    buckets: [{ name: 'calls', scope: 'key', tiers: [{ capacity: 100, refillPerSecond: 100 }] }],
    verify: { calls: 1 },
    balances: { calls: 1 },
    partitions: { calls: 1 },
  },
  open(credentials, io) {
    if (credentials.type !== 'api_key') throw new TypeError('Tidepool uses API keys')
    return openReader(credentials, io)
  },
  linkKeys: ({ body }) => [readEntry(body).event],
  toTransactions,
}

const accountAnswer = z.object({ id: z.string().min(1), rights: z.array(z.string()) })
const walletsAnswer = z.object({ wallets: z.array(z.object({ id: z.string().min(1) })) })
const balancesAnswer = z.object({ balances: z.array(z.object({ asset: z.string().min(1), amount: z.string() })) })
const pageAnswer = z.object({ entries: z.array(z.unknown()), next: z.string().nullable() })
const entrySchema = z.object({
  id: z.string().min(1),
  event: z.string().min(1),
  time: z.string().regex(/^\d+$/),
  kind: z.string(),
  asset: z.string().min(1),
  amount: z.string(),
  fee: z.string(),
})

function openReader(credentials: ApiKeyCredentials, io: Io): AccountReader {
  const call = async (path: string): Promise<unknown> => parseJson(await fetchSigned(credentials, io, path))
  return {
    async verify() {
      const { id, rights } = readAnswer('account', accountAnswer, await call('/v1/account'))
      return {
        fingerprint: createHash('sha256').update(`${providerId}\n${id}`).digest('hex'),
        fingerprintOf: 'account',
        excess: rights.filter((right) => right !== 'Read'),
        missing: needed.filter((right) => !rights.includes(right)),
        keyExpiresAtMs: null,
      }
    },
    async fetchBalances() {
      const { balances } = readAnswer('balances', balancesAnswer, await call('/v1/balances'))
      return { balances: balances.map(toBalance) }
    },
    async listPartitions() {
      const { wallets } = readAnswer('wallets', walletsAnswer, await call('/v1/wallets'))
      return wallets.map(({ id }) => ({ stream: 'entries', partition: id }))
    },
    fetchPage: async (request) => toPage(await call(toPagePath(request)), request),
  }
}

function fetchSigned({ apiKey, secretKey }: ApiKeyCredentials, io: Io, path: string): Promise<string> {
  const nonce = io.nextNonce()
  const signature = createHmac('sha256', secretKey).update(`${nonce}\n${path}`).digest('hex')
  return fetchText(io, new URL(path, io.baseUrl ?? tidepoolDefinition.baseUrl).href, {
    headers: { 'X-Key': apiKey, 'X-Nonce': nonce, 'X-Signature': signature },
    faultByStatus: { 401: 'invalid_credentials', 403: 'missing_permission', 409: 'clock_skew' },
  })
}

function toBalance({ asset: code, amount }: { asset: string; amount: string }): Balance {
  const { assetId, symbol, name } = assetOf(providerId, code, Number.MAX_SAFE_INTEGER)
  return { assetId, symbol, name, liquid: toAmount(amount), staked: toAmount('0') }
}

function toPagePath({ partition, window, pageMark }: PageRequest): string {
  const query = {
    from: String(window.start),
    to: String(window.end),
    ...(pageMark === null ? {} : { after: pageMark }),
  }
  return `/v1/wallets/${encodeURIComponent(partition)}/entries?${new URLSearchParams(query).toString()}`
}

function toPage(answer: unknown, { window }: PageRequest): Page {
  const { entries, next } = readAnswer('entries', pageAnswer, answer)
  const records = entries.map((entry) =>
    toRawRecord(JSON.stringify(entry), window, (body) => {
      const { id, time } = readEntry(body)
      return { key: id, occurredAtMs: Number(time) }
    }),
  )
  return { records, next, ...(next === null ? { complete: window } : {}) }
}

function readEntry(body: string): z.infer<typeof entrySchema> {
  return entrySchema.parse(parseJson(body))
}

function toAmount(text: string): Decimal {
  const amount = findDecimal(text)
  if (amount === undefined) throw new RangeError('an amount is not a decimal number')
  return amount
}

function toTransactions(records: readonly StoredRecord[]): TransactionDraft[] {
  const entries = records.map(({ body }) => readEntry(body)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const [first] = entries
  if (first === undefined) return []
  const legs = entries.map((entry) => {
    const { assetId, symbol } = assetOf(providerId, entry.asset, Number(entry.time))
    return { assetId, symbol, amount: toAmount(entry.amount), fee: toAmount(entry.fee) }
  })
  const toLeg = ({ assetId, symbol, amount }: Leg): Leg => ({ assetId, symbol, amount })
  const inputs = legs.filter(({ amount }) => isPositive(amount)).map(toLeg)
  const outputs = legs
    .filter(({ amount }) => isNegative(amount))
    .map((leg) => ({ ...toLeg(leg), amount: negate(leg.amount) }))
  return [
    {
      naturalKey: first.event,
      ...kindOf(first.kind, inputs.length > 0, outputs.length > 0),
      status: 'confirmed',
      occurredAtMs: Number(first.time),
      inputs,
      outputs,
      fees: legs
        .filter(({ fee }) => isPositive(fee))
        .map(({ assetId, symbol, fee }) => ({ assetId, symbol, amount: fee, kind: 'trading' })),
      ...{ network: null, hash: null, fromAddress: null, toAddress: null, spam: false },
      providerReference: first.event,
      description: first.kind,
      incomplete: [],
    },
  ]
}

type Kind = Pick<TransactionDraft, 'type' | 'category' | 'method' | 'confidence'>

function kindOf(kind: string, incoming: boolean, outgoing: boolean): Kind {
  const known = { method: 'venue', confidence: 1 } as const
  if (kind === 'trade' && incoming && outgoing) return { ...known, type: 'input_and_output', category: 'trade' }
  if (kind === 'deposit' && !outgoing) return { ...known, type: 'receive', category: 'deposit' }
  if (kind === 'withdrawal' && !incoming) return { ...known, type: 'send', category: 'withdrawal' }
  return { type: 'uncategorized', category: 'other', method: 'rule', confidence: 0 }
}
