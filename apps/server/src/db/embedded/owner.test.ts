/** The record of a data directory's owner, also when several processes want it at once over that of a dead one. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, test, type TestContext } from 'node:test'
import { until } from '../../../../../test/until.ts'
import { claimDataDirectory, findOwner, withAdvice } from './owner.ts'

const dead = JSON.stringify({ pid: 1, born: 'long ago', socketDirectory: '/' })

let root = ''
before(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'assay-owner-'))
})
after(() => rm(root, { recursive: true }))

/** A process that claims each directory that it is given, at the given time, and answers with the result. */
function startClaimant(t: TestContext): { pid: number; claim(directory: string, atMs: number): Promise<string> } {
  const program = `
    import { createInterface } from 'node:readline'
    import { claimDataDirectory } from ${JSON.stringify(import.meta.resolve('./owner.ts'))}
    for await (const line of createInterface({ input: process.stdin })) {
      const { directory, atMs } = JSON.parse(line)
      while (Date.now() < atMs);
      const result = await claimDataDirectory(directory, '/tmp').then(() => 'won', (error) => error.message)
      process.stdout.write(result + '\\n')
    }`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill())
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    pid: child.pid ?? 0,
    async claim(directory, atMs) {
      child.stdin.write(`${JSON.stringify({ directory, atMs })}\n`)
      const { value } = await lines.next()
      return String(value)
    },
  }
}

const toLock = (file: string): string => `${file}.${createHash('sha256').update(dead).digest('hex').slice(0, 8)}`

test('a full disk is named with its data directory and what to do', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  const said = withAdvice(full, '/srv/assay')
  assert.ok(said instanceof Error)
  assert.match(said.message, /^No space is left on the disk of the data directory \/srv\/assay\. Make room/)
})

const remains = {
  'a dead owner': ['owner.json'],
  'a dead owner and a dead successor': ['owner.json', toLock('owner.json')],
  'a dead owner and two dead successors': ['owner.json', toLock('owner.json'), toLock(toLock('owner.json'))],
}
for (const [what, files] of Object.entries(remains)) {
  test(`one of three wins over ${what}, and only its own record is left`, async (t) => {
    const claimants = [1, 2, 3].map(() => startClaimant(t))
    for (let round = 0; round < 40; round++) {
      const directory = await mkdtemp(path.join(root, 'data-'))
      await Promise.all(files.map((name) => writeFile(path.join(directory, name), dead)))
      const atMs = Date.now() + 5
      const results = await Promise.all(claimants.map((claimant) => claimant.claim(directory, atMs)))
      assert.equal(results.filter((result) => result === 'won').length, 1, `round ${round}: ${results.join(', ')}`)
      const winner = claimants[results.indexOf('won')]
      for (const result of results) assert.match(result, new RegExp(`^won$|is in use by process ${winner?.pid}\\.`))
      const left = await readdir(directory)
      assert.deepEqual(left.slice(0, 1), ['owner.json'])
      assert.match(left.slice(1).join(), /^owner\.json\.[^,]+\.socket$/)
    }
  })
}

test('a record that names the server may be written by its owner alone, whatever the umask', async (t) => {
  const directory = await mkdtemp(path.join(root, 'data-'))
  const umask = process.umask(0)
  t.after(() => process.umask(umask))
  t.after(await claimDataDirectory(directory, '/tmp'))
  assert.equal((await stat(path.join(directory, 'owner.json'))).mode & 0o777, 0o644)
})

test('an owner in another container is recognised by its guard, and leaves nothing when it releases the directory', async () => {
  // A path that is too long for a socket.
  const directory = await mkdtemp(path.join(root, `${'data-'.repeat(30)}`))
  const release = await claimDataDirectory(directory, '/tmp')
  const file = path.join(directory, 'owner.json')
  const record = await readFile(file, 'utf8')
  // Its process id names no process here.
  await writeFile(file, record.replace(/"born":"[^"]*"/, '"born":"in another container"'))
  await assert.rejects(claimDataDirectory(directory, '/tmp'), /is in use in another container\./)
  assert.equal((await findOwner(directory))?.pid, process.pid)
  await release()
  assert.deepEqual(await readdir(directory), [])
})

test('a guard that outlived its owner is removed by the next one', async (t) => {
  const directory = await mkdtemp(path.join(root, 'data-'))
  const claimant = startClaimant(t)
  assert.equal(await claimant.claim(directory, 0), 'won')
  const [, guard] = await readdir(directory)
  process.kill(claimant.pid, 'SIGKILL')
  await until('its end', async () => ((await findOwner(directory)) === undefined ? true : undefined))
  const release = await claimDataDirectory(directory, '/tmp')
  assert.ok(guard !== undefined && !(await readdir(directory)).includes(guard))
  await release()
  assert.deepEqual(await readdir(directory), [])
})
