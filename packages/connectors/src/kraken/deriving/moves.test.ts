import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseLedgerRow } from '../records.ts'
import { toMigrationDrafts } from './migrations.ts'
import { pairMoves, toMoveDraft } from './moves.ts'

it('equal moves are paired in seconds, however many there are', () => {
  const rows = Array.from({ length: 60_000 }, (_, index) => {
    const [asset, amount, subtype] =
      index % 2 === 0 ? ['DOT', '-1', 'spottostaking'] : ['DOT.S', '1', 'stakingfromspot']
    const time = `${1_640_000_000 + index}`
    return parseLedgerRow(`L${index}`, JSON.stringify({ time, type: 'transfer', subtype, asset, amount }))
  })
  const before = process.cpuUsage()
  const drafts = pairMoves(rows)
  const { user, system } = process.cpuUsage(before)
  assert.equal(drafts.length, 30_000)
  assert.ok(user + system < 10_000_000, `${(user + system) / 1_000_000} s`)
})

it('equal halves of migrations are paired in seconds, however many there are', () => {
  const rows = Array.from({ length: 40_000 }, (_, index) => {
    const [asset, amount] = index % 2 === 0 ? ['MATIC', '-1'] : ['POL', '1']
    const time = `${1_640_000_000 + index}`
    const body = { refid: `R${index}`, time, type: 'transfer', subtype: '', asset, amount }
    return parseLedgerRow(`L${index}`, JSON.stringify(body))
  })
  const before = process.cpuUsage()
  const drafts = toMigrationDrafts(rows, toMoveDraft)
  const { user, system } = process.cpuUsage(before)
  assert.equal(drafts.length, 20_000)
  assert.ok(user + system < 10_000_000, `${(user + system) / 1_000_000} s`)
})
