/** Backups of durable servers, each checked by restoring it. The tests share one data directory and run in order. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, before, describe, test, type TestContext } from 'node:test'
import { createGunzip, gunzipSync, gzipSync } from 'node:zlib'
import { openTestDatabase, silentLog } from '../../../../../test/postgres.ts'
import { startEmbedded } from '../embedded/embedded.ts'
import type { Database } from '../sql.ts'
import { backUp, type BackupOptions } from './back-up.ts'
import { restore, type RestoreOptions } from './restore.ts'
import { collect, inDirectory, readTar, tarEnd, tarPadding, toTarHeader } from './tar.ts'

let root = ''
before(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'assay-backup-'))
})
after(() => rm(root, { recursive: true }))

const inRoot = (name: string): string => path.join(root, name)
const keys = `main:${Buffer.alloc(32, 9).toString('base64')}\n`

function backUpTo(name: string, options: Partial<BackupOptions> = {}): Promise<{ fileBytes: number }> {
  return backUp({
    dataDirectory: inRoot('data'),
    file: inRoot(name),
    keys: undefined,
    version: '0.0.0-test',
    now: Date.now,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    log: silentLog,
    ...options,
  })
}

function restoreFrom(file: string, into: string, options: Partial<RestoreOptions> = {}): ReturnType<typeof restore> {
  return restore({
    dataDirectory: inRoot(into),
    file: inRoot(file),
    replace: false,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    log: silentLog,
    ...options,
  })
}

async function start(t: TestContext, name: string): Promise<Database> {
  const server = await startEmbedded({ dataDirectory: inRoot(name), log: silentLog })
  const db = openTestDatabase(server.connection)
  t.after(async () => {
    await db.close()
    await server.stop()
  })
  return db
}

interface Written {
  debits: number
  credits: number
  last: number
  text: string
}

/** Every transfer is a row in both tables, in one transaction. */
async function readWritten(db: Database): Promise<Written> {
  return db.row<Written>(`select (select count(*)::int from debits) as debits, (select count(*)::int from credits) as credits,
    (select coalesce(max(n), 0) from debits) as last, (select md5(string_agg(n || body, ',' order by n)) from debits) as text`)
}

async function transfer(db: Database, n: number): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute('insert into debits values ($1::int, repeat(md5($1::int::text), 60))', [n])
    await tx.execute('insert into credits values ($1)', [n])
  })
}

