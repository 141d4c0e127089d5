/** The guard of a data directory's owner. The other tests of it are in owner.test.ts. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { isGuarded, openGuard } from './guard.ts'

test('where there can be no socket, an owner goes on without a guard', async () => {
  const program = `
    import { openGuard } from ${JSON.stringify(import.meta.resolve('./guard.ts'))}
    const guards = [await openGuard('/proc', 'guard.socket'), await openGuard('/missing', 'guard.socket')]
    setImmediate(() => process.stdout.write(guards.map(String).join()))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
  assert.equal(stdout, 'undefined,undefined')
})

test('an owner lives as long as its socket does, also when this process may not connect to it', async (t) => {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-guard-'))
  const isRoot = process.getuid?.() === 0
  t.after(async () => {
    if (isRoot) process.seteuid?.(0)
    await rm(directory, { recursive: true })
  })
  await chmod(directory, 0o755)
  const removeGuard = await openGuard(directory, 'guard.socket')
  await chmod(path.join(directory, 'guard.socket'), 0)
  if (isRoot) process.seteuid?.(65_534)
  assert.equal(await isGuarded(directory, 'guard.socket'), true)
  if (isRoot) process.seteuid?.(0)
  await removeGuard?.()
  assert.equal(await isGuarded(directory, 'guard.socket'), false)
  assert.equal(await isGuarded(path.join(directory, 'taken-away'), 'guard.socket'), false)
})
