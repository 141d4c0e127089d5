/** The SDK's types of the widget's loader, compared by the compiler with those of the loader itself. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type * as sdk from '@assay/sdk'
import type * as loader from '../../packages/connect/src/loader/events.ts'

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

const same: {
  request: Same<sdk.ConnectRequest, loader.ConnectRequest>
  event: Same<sdk.ConnectEvent, loader.ConnectEvent>
  handle: Same<sdk.ConnectHandle, loader.ConnectHandle>
} = { request: true, event: true, handle: true }

it('the SDK’s types of the widget’s loader match the loader’s own', () => {
  assert.deepEqual(new Set(Object.values(same)), new Set([true]))
})