describe('a backup', () => {
  test('of a running service is its state at one moment during the backup, and the service does not have to wait', async (t) => {
    let goOn = true
    t.after(() => (goOn = false))
    const db = await start(t, 'data')
    await db.execute('create table debits (n int primary key, body text); create table credits (n int primary key)')
    let committed = 0
    const writing = (async () => {
      while (goOn) {
        await transfer(db, committed + 1)
        committed += 1
      }
    })()
    while (committed < 200) await new Promise((resolve) => setImmediate(resolve))
    const before = committed
    let during = 0
    const progress: number[] = []
    const onProgress = (doneBytes: number, totalBytes: number): void => {
      during = committed
      progress.push(doneBytes / totalBytes)
    }
    await backUpTo('running.tar.gz', { onProgress })
    const afterwards = committed
    goOn = false
    await writing
    assert.ok(during > before, 'nothing was written while the backup ran')
    assert.ok(progress.every((part) => part > 0 && part <= 1) && progress.at(-1) === 1)

    await restoreFrom('running.tar.gz', 'restored')
    const restored = await readWritten(await start(t, 'restored'))
    assert.equal(restored.debits, restored.last, 'a number is missing')
    assert.equal(restored.debits, restored.credits, 'half a transaction was restored')
    // The server may have committed one more than it had confirmed to the writer.
    assert.ok(
      restored.last >= before && restored.last <= afterwards + 1,
      `${before} ≤ ${restored.last} ≤ ${afterwards}`,
    )
    const source = await db.row<{ text: string }>(
      "select md5(string_agg(n || body, ',' order by n)) as text from debits where n <= $1",
      [restored.last],
    )
    assert.equal(restored.text, source.text)
  })

  test('of a stopped service has every row, and the restored database accepts writes', async (t) => {
    const stopped = await startEmbedded({ dataDirectory: inRoot('data'), log: silentLog })
    const db = openTestDatabase(stopped.connection)
    const source = await readWritten(db)
    await db.close()
    await stopped.stop()
    await backUpTo('still.tar.gz')
    assert.equal(existsSync(inRoot('data/owner.json')), false)
    await restoreFrom('still.tar.gz', 'again')
    const restored = await start(t, 'again')
    assert.deepEqual(await readWritten(restored), source)
    await transfer(restored, source.last + 1)
  })

  test('is readable only by its owner, and contains the keys only on request', async () => {
    assert.equal((await stat(inRoot('still.tar.gz'))).mode & 0o777, 0o600)
    await writeFile(inRoot('data/sealing.keys'), keys, { mode: 0o600 })
    await backUpTo('without.tar.gz')
    await backUpTo('with.tar.gz', { keys })
    const secret = keys.trim().slice('main:'.length)
    assert.equal(gunzipSync(await readFile(inRoot('without.tar.gz'))).includes(secret), false)
    const { keysFile } = await restoreFrom('with.tar.gz', 'keyed')
    assert.equal(keysFile, inRoot('keyed/sealing.keys'))
    assert.equal(await readFile(keysFile, 'utf8'), keys)
    assert.equal((await stat(keysFile)).mode & 0o777, 0o600)
  })

  test('that is interrupted leaves nothing, neither a file nor a server', async () => {
    const interrupted = new AbortController()
    await assert.rejects(
      backUpTo('cut.tar.gz', { signal: interrupted.signal, onProgress: () => interrupted.abort() }),
      /interrupted; nothing is left/,
    )
    assert.deepEqual(
      (await readdir(root)).filter((name) => name.startsWith('cut')),
      [],
    )
    assert.equal(existsSync(inRoot('data/owner.json')), false)
  })

  test('is refused with advice when the name is taken, or the directory or database is missing', async () => {
    await assert.rejects(backUpTo('still.tar.gz'), /exists already/)
    await assert.rejects(backUpTo('nowhere/x.tar.gz'), /does not exist\. Make it/)
    await assert.rejects(
      backUpTo('x.tar.gz', { dataDirectory: inRoot('empty') }),
      /No embedded database was found in .*--data/,
    )
    await writeFile(inRoot('y.tar.gz.partial'), '')
    await assert.rejects(backUpTo('y.tar.gz'), /Another backup is writing/)
    assert.equal(existsSync(inRoot('y.tar.gz.partial')), true)
  })
})

/** Changes a bit at this place or soon after it. Some bits of a compressed file do not affect its content. */
function damage(whole: Buffer, from: number): { altered: Buffer; at: number } {
  for (let at = from; ; at += 1) {
    const altered = Buffer.from(whole)
    altered[at] = (altered[at] ?? 0) ^ 0x10
    try {
      gunzipSync(altered)
    } catch {
      return { altered, at }
    }
  }
}

/** The same archive with other files in its cluster, by path. Its checksum is right. */
async function repack(from: string, to: string, files: Readonly<Record<string, string>>): Promise<void> {
  const digest = createHash('sha256')
  const blocks: Buffer[] = []
  const put = (header: Buffer, content: Buffer): void => {
    digest.update(header).update(content)
    blocks.push(header, content, tarPadding(content.length))
  }
  for await (const entry of readTar(createReadStream(inRoot(from)).pipe(createGunzip()))) {
    const content = await collect(entry.content)
    const isReplaced = entry.path.replace('postgres/', '') in files
    if (entry.path !== 'assay-backup.sha256' && !isReplaced) put(entry.header, content)
  }
  for (const [name, text] of Object.entries(files)) {
    put(inDirectory('postgres', toTarHeader(name, Buffer.byteLength(text), 0)), Buffer.from(text))
  }
  const sum = Buffer.from(`${digest.digest('hex')}\n`)
  blocks.push(toTarHeader('assay-backup.sha256', sum.length, 0), sum, tarPadding(sum.length), tarEnd)
  await writeFile(inRoot(to), gzipSync(Buffer.concat(blocks), { level: 1 }))
}

