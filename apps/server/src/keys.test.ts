import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { inspect, promisify } from 'node:util'
import { ensureOwnKeys, generateKeys, openKeyring, purposes, toPublicBytes, writeRing, type Keyring } from './keys.ts'
import { keyRing } from './config/setting-values.ts'

const oldKey = `old:${Buffer.alloc(32, 1).toString('base64')}`
const newKey = `new:${Buffer.alloc(32, 2).toString('base64')}`
const openServer = (text: string): Keyring =>
  openKeyring({ server: keyRing(text), sealingPublic: undefined, sealingPrivate: undefined })

describe('a ring of keys', () => {
  it('keeps the order: the first signs and seals, all of them verify and open', () => {
    assert.deepEqual(
      keyRing(`${newKey}, ${oldKey}\n`).map(({ name, bytes }) => [name, bytes[0], bytes.length]),
      [
        ['new', 2, 32],
        ['old', 1, 32],
      ],
    )
  })

  it('derives the same key every time, and a different one for each key and purpose', () => {
    const ring = openServer(`${newKey},${oldKey}`)
    const derived = purposes.flatMap((purpose) => ring.derive(purpose))
    const texts = derived.map((key) => Buffer.from(key).toString('hex'))
    assert.equal(texts.length, 2 * purposes.length)
    assert.equal(new Set(texts).size, texts.length)
    assert.ok(derived.every((key) => key.length === 32))
    assert.deepEqual(openServer(newKey).derive('token'), ring.derive('token').slice(0, 1))
  })

  it('derives by HKDF-SHA256 (RFC 5869) without salt, so that cursors survive an upgrade', () => {
    // Computed separately with HMAC alone: PRK = HMAC(32 zero bytes, key), OKM = HMAC(PRK, "assay:cursor" || 0x01).
    const [cursorKey] = openServer(oldKey).derive('cursor')
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
    ['one key on each line', `${newKey}\n${oldKey}\n`],
    ['a semicolon between two keys', `${newKey};${oldKey}`],
    ['a key with more behind it', `${oldKey}:more`],
    ['two keys of one name', `${oldKey},${oldKey.replace('AQ', 'AB')}`],
    ['nothing', ''],
  ]
  for (const [title, text] of refused) {
    it(`${title} is refused, and no part of a key is quoted`, () => {
      assert.throws(
        () => keyRing(text),
        (error) => error instanceof RangeError && !/AAAA|AQEB/.test(error.message),
      )
    })
  }
})

describe('sealing keys', () => {
  it('are X25519: the public half of the private key of RFC 7748 §6.1', () => {
    const alice = Buffer.from('77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a', 'hex')
    assert.equal(
      Buffer.from(toPublicBytes(alice)).toString('hex'),
      '8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a',
    )
  })

  it('are generated in matching pairs, a new pair each time', () => {
    const [one, other] = [generateKeys('main'), generateKeys('main')]
    assert.equal(new Set([one, other].flatMap((made) => Object.values(made))).size, 6)
    const [half] = keyRing(one.ASSAY_SEALING_PRIVATE_KEYS)
    assert.equal(writeRing([{ name: 'main', bytes: toPublicBytes(half.bytes) }]), one.ASSAY_SEALING_PUBLIC_KEYS)
  })

  it('are not shown when a ring is printed', () => {
    const { ASSAY_SEALING_PRIVATE_KEYS: text, ASSAY_SERVER_KEYS: server } = generateKeys('main')
    const keyring = openKeyring({
      server: keyRing(server),
      sealingPublic: undefined,
      sealingPrivate: keyRing(text),
    })
    const shown = `${inspect(keyring, { depth: 10 })}${JSON.stringify(keyring)}`
    for (const secret of [text, server]) {
      const bytes = Buffer.from(secret.slice('main:'.length), 'base64')
      assert.ok(!shown.includes(bytes.toString('base64')) && !shown.includes(bytes.toString('hex')))
    }
  })

  it('that are missing are named when something has to be sealed', () => {
    assert.throws(() => openServer(oldKey).seals, /ASSAY_SEALING_PUBLIC_KEYS is required to seal/)
  })
})

describe('the keys of a sandbox', () => {
  it('are created once, are readable only by their owner, and are found again', async (t) => {
    const parent = await mkdtemp(path.join(os.tmpdir(), 'assay-keys-'))
    t.after(() => rm(parent, { recursive: true, force: true }))
    const directory = path.join(parent, 'data')
    const made = ensureOwnKeys(directory)
    assert.deepEqual(ensureOwnKeys(directory), made)
    const file = path.join(directory, 'sealing.keys')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    const key = 'sandbox:[A-Za-z0-9+/]{43}='
    const lines = new RegExp(`^ASSAY_SERVER_KEYS=${key}\nASSAY_SEALING_PRIVATE_KEYS=${key}\n$`)
    assert.match(await readFile(file, 'utf8'), lines)
  })

  it('are complete or absent: a process that dies while it writes them leaves no file under that name', async (t) => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-keys-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    // Files may not grow: opening one succeeds, and the first write ends the process (SIGXFSZ, or EFBIG).
    const script = `(await import('${new URL('keys.ts', import.meta.url).href}')).ensureOwnKeys(process.argv[1])`
    const shell = 'ulimit -f 0; exec "$0" --input-type=module -e "$1" "$2"'
    const dies = spawn('sh', ['-c', shell, process.execPath, script, directory], { stdio: 'ignore' })
    const [code] = (await once(dies, 'exit')) as [number | null]
    assert.notEqual(code, 0)
    assert.ok(!(await readdir(directory)).includes('sealing.keys'))
    assert.equal(ensureOwnKeys(directory).server?.[0].name, 'sandbox')
  })

  it('of two processes that start at once are the same', async (t) => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-keys-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    const script = `const { ensureOwnKeys } = await import('${new URL('keys.ts', import.meta.url).href}')
      process.stdout.write(Buffer.from(ensureOwnKeys(process.argv[1]).sealingPrivate[0].bytes).toString('hex'))`
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
