/** The state of the largest wallet has room for all that strangers can pay to it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { SeenTransaction } from './records.ts'
import type { KnownAddress, WalletState } from './state.ts'
import { keep } from './unsettled.ts'
import type { Walk } from './walk.ts'

const nowMs = Date.parse('2026-05-01T00:00:00Z')
const tipHeight = 950_000

/** Of the length of a Taproot address. */
const addressAt = (index: number): string => `bc1p${String(index).padStart(58, 'q')}`

const toAddress = (index: number): KnownAddress => ({
  ...{ branch: `tr/${index % 2}`, index, address: addressAt(index), isRead: true, height: 940_000 },
  stats: { count: '12', funded: '1234567890', spent: '1234567890', waiting: '' },
  settled: '12/1234567890/1234567890',
})

it('strangers who pay the addresses of a wallet in each of a thousand transactions do not fill its state', () => {
  const addresses = Array.from({ length: 2_400 }, (_, index) => toAddress(index))
  const state: WalletState = { addresses, unsettled: {}, polledAtMs: nowMs, polledWholeAtMs: nowMs }
  const amounts = new Map(addresses.slice(0, 50).map(({ address }) => [address, { funded: 546n, spent: 0n }]))
  for (let sent = 0; sent < 1_040; sent += 1) {
    const txid = String(sent).padStart(64, 'f')
    const block = { height: tipHeight - (sent % 40), hash: '0'.repeat(64), timeMs: nowMs }
    const record = { key: txid, occurredAtMs: nowMs, body: '{}', pending: true }
    const seen: SeenTransaction = { txid, block, amounts, record }
    keep({ state, nowMs } as Walk, seen, tipHeight)
  }
  assert.ok(Object.keys(state.unsettled).length >= 980)
  const bytes = Buffer.byteLength(JSON.stringify(state))
  assert.ok(bytes < 1024 * 1024, `${bytes} bytes`)
})
