import { endpoints } from '@assay/contract'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { pickNewest, toAccessLines, whatOf } from './what-was-read.ts'

it('a person sees in words what each call of the contract reads, and none of them is other data', () => {
  // Calls of the widget and of this page itself are not counted as reads, and neither is the catalogue.
  const counted = endpoints.filter(({ path, id }) => !path.startsWith('/connect/') && id !== 'listCatalog')
  const unnamed = counted.filter(({ id }) => whatOf(id) === 'manage.what_other').map(({ id }) => id)
  assert.deepEqual(unnamed, [])
  assert.ok(counted.length > 30)
})

it('single items and histories are named like their lists, and a claim is not called a balance', () => {
  assert.deepEqual(['getTransaction', 'explainTransaction', 'getAssetHistory', 'makeClaim', 'getProof'].map(whatOf), [
    'manage.what_transactions',
    'manage.what_transactions',
    'manage.what_history',
    'manage.what_claim',
    'manage.what_proof',
  ])
})

it('calls that read the same kind of data in one hour are one line with their sum, newest first', () => {
  const [nine, ten] = ['2026-03-02T09:00:00.000Z', '2026-03-02T10:00:00.000Z']
  const readings = toAccessLines([
    { hour: nine, endpoint: 'listTransactions', count: 20, last_at: '2026-03-02T09:10:00.000Z' },
    { hour: nine, endpoint: 'listChanges', count: 15, last_at: '2026-03-02T09:40:00.000Z' },
    { hour: nine, endpoint: 'listAssets', count: 6, last_at: '2026-03-02T09:20:00.000Z' },
    { hour: ten, endpoint: 'listTransactions', count: 1, last_at: '2026-03-02T10:00:00.000Z' },
  ])
  assert.deepEqual(
    readings.map(({ what, count, lastAt }) => [what, count, lastAt]),
    [
      ['manage.what_transactions', 1, '2026-03-02T10:00:00.000Z'],
      ['manage.what_transactions', 35, '2026-03-02T09:40:00.000Z'],
      ['manage.what_assets', 6, '2026-03-02T09:20:00.000Z'],
    ],
  )
})

it('what was read once is still shown when other data was read every hour since', () => {
  const hours = Array.from({ length: 30 }, (_, at) => new Date(Date.UTC(2026, 2, 2, at)).toISOString())
  const [first = '', ...later] = hours
  const read = (hour: string, endpoint: string) => ({ hour, endpoint, count: 1, last_at: hour })
  const lines = toAccessLines([read(first, 'exportTransactions'), ...later.map((hour) => read(hour, 'listAssets'))])
  const shown = pickNewest(lines, 20)
  assert.equal(shown.length, 20)
  assert.deepEqual([shown[0]?.lastAt, shown.at(-1)?.what], [hours.at(-1), 'manage.what_transactions'])
})
