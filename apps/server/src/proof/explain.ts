/**
 * Where a transaction comes from: the provider's own records, the rule that read them, prices, its match and its past.
 */
import type { Decimal } from '@assay/core'
import type { ProviderDefinition } from '@assay/connectors/catalog'
import type { Database } from '../db/index.ts'
import type { Owner } from '../owner.ts'
import * as store from './explain-store.ts'

export interface Explanation {
  id: string
  /** How it was categorised, and as what. */
  rule: string
  connector: { provider_id: string; version: number }
  records: store.ExplainedRecord[]
  prices: { asset_id: string; price_in_usd: Decimal; method: string; source: string; at: string }[]
  match: { transaction_id: string; confidence: number; evidence: string[] } | null
  versions: store.VersionRow[]
}

export interface ExplainDeps {
  db: Database
  getDefinition(providerId: string): Pick<ProviderDefinition, 'connectorVersion'>
}

interface Valued {
  asset_id: string
  price_in_usd: Decimal | null
}

interface TransactionContent {
  categorization: { category: string; method: string }
  inputs: Valued[]
  outputs: Valued[]
}

/** `id` is the id on the wire. Undefined when the owner has no such transaction. */
export async function explain(
  { db, getDefinition }: ExplainDeps,
  owner: Owner,
  id: string,
): Promise<Explanation | undefined> {
  const key = id.slice('txn_'.length)
  const row = await store.findTransaction(db, owner, key)
  if (row === undefined) return undefined
  const content = JSON.parse(`{${row.document}`) as TransactionContent
  const { method, category } = content.categorization
  const former = await store.listVersions(db, owner, key, row)
  return {
    id,
    rule: `${method}: ${category}`,
    connector: { provider_id: row.provider_id, version: getDefinition(row.provider_id).connectorVersion ?? 1 },
    records: (await store.listRecords(db, owner, row)).map((one) => ({ ...one, body: maskAddresses(one.body) })),
    prices: await explainPrices(db, row, content),
    match: await explainMatch(db, owner, key),
    versions: [...former, { known_from: row.updated_at, known_to: null, reason: 'current' }],
  }
}

const wordEnd = /[\s"'<>()[\]{},;:\\@]/
/** As long as the name of a host can be. Without an end, a list of a million labels takes more stack than there is. */
const domain = /[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,126}/uy

/**
 * Pure. A record may name the sender of a transfer; the domain stays, because it says which service that was. Looked for
 * from each @: the data of a transaction on a chain are megabytes, and a stranger chooses them.
 */
export function maskAddresses(body: string): string {
  let masked = ''
  let [keptFrom, nameFrom] = [0, 0]
  for (let at = body.indexOf('@'); at !== -1; at = body.indexOf('@', at + 1)) {
    domain.lastIndex = at + 1
    if (!domain.test(body)) continue
    let start = at
    while (start > nameFrom && !wordEnd.test(body.charAt(start - 1))) start -= 1
    if (start === at) continue
    masked += `${body.slice(keptFrom, start)}***`
    keptFrom = at
    nameFrom = domain.lastIndex
  }
  return masked + body.slice(keptFrom)
}

/** A price that differs from the day's is implied by the trade itself. */
async function explainPrices(
  db: Database,
  row: store.ExplainedRow,
  content: TransactionContent,
): Promise<Explanation['prices']> {
  const used = new Map<string, Decimal>()
  for (const { asset_id, price_in_usd } of [...content.inputs, ...content.outputs]) {
    if (price_in_usd !== null) used.set(asset_id, price_in_usd)
  }
  const daily = await store.listPrices(db, [...used.keys()], row.occurred_at)
  return [...used].map(([assetId, price]) => {
    const own = daily.find(({ asset_id, price_in_usd }) => asset_id === assetId && price_in_usd === price)
    if (own !== undefined) return own
    return {
      asset_id: assetId,
      price_in_usd: price,
      ...(assetId === 'fiat:usd'
        ? { method: 'definition', source: 'definition' }
        : { method: 'execution', source: row.provider_id }),
      at: row.occurred_at,
    }
  })
}

async function explainMatch(db: Database, owner: Owner, id: string): Promise<Explanation['match']> {
  const match = await store.findMatch(db, owner, id)
  if (match === undefined) return null
  const { amount_out: sent, amount_in: received, seconds_apart: seconds } = match
  return {
    transaction_id: `txn_${match.other_id.replaceAll('-', '')}`,
    confidence: match.confidence,
    evidence: [
      ...(match.is_same_hash ? ['Both sides have the same hash.'] : []),
      ...(match.is_same_address ? ['Both sides name the same address.'] : []),
      sent === received ? `Both sides moved ${sent}.` : `${sent} left and ${received} arrived.`,
      `The arrival is ${Math.round(seconds)} seconds after the departure.`,
    ],
  }
}
