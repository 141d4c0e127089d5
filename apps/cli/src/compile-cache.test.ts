/**
 * A user who can write to the compile cache can run code in our process, so it must not be in a place where others
 * could create it first.
 */
import { readEnvironment } from '@assay/server/config'
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { findOwnDirectory } from '../bin/own-directory.mjs'

const program = path.resolve(import.meta.dirname, '../bin/assay.mjs')

async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'assay-cache-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

describe('the compile cache', () => {
  it('is never in the folder for temporary files', async (t) => {
    const folder = await newFolder(t)
    const env = { PATH: readEnvironment()['PATH'], TMPDIR: folder }
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'help'], { env })
    assert.match(stdout, /^Usage: assay/)
    assert.deepEqual(await readdir(folder), [])
  })

  it('saves every start after the first from parsing TypeScript', async (t) => {
    const cache = path.resolve(import.meta.dirname, '../../../node_modules/.cache/assay')
    if (findOwnDirectory(cache) === undefined) return t.skip('another user installed this')
    const watch = `data:text/javascript,process.on('exit',()=>console.log(process.moduleLoadList.join()))`
    const env = { PATH: readEnvironment()['PATH'] }
    const start = () => promisify(execFile)(process.execPath, ['--import', watch, program, 'help'], { env })
    await start()
    const { stdout } = await start()
    assert.match(stdout, /internal\/modules\/esm/)
    assert.doesNotMatch(stdout, /internal\/deps\/amaro/)
  })

  it('is a directory that we created or found, and that no other user may write to', async (t) => {
    const folder = await newFolder(t)
    const made = path.join(folder, 'not/there/yet')
    assert.equal(findOwnDirectory(made), made)
    assert.equal((await stat(made)).mode & 0o777, 0o700)
    assert.equal(findOwnDirectory(made), made)
  })

  it('is not used when the directory is writable by others, belongs to another user, is a link or a file, or cannot be created', async (t) => {
    const folder = await newFolder(t)
    const open = path.join(folder, 'open')
    await mkdir(open)
    for (const mode of [0o777, 0o720, 0o702, 0o1777]) {
      await chmod(open, mode)
      assert.equal(findOwnDirectory(open), undefined, mode.toString(8))
    }
    const own = path.join(folder, 'own')
    await mkdir(own, { mode: 0o700 })
    const link = path.join(folder, 'link')
    await symlink(own, link)
    assert.equal(findOwnDirectory(link), undefined)
    assert.equal(findOwnDirectory(path.join(import.meta.filename, 'inside')), undefined)
    assert.equal(findOwnDirectory(import.meta.filename), undefined)
    // Only root can change the owner of a directory.
    if (process.getuid?.() !== 0) return
    await chown(own, 65534, 65534)
    assert.equal(findOwnDirectory(own), undefined)
  })
})
