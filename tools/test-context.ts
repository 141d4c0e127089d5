/**
 * Loaded by each process of `npm test` before everything else: lets node:test find the test that runs by asynchronous
 * context.
 *
 * Otherwise it follows every promise with an asynchronous hook (seen in Node 24.21, lib/internal/test_runner/harness.js)
 * to know where an `it` or an uncaught error belongs. That is a seventh of the processor time of a test that calls the
 * service, most of it for promises that are collected one by one. An asynchronous context answers the same question and
 * costs nothing. Without this file all tests run as well, and longer.
 */
import asyncHooks, { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId } from 'node:async_hooks'

const running = new AsyncLocalStorage<number>()

const forTests: Pick<typeof asyncHooks, 'createHook' | 'executionAsyncId'> = {
  // node:test registers each test by the id under which it finds it again.
  createHook: ({ init }) =>
    createHook({
      trackPromises: false,
      init(id, type, triggerId, resource) {
        if (type !== 'Test' || !(resource instanceof AsyncResource)) return
        init?.(id, type, triggerId, resource)
        const runInScope = resource.runInAsyncScope.bind(resource)
        resource.runInAsyncScope = (work, self, ...words) =>
          runInScope(() => running.run(id, () => work.apply(self as ThisParameterType<typeof work>, words)))
      },
    }),
  executionAsyncId: () => running.getStore() ?? executionAsyncId(),
}

// node:test takes both functions when it is loaded; everything that is loaded later gets the original ones.
Object.assign(asyncHooks, forTests)
await import('node:test')
Object.assign(asyncHooks, { createHook, executionAsyncId })
