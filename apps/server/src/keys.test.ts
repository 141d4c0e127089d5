import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { promisify } from 'node:util'
import { ConfigError } from './config.ts'
import { ensureSandboxKeyring, parseKeyring } from './keys.ts'

const oldKey = `old:${Buffer.alloc(32, 1).toString('base64')}`
const newKey = `new:${Buffer.alloc(32, 2).toString('base64')}`

describe('a ring of sealing keys', () => {
  it('keeps the order: the first seals, all of them open', () => {
    const { sealing } = parseKeyring(`${newKey}, ${oldKey}`)
    assert.deepEqual(
      sealing.map(({ name, secret }) => [name, secret[0], secret.length]),
      [
        ['new', 2, 32],
        ['old', 1, 32],
      ],
    )
  })

  it('derives one key for each of its own, another for each purpose, the same every time', () => {
    const ring = parseKeyring(`${newKey},${oldKey}`)
    const purposes = ['cursor', 'token', 'lane', 'sign_in'] as const
    const derived = purposes.flatMap((purpose) => ring.derive(purpose))
    const texts = derived.map((key) => Buffer.from(key).toString('hex'))
    assert.equal(texts.length, 8)
    assert.equal(new Set(texts).size, 8)
    assert.ok(derived.every((key) => key.length === 32))
    assert.deepEqual(parseKeyring(newKey).derive('token'), ring.derive('token').slice(0, 1))
  })

  it('derives by HKDF-SHA256 (RFC 5869) without salt, so that cursors outlive an upgrade', () => {
    // Computed apart, with HMAC alone: PRK = HMAC(32 zero bytes, key), OKM = HMAC(PRK, "assay:cursor" || 0x01).
    const [cursorKey] = parseKeyring(oldKey).derive('cursor')
    assert.equal(
      Buffer.from(cursorKey ?? []).toString('hex'),
      'bcc80f004e63120f2280f29bce066988749f825a60e378b6a4d3f249673a02a6',
    )
  })

  const refused: [string, string][] = [
    ['a key without a name', Buffer.alloc(32).toString('base64')],
    ['a name with a space', `my key:${Buffer.alloc(32).toString('base64')}`],
    ['31 bytes', `short:${Buffer.alloc(31).toString('base64')}`],
    ['33 bytes', `long:${Buffer.alloc(33).toString('base64')}`],
    ['a comma at the end', `${oldKey},`],
    ['two keys of one name', `${oldKey},${oldKey.replace('AQ', 'AB')}`],
    ['nothing', ''],
  ]
  for (const [title, text] of refused) {
    it(`${title} is refused, and no part of a key is repeated`, () => {
      assert.throws(
        () => parseKeyring(text),
        (error) => error instanceof ConfigError && !/AAAA|AQEB/.test(error.message),
      )
    })
  }
})

describe('the key of a sandbox', () => {
  it('is made once, readable by its owner alone, and found again', async (t) => {
    const parent = await mkdtemp(path.join(os.tmpdir(), 'assay-keys-'))
    t.after(() => rm(parent, { recursive: true, force: true }))
    const directory = path.join(parent, 'data')
    const made = ensureSandboxKeyring(directory)
    const found = ensureSandboxKeyring(directory)
    assert.deepEqual(found.sealing, made.sealing)
    const file = path.join(directory, 'sealing.keys')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    assert.match(await readFile(file, 'utf8'), /^sandbox:[A-Za-z0-9+/]{43}=\n$/)
  })

  it('is whole or absent: a process that dies as it writes it leaves nothing under its name', async (t) => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-keys-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    // No file may grow: opening one succeeds, and the first write to it ends the process (SIGXFSZ, or EFBIG).
    const script = `(await import('${new URL('keys.ts', import.meta.url).href}')).ensureSandboxKeyring(process.argv[1])`
    const shell = 'ulimit -f 0; exec "$0" --input-type=module -e "$1" "$2"'
    const dies = spawn('sh', ['-c', shell, process.execPath, script, directory], { stdio: 'ignore' })
    const [code] = (await once(dies, 'exit')) as [number | null]
    assert.notEqual(code, 0)
    assert.ok(!(await readdir(directory)).includes('sealing.keys'))
    assert.equal(ensureSandboxKeyring(directory).sealing[0].name, 'sandbox')
  })

  it('of two processes that start at once is the same', async (t) => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-keys-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    const script = `const { ensureSandboxKeyring } = await import('${new URL('keys.ts', import.meta.url).href}')
      process.stdout.write(Buffer.from(ensureSandboxKeyring(process.argv[1]).sealing[0].secret).toString('hex'))`
    const read = async (): Promise<string> => {
      const args = ['--input-type=module', '-e', script, directory]
      return (await promisify(execFile)(process.execPath, args)).stdout
    }
    const [one, other] = await Promise.all([read(), read()])
    assert.match(one, /^[0-9a-f]{64}$/)
    assert.equal(one, other)
    assert.deepEqual(await readdir(directory), ['sealing.keys'])
  })
})
