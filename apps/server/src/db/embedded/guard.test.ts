/** The guard of a data directory's owner. The other tests of it are in owner.test.ts. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

test('where there can be no socket, an owner goes on without a guard', async () => {
  const program = `
    import { openGuard } from ${JSON.stringify(import.meta.resolve('./guard.ts'))}
    const guards = [await openGuard('/proc', 'guard.socket'), await openGuard('/missing', 'guard.socket')]
    setImmediate(() => process.stdout.write(guards.map(String).join()))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  assert.equal(stdout, 'undefined,undefined')
})
