import { endpoints } from '@assay/contract'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { whatOf } from './what-was-read.ts'

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
