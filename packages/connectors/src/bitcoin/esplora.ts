/**
 * Requests to an Esplora server. Sources: github.com/Blockstream/esplora, API.md; for the limits of the public server,
 * issues #449 and #302 there (429 comes without `Retry-After`; 700 calls an hour from one IP address).
 *
 * The server returns zeros for an unused address, HTTP 404 for a transaction that it does not have, and HTTP 400 for an
 * address that it cannot read. It also returns 400 for failures of its own (`impl From<errors::Error> for HttpError` in
 * Blockstream/electrs, src/rest.rs), and so do gateways.
 */
import { SourceError } from '@assay/core'
import { z } from 'zod'
import type { Io } from '../kit/connector.ts'
import { fetchAnswer, toStatusError, type HttpAnswer } from '../kit/http.ts'
import { isPage, parseJson, parseJsonVerbatim, readAnswer } from '../kit/json.ts'
import { bitcoinDefinition } from './definition.ts'

const digits = z.string().regex(/^\d{1,18}$/)
const stats = z.object({ tx_count: digits, funded_txo_sum: digits, spent_txo_sum: digits })
const addressAnswer = z.object({ chain_stats: stats, mempool_stats: stats })
const listAnswer = z.array(z.unknown())

/**
 * Signatures and scripts. One transaction may have 400 kB of them (an inscription) before nodes refuse to relay it, and
 * 4 MB with the help of a miner. They say nothing about amounts.
 */
const omittedMembers = [
  ...['witness', 'scriptsig', 'scriptsig_asm', 'inner_redeemscript_asm', 'inner_witnessscript_asm'],
  ...['scriptpubkey', 'scriptpubkey_asm'],
]

export type AddressStats = z.infer<typeof addressAnswer>

/** The words of Blockstream/electrs, src/rest.rs. */
const refusal = /invalid bitcoin address|address on invalid network/i

function isAddressRefused({ status, text }: HttpAnswer): boolean {
  return status === 400 && !isPage(text) && refusal.test(text)
}

export interface Esplora {
  /** Fails with `invalid_credentials` when the server cannot read an address of this kind. */
  verifyAddress(address: string): Promise<void>
  fetchStats(address: string): Promise<AddressStats>
  /** Newest first, numbers verbatim: the mempool and the newest 25 confirmed ones, or the next 25 after `lastSeen`. */
  fetchTransactions(address: string, lastSeen: string | null): Promise<unknown[]>
  /** Undefined when it is neither in the chain nor in the mempool. */
  findTransaction(txid: string): Promise<unknown>
  fetchTipHeight(): Promise<number>
}

export function createEsplora(io: Io): Esplora {
  const chosen = io.baseUrl ?? io.chainUrls?.['bitcoin']?.index
  const base = (chosen ?? bitcoinDefinition.baseUrl).replace(/\/$/, '')

  /** `isRefusal`: the answer is about the address that the person gave. */
  async function find(path: string, isRefusal?: (answer: HttpAnswer) => boolean): Promise<string | undefined> {
    const answer = await fetchAnswer(io, `${base}${path}`, { omittedMembers })
    if (answer.status === 200) return answer.text
    if (answer.status === 404) return undefined
    throw toStatusError(answer, io, isRefusal?.(answer) === true ? { [answer.status]: 'invalid_credentials' } : {})
  }
  async function get(path: string, isRefusal?: (answer: HttpAnswer) => boolean): Promise<string> {
    const text = await find(path, isRefusal)
    if (text === undefined) throw new SourceError('venue_down', 'the server does not have this part of the API')
    return text
  }

  return {
    async verifyAddress(address) {
      readAnswer('address', addressAnswer, parseJson(await get(`/address/${address}`, isAddressRefused)))
    },
    async fetchStats(address) {
      return readAnswer('address', addressAnswer, parseJson(await get(`/address/${address}`)))
    },
    async fetchTransactions(address, lastSeen) {
      const path = lastSeen === null ? '/txs' : `/txs/chain/${lastSeen}`
      return readAnswer('txs', listAnswer, parseJsonVerbatim(await get(`/address/${address}${path}`)))
    },
    async findTransaction(txid) {
      const text = await find(`/tx/${txid}`)
      return text === undefined ? undefined : parseJsonVerbatim(text)
    },
    async fetchTipHeight() {
      const text = readAnswer('tip height', z.string().regex(/^\d{1,9}$/), parseJson(await get('/blocks/tip/height')))
      return Number(text)
    },
  }
}