describe('a restore', () => {
  async function refusal(file: string, options: Partial<RestoreOptions> = {}): Promise<string> {
    const refused = await restoreFrom(file, 'refused', options).then(
      () => '',
      (error: Error) => error.message,
    )
    assert.equal(existsSync(inRoot('refused')), false, `${file}: ${refused}`)
    return refused
  }

  test('refuses a file that was cut short anywhere, altered anywhere, or is something else', async () => {
    const { size } = await stat(inRoot('still.tar.gz'))
    for (const length of [1_000, size - 9]) {
      await copyFile(inRoot('still.tar.gz'), inRoot('short.tar.gz'))
      await truncate(inRoot('short.tar.gz'), length)
      assert.match(await refusal('short.tar.gz'), /damaged/, `cut to ${length} of ${size}`)
    }
    const whole = await readFile(inRoot('still.tar.gz'))
    for (const from of [300, Math.floor(size / 3)]) {
      const { altered, at } = damage(whole, from)
      await writeFile(inRoot('altered.tar.gz'), altered)
      assert.match(await refusal('altered.tar.gz'), /damaged/, `altered at ${at} of ${size}`)
    }
    // After repacking, gzip's own checksum is right.
    const opened = gunzipSync(whole)
    const page = opened.indexOf('PostgreSQL')
    opened[page] = 0
    await writeFile(inRoot('repacked.tar.gz'), gzipSync(opened, { level: 1 }))
    assert.match(await refusal('repacked.tar.gz'), /checksum does not match/)
    await writeFile(inRoot('text.tar.gz'), 'not a backup')
    assert.match(await refusal('text.tar.gz'), /damaged, or is not a backup/)
    assert.match(await refusal('missing.tar.gz'), /The file .*missing\.tar\.gz does not exist/)
  })

  test('takes no settings from the archive: they name programs that PostgreSQL runs, and who may connect', async (t) => {
    const ran = inRoot('ran')
    await chmod(root, 0o755)
    await mkdir(ran)
    await chmod(ran, 0o777)
    const command = `touch ${ran}/yes`
    await repack('still.tar.gz', 'commanding.tar.gz', {
      'postgresql.conf': `archive_mode = always\narchive_command = '${command}'\n`,
      'postgresql.auto.conf': `restore_command = '${command}; false'\nrecovery_end_command = '${command}'\n`,
      'pg_hba.conf': 'local all all trust\n',
      'pg_ident.conf': 'any /^(.*)$ postgres\n',
    })
    await restoreFrom('commanding.tar.gz', 'commanded')
    await start(t, 'commanded')
    const files = ['postgresql.conf', 'postgresql.auto.conf', 'pg_hba.conf', 'pg_ident.conf']
    const texts = await Promise.all(files.map((name) => readFile(inRoot(`commanded/postgres/${name}`), 'utf8')))
    assert.doesNotMatch(texts.join(''), /touch|trust|any/)
    assert.match(texts[2] ?? '', /scram-sha-256/)
    for (const name of ['recovery.signal', 'standby.signal']) {
      await repack('commanding.tar.gz', 'signalling.tar.gz', { [name]: '' })
      assert.match(await refusal('signalling.tar.gz'), new RegExp(`${name}.*does not make`))
    }
    assert.equal(existsSync(`${ran}/yes`), false)
  })

  test('refuses files of another PostgreSQL before it unpacks them', async () => {
    const opened = gunzipSync(await readFile(inRoot('still.tar.gz')))
    const at = opened.indexOf('"postgres_version": 18')
    opened.write('"postgres_version": 17', at)
    await writeFile(inRoot('older.tar.gz'), gzipSync(opened, { level: 1 }))
    assert.match(await refusal('older.tar.gz'), /one of PostgreSQL 17, .* carries PostgreSQL 18/)
  })

  test('that is interrupted leaves nothing', async () => {
    const interrupted = new AbortController()
    const onProgress = (doneBytes: number, totalBytes: number): void => {
      if (doneBytes > totalBytes / 2) interrupted.abort()
    }
    assert.match(await refusal('still.tar.gz', { signal: interrupted.signal, onProgress }), /interrupted/)
  })

  test('as root unpacks into a directory that is closed to everyone else, and hands it over whole', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('not root')
    const seen = new Set<string>()
    const onProgress = (): void => {
      const found = statSync(inRoot('handed/postgres.draft'), { throwIfNoEntry: false })
      if (found !== undefined) seen.add(`${found.uid} ${(found.mode & 0o777).toString(8)}`)
    }
    await restoreFrom('still.tar.gz', 'handed', { onProgress })
    assert.deepEqual([...seen], ['0 700'])
    const cluster = inRoot('handed/postgres')
    const owners = (await readdir(cluster, { recursive: true })).map((name) => statSync(path.join(cluster, name)).uid)
    assert.deepEqual([...new Set([statSync(cluster).uid, ...owners])], [65_534])
  })

  test('does not touch a directory that is not empty or in use by a service', async (t) => {
    await mkdir(inRoot('home'))
    await writeFile(inRoot('home/letter.txt'), '')
    await assert.rejects(restoreFrom('still.tar.gz', 'home'), /is not empty \(letter\.txt\)/)
    assert.deepEqual(await readdir(inRoot('home')), ['letter.txt'])
    const db = await start(t, 'data')
    await assert.rejects(restoreFrom('still.tar.gz', 'data', { replace: true }), /in use|already opened/)
    assert.ok((await readWritten(db)).debits > 0)
  })

  test('replaces a database only on request, and keeps the replaced keys under another name', async (t) => {
    const early = await startEmbedded({ dataDirectory: inRoot('keyed'), log: silentLog })
    const db = openTestDatabase(early.connection)
    await db.execute('drop table debits')
    await db.close()
    await early.stop()
    await writeFile(inRoot('keyed/sealing.keys'), 'other keys')
    await assert.rejects(restoreFrom('with.tar.gz', 'keyed'), /is not empty \(postgres\).*--replace/)
    await restoreFrom('with.tar.gz', 'keyed', { replace: true })
    assert.ok((await readWritten(await start(t, 'keyed'))).debits > 0)
    assert.equal(await readFile(inRoot('keyed/sealing.keys'), 'utf8'), keys)
    assert.equal(await readFile(inRoot('keyed/sealing.keys.replaced'), 'utf8'), 'other keys')
    const isSocket = (name: string): boolean => name.startsWith('assay-socket-') || name.endsWith('.socket')
    const left = (await readdir(inRoot('keyed'))).filter((name) => !isSocket(name)).toSorted()
    assert.deepEqual(left, ['database.password', 'owner.json', 'postgres', 'sealing.keys', 'sealing.keys.replaced'])
  })

  test('that was killed between its two renames leaves the database that was there', async (t) => {
    await restoreFrom('still.tar.gz', 'halfway')
    await rename(inRoot('halfway/postgres'), inRoot('halfway/postgres.replaced'))
    await mkdir(inRoot('halfway/postgres.draft'))
    assert.ok((await readWritten(await start(t, 'halfway'))).debits > 0)
  })

  test('goes into a directory where a start was killed', async () => {
    await mkdir(inRoot('killed/postgres.draft'), { recursive: true })
    await writeFile(inRoot('killed/owner.json.5d2f6c1e'), '')
    await restoreFrom('still.tar.gz', 'killed')
    assert.ok(existsSync(inRoot('killed/postgres')))
  })

  test('into a directory with other keys is refused unless it may replace them', async () => {
    await mkdir(inRoot('other-keys'))
    await writeFile(inRoot('other-keys/sealing.keys'), 'other keys')
    await assert.rejects(restoreFrom('with.tar.gz', 'other-keys'), /holds other keys/)
    assert.deepEqual(await readdir(inRoot('other-keys')), ['sealing.keys'])
  })

  test('never replaces the keys that an earlier restore has put aside', async () => {
    await restoreFrom('with.tar.gz', 'twice')
    await writeFile(inRoot('twice/sealing.keys.replaced'), 'the only copy')
    // The same keys need no place.
    await restoreFrom('with.tar.gz', 'twice', { replace: true })
    await writeFile(inRoot('twice/sealing.keys'), 'other keys')
    await assert.rejects(restoreFrom('with.tar.gz', 'twice', { replace: true }), /\.replaced holds the keys of an/)
    assert.equal(await readFile(inRoot('twice/sealing.keys.replaced'), 'utf8'), 'the only copy')
    assert.equal(await readFile(inRoot('twice/sealing.keys'), 'utf8'), 'other keys')
  })
})
