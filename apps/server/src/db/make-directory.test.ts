import assert from 'node:assert/strict'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { it } from 'node:test'
import { makeDirectory } from './make-directory.ts'

it('a directory is made with those around it, and one that exists is left as it is', async (t) => {
  const root = await mkdtemp(path.join(os.tmpdir(), 'assay-make-'))
  t.after(() => rm(root, { recursive: true }))
  const [outer, inner] = [path.join(root, 'a'), path.join(root, 'a/b/c')]
  assert.equal(await makeDirectory(inner, 0o700), outer)
  assert.equal((await stat(inner)).mode & 0o777, 0o700)
  assert.equal(await makeDirectory(inner, 0o755), undefined)
  assert.equal((await stat(inner)).mode & 0o777, 0o700)
})

it('a directory that cannot be made is an error that names it', async (t) => {
  const root = await mkdtemp(path.join(os.tmpdir(), 'assay-make-'))
  t.after(() => rm(root, { recursive: true }))
  const file = path.join(root, 'file')
  await writeFile(file, '')
  for (const directory of [file, path.join(file, 'a/b')]) {
    await assert.rejects(makeDirectory(directory, 0o700), { message: /^The directory \S+ cannot be made \(E\w+: .*\)/ })
  }
})

it('a file system that takes no directories does not keep it from ending', async (t) => {
  if (process.platform !== 'linux') return t.skip('/proc is of Linux')
  await assert.rejects(makeDirectory('/proc/assay/data', 0o700), {
    message: /^The directory \/proc\/assay\/data cannot/,
  })
})
