/** Durable servers that are killed in every way. Most tests share one data directory and run in order. */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { openTestDatabase, silentLog } from '../../../../../test/postgres.ts'
import { patienceMs, until as untilThere } from '../../../../../test/until.ts'
import { isDatabaseAway } from '../away.ts'
import { claimWithSocket, findPassword } from './cluster.ts'
import { joinEmbedded, startEmbedded, type EmbeddedServer } from './embedded.ts'
import { ensureReachable, findBinaries } from './binaries.ts'
import { claimDataDirectory, findOwner, isRunning } from './owner.ts'
import { removeCluster, socketName, stopOrphan } from './postmaster.ts'
import { openDatabase } from '../index.ts'
import type { Database } from '../sql.ts'

let root = ''
before(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'assay-embedded-'))
})
after(() => rm(root, { recursive: true }))

async function start(t: TestContext, dataDirectory: string): Promise<{ server: EmbeddedServer; db: Database }> {
  const server = await startEmbedded({ dataDirectory, log: silentLog })
  const db = openTestDatabase(server.connection)
  t.after(async () => {
    await db.close()
    await server.stop()
  })
  return { server, db }
}

async function readPostmasterPid(dataDirectory: string): Promise<number> {
  return Number((await readFile(path.join(dataDirectory, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0])
}

const until = (condition: () => boolean | Promise<boolean>): Promise<true> =>
  untilThere(condition.toString(), async () => ((await condition()) ? true : undefined))

/**
 * Runs `work` in another process that owns the directory. Returns the last line that it printed or, if it was refused,
 * the reason.
 */
function startOwner(dataDirectory: string, work: string): { child: ChildProcess; printed: () => string } {
  const module = (name: string): string => JSON.stringify(import.meta.resolve(name))
  const program = `
    import { startEmbedded } from ${module('./embedded.ts')}
    import { openTestDatabase, silentLog } from ${module('../../../../../test/postgres.ts')}
    const print = (text) => process.stdout.write(text + '\\n')
    const starting = startEmbedded({ dataDirectory: ${JSON.stringify(dataDirectory)}, log: silentLog })
    const server = await starting.catch((error) => { print(error.message); process.exit(1) })
    const db = openTestDatabase(server.connection)
    ${work}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let last = ''
  createInterface({ input: child.stdout }).on('line', (line) => {
    last = line
  })
  return { child, printed: () => last }
}

/** An owner that writes the numbers 1, 2, 3, … each printed once it is committed. */
function startWriter(dataDirectory: string): { child: ChildProcess; committed: () => number } {
  const { child, printed } = startOwner(
    dataDirectory,
    `await db.execute('create table if not exists written (n int primary key); truncate written')
    process.on('SIGTERM', () => process.exit())
    for (let n = 1; ; n++) {
      await db.execute('insert into written values ($1)', [n])
      print(n)
    }`,
  )
  return { child, committed: () => Number(printed()) }
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'close')
  child.kill('SIGKILL')
  await gone
}

async function assertNothingLost(db: Database, committed: number): Promise<void> {
  const { count, last } = await db.row<{ count: number; last: number }>(
    'select count(*)::int as count, max(n) as last from written',
  )
  assert.equal(count, last, 'a number is missing')
  // The table may have more rows than were printed: lines that a killed process had not yet written to the pipe are
  // lost.
  assert.ok(last >= committed, `printed up to ${committed}, found up to ${last}`)
}

describe('one data directory', () => {
  const data = (): string => path.join(root, 'data')

  test('the first start creates a durable cluster without a port, on a socket that other users cannot reach', async (t) => {
    const { server, db } = await start(t, data())
    assert.ok(path.join(server.connection.host, '.s.PGSQL.5432').length < 100)
    const settings =
      await db.row(`select current_setting('fsync') as fsync, current_setting('synchronous_commit') as sync,
      current_setting('listen_addresses') as addresses, current_setting('server_encoding') as encoding,
      (select datcollate from pg_database where datname = current_database()) as collation, current_user as user`)
    assert.deepEqual(settings, {
      fsync: 'on',
      sync: 'on',
      addresses: '',
      encoding: 'UTF8',
      collation: 'C',
      user: 'assay',
    })
    await db.execute('create table kept (a int); insert into kept values (1)')
  })

  test('no directory that others can make is named in advance, and a killed owner leaves none', async (t) => {
    const socketOf = async (): Promise<string> =>
      (JSON.parse(await readFile(path.join(data(), 'owner.json'), 'utf8')) as { socketDirectory: string })
        .socketDirectory
    const { child, committed } = startWriter(data())
    await until(() => committed() > 0)
    const killed = await socketOf()
    await kill(child)
    const { server } = await start(t, data())
    assert.equal(existsSync(killed), false)
    assert.notEqual(await socketOf(), killed)
    assert.equal(await socketOf(), server.connection.host)
    const parent = process.getuid?.() === 0 ? '/tmp' : await realpath(data())
    assert.equal(path.dirname(server.connection.host), parent)
  })

  test('another program that runs as PostgreSQL’s user cannot connect without the password', async (t) => {
    const { server } = await start(t, data())
    const { host, database } = server.connection
    for (const user of ['assay', 'postgres']) {
      const pool = new pg.Pool({ host, port: 5432, user, password: '', database, ssl: false })
      await assert.rejects(pool.query('select 1'), /password|SASL|SCRAM/)
      await pool.end()
    }
    const file = await stat(path.join(data(), 'database.password'))
    assert.deepEqual([file.mode & 0o777, file.uid], [0o600, process.getuid?.()])
  })

  test('we connect as a role that is not a superuser', async (t) => {
    const { db } = await start(t, data())
    assert.deepEqual(await db.row('select rolsuper from pg_roles where rolname = current_user'), { rolsuper: false })
    await assert.rejects(db.rows("select pg_read_file('pg_hba.conf')"), /permission denied/)
    await assert.rejects(db.execute("copy (select 1) to program 'true'"), /permission denied/)
  })

  test('a data directory without its password file gets a new password', async (t) => {
    await rm(path.join(data(), 'database.password'))
    const { db } = await start(t, data())
    assert.deepEqual(await db.rows('select a from kept'), [{ a: 1 }])
  })

  test('a stop leaves no process, no socket and no owner; the second start keeps the data', async (t) => {
    const server = await startEmbedded({ dataDirectory: data(), log: silentLog })
    const pid = await readPostmasterPid(data())
    await server.stop()
    assert.equal(await isRunning(pid), false)
    assert.equal(existsSync(server.connection.host), false)
    assert.equal(await joinEmbedded(data()), undefined)
    const { db } = await start(t, data())
    assert.deepEqual(await db.rows('select a from kept'), [{ a: 1 }])
  })

  test('a second owner is refused with the pid and directory of the first; a command may join', async (t) => {
    const { child, committed } = startWriter(data())
    t.after(() => kill(child))
    await until(() => committed() > 0)
    await assert.rejects(startEmbedded({ dataDirectory: data(), log: silentLog }), (error: Error) => {
      assert.match(error.message, new RegExp(`data directory .*data is in use by process ${child.pid}\\.`))
      return true
    })
    const options = { url: undefined, dataDirectory: data(), pooler: 'none', poolSizeMax: 2 } as const
    const patience = { acquireTimeoutMs: patienceMs, statementTimeoutMs: patienceMs }
    const joined = await openDatabase({ ...options, ...patience, join: true }, silentLog)
    assert.deepEqual(await joined.db.rows('select a from kept'), [{ a: 1 }])
    await joined.close()
    const before = committed()
    await until(() => committed() > before)
  })

  test('kill -9 of the owner: the next start stops the PostgreSQL it left, and no committed row is lost', async (t) => {
    const { child, committed } = startWriter(data())
    await until(() => committed() >= 100)
    const orphan = await readPostmasterPid(data())
    await kill(child)
    assert.equal(await isRunning(orphan), true)
    const { db } = await start(t, data())
    assert.equal(await isRunning(orphan), false)
    await assertNothingLost(db, committed())
  })

  test('a command that joins while a killed owner’s PostgreSQL still runs waits for the new one', async (t) => {
    const { child, committed } = startWriter(data())
    await until(() => committed() > 0)
    const orphan = await readPostmasterPid(data())
    await kill(child)
    process.kill(orphan, 'SIGSTOP')
    const starting = start(t, data())
    await until(async () => (await findOwner(data())) !== undefined)
    const joining = joinEmbedded(data()).then((joined) => [
      joined,
      existsSync(path.join(joined?.host ?? '', socketName)),
    ])
    for (let look = 0; look < 10; look += 1) await findOwner(data())
    process.kill(orphan, 'SIGCONT')
    const { server } = await starting
    assert.deepEqual(await joining, [server.connection, true])
  })

  test('kill -9 of the owner and of PostgreSQL: the next start recovers, and no committed row is lost', async (t) => {
    const { child, committed } = startWriter(data())
    await until(() => committed() >= 100)
    const postmaster = await readPostmasterPid(data())
    child.kill('SIGSTOP')
    process.kill(postmaster, 'SIGKILL')
    await kill(child)
    const { db } = await start(t, data())
    await assertNothingLost(db, committed())
  })

  test('kill -9 of PostgreSQL while the owner lives: the database is "away" for a moment, then recovers by itself', async (t) => {
    const { db } = await start(t, data())
    await db.execute('truncate written')
    let committed = 0
    for (const round of [1, 2]) {
      const postmaster = await readPostmasterPid(data())
      const end = committed + 200
      while (committed < end) {
        if (committed === end - 100 && (await isRunning(postmaster))) process.kill(postmaster, 'SIGKILL')
        try {
          await db.execute('insert into written values ($1) on conflict do nothing', [committed + 1])
          committed += 1
        } catch (error) {
          assert.ok(isDatabaseAway(error), `round ${round}: ${String(error)}`)
          await delay(5)
        }
      }
      // A backend outlives its killed postmaster for a moment, and may still hold all of the remaining connections.
      await until(async () => (await readPostmasterPid(data()).catch(() => postmaster)) !== postmaster)
    }
    await assertNothingLost(db, committed)
  })

  test('a stop while PostgreSQL is being started again leaves no process and no socket', async () => {
    const server = await startEmbedded({ dataDirectory: data(), log: silentLog })
    const killed = await readPostmasterPid(data())
    process.kill(killed, 'SIGKILL')
    await until(async () => !(await isRunning(killed)))
    await server.stop()
    const last = existsSync(path.join(data(), 'postgres', 'postmaster.pid')) ? await readPostmasterPid(data()) : killed
    assert.equal(await isRunning(last), false)
    assert.equal(existsSync(server.connection.host), false)
  })

  test('an owner that ends without a stop takes PostgreSQL with it', async () => {
    const { child, committed } = startWriter(data())
    await until(() => committed() > 0)
    const postmaster = await readPostmasterPid(data())
    child.kill('SIGTERM')
    await once(child, 'exit')
    await until(async () => !(await isRunning(postmaster)))
  })

  test('a postmaster.pid that names another program does not keep PostgreSQL from starting', async (t) => {
    const file = path.join(data(), 'postgres', 'postmaster.pid')
    await writeFile(file, `${process.ppid}\n${path.dirname(file)}\n1\n5432\n/tmp\n\n0 0\nready\n`)
    const { db } = await start(t, data())
    assert.deepEqual(await db.rows('select a from kept'), [{ a: 1 }])
  })

  test('an owner.json that is truncated or names a dead process is ignored', async (t) => {
    const file = path.join(data(), 'owner.json')
    await writeFile(file, '{"pid":')
    const first = await startEmbedded({ dataDirectory: data(), log: silentLog })
    await first.stop()
    // Our own process id with another start time stands for an earlier process that had the same id.
    // It was killed before PostgreSQL's user was given the directory.
    const socketDirectory = await mkdtemp('/tmp/assay-socket-')
    await writeFile(file, JSON.stringify({ pid: process.pid, born: 'long ago', socketDirectory }))
    const { db } = await start(t, data())
    assert.equal(existsSync(socketDirectory), false)
    assert.deepEqual(await db.rows('select a from kept'), [{ a: 1 }])
  })

  test('when three processes take over from a dead owner at once, one wins and its id is reported to the others', async () => {
    await writeFile(path.join(data(), 'owner.json'), JSON.stringify({ pid: 1, born: 'long ago', socketDirectory: '/' }))
    const owners = [1, 2, 3].map(() => startOwner(data(), "print('owner'); process.stdin.resume()"))
    await until(() => owners.every(({ printed }) => printed() !== ''))
    const winners = owners.filter(({ printed }) => printed() === 'owner')
    assert.equal(winners.length, 1)
    const pid = winners[0]?.child.pid
    for (const { printed } of owners) assert.match(printed(), new RegExp(`^owner$|is in use by process ${pid}\\.`))
    await Promise.all(winners.map(({ child }) => kill(child)))
  })

  test('kill -9 of PostgreSQL before it is ready: the start is repeated', async (t) => {
    const binaries = path.join(root, 'killed-once')
    await mkdir(path.join(binaries, 'bin'), { recursive: true })
    const mark = path.join(root, 'killed')
    const real = path.join(await findBinaries(), 'bin', 'postgres')
    const program = `#!/bin/sh
if [ "$1" = --version ] || [ -e ${mark}/yes ]; then exec ${real} "$@"; fi
touch ${mark}/yes
kill -9 $$
`
    await writeFile(path.join(binaries, 'bin', 'postgres'), program, { mode: 0o755 })
    await mkdir(mark)
    // When this test runs as root, PostgreSQL runs as another user.
    await chmod(mark, 0o777)
    await chmod(root, 0o755)
    const server = await startEmbedded({ dataDirectory: data(), log: silentLog, binaries })
    t.after(() => server.stop())
    assert.ok(existsSync(path.join(mark, 'yes')))
    const db = openTestDatabase(server.connection)
    assert.deepEqual(await db.rows('select a from kept'), [{ a: 1 }])
    await db.close()
  })

  test('the error of a PostgreSQL that cannot start says why', async () => {
    const refused = startEmbedded({ dataDirectory: data(), log: silentLog, settings: { shared_buffers: 'lots' } })
    await assert.rejects(refused, /PostgreSQL did not start\. It said:\n.*shared_buffers/)
    assert.equal(await joinEmbedded(data()), undefined)
  })

  test('a directory that has never been started has no server to join', async () => {
    assert.equal(await joinEmbedded(path.join(root, 'never')), undefined)
  })
})

test('a start waits for the PostgreSQL that a killed owner left running in another container', async (t) => {
  if (process.platform !== 'linux') return t.skip('containers are Linux')
  const dataDirectory = await mkdtemp(path.join(root, 'elsewhere-'))
  const [first, second] = [await mkdtemp(path.join(dataDirectory, 'assay-socket-')), '/tmp/assay-socket-gone']
  // The second is of a start that was killed while it waited.
  for (const socketDirectory of [first, second]) {
    await mkdir(first, { recursive: true })
    // No process that can be seen from here holds this socket for PostgreSQL.
    const elsewhere = createServer().listen(path.join(first, socketName))
    t.after(() => elsewhere.close())
    await once(elsewhere, 'listening')
    await writeFile(path.join(dataDirectory, 'owner.json'), JSON.stringify({ pid: 1, born: 'there', socketDirectory }))
    const logged = Promise.withResolvers<string>()
    const log = { ...silentLog, warn: (_: object, message: string) => logged.resolve(message) }
    const claim = await claimWithSocket(dataDirectory)
    t.after(() => claim.release())
    let isPrepared = false
    const prepared = claim.prepareSocket({ identity: undefined, log }).then(() => (isPrepared = true))
    const found = await Promise.race([logged.promise, prepared.then(() => 'did not wait')])
    assert.match(found, /left running in another container/)
    assert.equal(isPrepared, false)
    elsewhere.close()
    await prepared
    await claim.release()
  }
})

test('a start that waits for a PostgreSQL in another container ends when it is asked to stop', async (t) => {
  if (process.platform !== 'linux') return t.skip('containers are Linux')
  const dataDirectory = await mkdtemp(path.join(root, 'asked-'))
  const elsewhere = createServer().listen(path.join(await mkdtemp(`${dataDirectory}/assay-socket-`), socketName))
  t.after(() => elsewhere.close())
  await once(elsewhere, 'listening')
  const [stopping, reason] = [new AbortController(), new Error('asked to stop')]
  const log = { ...silentLog, warn: () => stopping.abort(reason) }
  const claim = await claimWithSocket(dataDirectory)
  t.after(() => claim.release())
  const ended = claim.prepareSocket({ identity: undefined, log }, stopping.signal).catch((error: unknown) => error)
  assert.equal(await Promise.race([ended, delay(10_000, 'still waits', { ref: false })]), reason)
})

test('a data directory that other users control is refused, and nothing is written into it', async (t) => {
  const shared = path.join(root, 'shared')
  await mkdir(shared)
  await chmod(shared, 0o1777)
  await assert.rejects(start(t, shared), /may be written to by every user of this machine/)
  if (process.getuid?.() === 0) {
    await chmod(shared, 0o755)
    await chown(shared, 65_534, 65_534)
    await assert.rejects(start(t, shared), /belongs to uid 65534, and this process runs as uid 0/)
  }
  assert.deepEqual(await readdir(shared), [])
})

test('the refusal of a data directory that root has made says how an ordinary user goes on', async (t) => {
  if (process.getuid?.() !== 0 || process.seteuid === undefined) return t.skip('not root')
  await chmod(root, 0o755)
  const closed = path.join(root, 'closed-by-root')
  await mkdir(closed, { mode: 0o700 })
  t.after(() => process.seteuid?.(0))
  process.seteuid(65_534)
  await assert.rejects(start(t, closed), /may not use the data directory .*: sudo chown -R/)
  await assert.rejects(joinEmbedded(closed), /may not use the data directory .*: sudo chown -R/)
  await assert.rejects(findPassword(closed), /may not use the data directory .*: sudo chown -R/)
})

test('a command as root gives no file of its own to a server that the owner of the directory names', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('not root')
  const [ofRoot, directory] = [path.join(root, 'secret-of-root'), path.join(root, 'planted')]
  await writeFile(ofRoot, 'a key of root', { mode: 0o600 })
  await mkdir(path.join(directory, 'postgres'), { recursive: true })
  await symlink(ofRoot, path.join(directory, 'database.password'))
  await writeFile(path.join(directory, 'postgres', 'postmaster.pid'), `${process.pid}${'\n'.repeat(7)}ready\n`)
  await writeFile(path.join(directory, socketName), '')
  const release = await claimDataDirectory(directory, directory)
  t.after(release)
  assert.equal((await joinEmbedded(directory))?.password, 'a key of root')
  await chown(directory, 65_534, 65_534)
  await assert.rejects(joinEmbedded(directory), /belongs to uid 65534, and this process runs as uid 0/)
})

test('a start as root writes nothing into a directory whose owner may put a link there', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('not root')
  await chmod(root, 0o755)
  const ofRoot = path.join(root, 'of-root')
  await writeFile(ofRoot, 'untouched', { mode: 0o600 })
  const binaries = path.join(root, 'linking')
  const real = await findBinaries()
  await cp(real, binaries, { recursive: true, verbatimSymlinks: true })
  // The directory of a new cluster belongs to the user that PostgreSQL runs as, and so does what runs here.
  const program = `#!/bin/sh
${path.join(real, 'bin', 'initdb')} "$@" && ln -sf ${ofRoot} pg_hba.conf
`
  await writeFile(path.join(binaries, 'bin', 'initdb'), program, { mode: 0o755 })
  const starting = startEmbedded({ dataDirectory: path.join(root, 'linked'), log: silentLog, binaries })
  await assert.rejects(starting, /pg_hba\.conf/)
  assert.equal(await readFile(ofRoot, 'utf8'), 'untouched')
})

test('a new cluster, and one that was killed, wait once for the whole disk and not for each file', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux can')
  await chmod(root, 0o755)
  const binaries = path.join(root, 'telling')
  const real = await findBinaries()
  await cp(real, binaries, { recursive: true, verbatimSymlinks: true })
  const program = `#!/bin/sh
${path.join(real, 'bin', 'initdb')} "$@" && echo "$@" > initdb-words
`
  await writeFile(path.join(binaries, 'bin', 'initdb'), program, { mode: 0o755 })
  const dataDirectory = path.join(root, 'flushed')
  const server = await startEmbedded({ dataDirectory, log: silentLog, binaries })
  t.after(() => server.stop())
  assert.match(await readFile(path.join(dataDirectory, 'postgres', 'initdb-words'), 'utf8'), /--sync-method=syncfs/)
  const db = openTestDatabase(server.connection)
  t.after(() => db.close())
  const { value } = await db.row<{ value: string }>("select current_setting('recovery_init_sync_method') as value")
  assert.equal(value, 'syncfs')
})

test('root deletes a cluster and nothing else, whatever links its owner puts there meanwhile', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('not root')
  await chmod(root, 0o755)
  const names = Array.from({ length: 1_000 }, (_, index) => `file-${index}`)
  const [ofRoot, cluster] = [path.join(root, 'kept-by-root'), path.join(root, 'deleted')]
  const inside = path.join(cluster, 'inside')
  for (const directory of [ofRoot, inside]) {
    await mkdir(directory, { recursive: true })
    await Promise.all(names.map((name) => writeFile(path.join(directory, name), '')))
  }
  const nobody = { uid: 65_534, gid: 65_534 }
  for (const directory of [inside, cluster]) await chown(directory, nobody.uid, nobody.gid)
  await chmod(cluster, 0o777)
  // It is in the directory already, and puts a link in place of the one inside as soon as that is being deleted.
  const there = names.map((name) => `[ -e inside/${name} ]`).filter((_, index) => index % 50 === 0)
  const program = `echo ready; while ${there.join(' && ')}; do :; done; mv inside moved && ln -s ${ofRoot} inside`
  const other = spawn('/bin/sh', ['-c', program], { ...nobody, cwd: cluster, stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = once(other, 'close')
  await once(other.stdout, 'data')
  // Such a program may keep the deletion from succeeding, and nothing more.
  await removeCluster(cluster).catch(() => undefined)
  await ended
  assert.equal((await readdir(ofRoot)).length, names.length)
})

test('the socket of another PostgreSQL stays, whatever link takes the place of our own directory', async () => {
  const [other, socketDirectory] = [path.join(root, 'of-another'), path.join(root, 'assay-socket-linked')]
  await mkdir(other)
  const names = [socketName, `${socketName}.lock`]
  for (const name of names) await writeFile(path.join(other, name), '')
  await symlink(other, socketDirectory)
  const nothing = { identity: undefined, settings: {}, log: silentLog }
  const directory = path.join(root, 'never-started')
  await stopOrphan({ ...nothing, directory, binaries: await findBinaries(), socketDirectory })
  assert.deepEqual((await readdir(other)).toSorted(), names)
})

test('two data directories run at once, even below a directory that only their user can enter', async (t) => {
  const locked = path.join(root, 'locked')
  const checkout = path.join(locked, 'checkout')
  await mkdir(checkout, { recursive: true })
  await chmod(locked, 0o700)
  // When this test runs as root, PostgreSQL runs as another user, who cannot read the programs there. They are copied
  // to a place that it can read.
  const version = `0.0.0-test-${process.pid}`
  const binaries = path.join(checkout, 'native')
  await cp(await findBinaries(), binaries, { recursive: true, verbatimSymlinks: true })
  await chmod(binaries, 0o700)
  await writeFile(path.join(checkout, 'package.json'), JSON.stringify({ version }))
  const copy = `/var/cache/assay-postgres-${version}-${process.platform}-${process.arch}`
  t.after(() => rm(copy, { recursive: true, force: true }))

  const servers = await Promise.all(
    ['one', `a "second" one, 'here'`].map((name) =>
      startEmbedded({ dataDirectory: path.join(checkout, name), log: silentLog, binaries }),
    ),
  )
  t.after(() => Promise.all(servers.map((server) => server.stop())))
  for (const [index, { connection }] of servers.entries()) {
    const db = openTestDatabase(connection)
    await db.execute(`create table here (n int); insert into here values (${index}); checkpoint`)
    assert.deepEqual(await db.rows('select n from here'), [{ n: index }])
    await db.close()
  }
  assert.equal(existsSync(copy), process.getuid?.() === 0)
})

test('programs that another user puts in the place of our copy while it is made are not run', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('not root')
  const nobody = { uid: 65_534, gid: 65_534 }
  const name = `assay-postgres-0.0.0-race-${process.pid}-${process.platform}-${process.arch}`
  const closed = path.join(root, 'closed')
  await mkdir(closed, { mode: 0o700 })
  const binaries = path.join(closed, 'native')
  await cp(await findBinaries(), binaries, { recursive: true, verbatimSymlinks: true })
  await writeFile(path.join(closed, 'package.json'), JSON.stringify({ version: `0.0.0-race-${process.pid}` }))
  const [first, second] = [path.join('/var/cache', name), path.join('/tmp', name)]
  t.after(() => Promise.all([first, second].map((copy) => rm(copy, { recursive: true, force: true }))))
  const reached = ensureReachable(binaries, nobody)
  await until(async () => (await readdir('/var/cache')).some((entry) => entry.startsWith(`${name}-`)))
  await mkdir(path.join(first, 'bin'), { recursive: true })
  await writeFile(path.join(first, 'bin', 'postgres'), '#!/bin/sh\n', { mode: 0o755 })
  await chown(first, nobody.uid, nobody.gid)
  assert.equal(await reached, second)
})

test('a copy of PostgreSQL in which a file was cut short is made anew, and an old draft is deleted', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('not root')
  const closed = path.join(root, 'closed-to-others')
  await mkdir(closed, { mode: 0o700 })
  const binaries = path.join(closed, 'native')
  await cp(await findBinaries(), binaries, { recursive: true, verbatimSymlinks: true })
  const version = `0.0.0-short-${process.pid}`
  await writeFile(path.join(closed, 'package.json'), JSON.stringify({ version }))
  const nobody = { uid: 65_534, gid: 65_534 }
  const copy = await ensureReachable(binaries, nobody)
  t.after(() => rm(copy, { recursive: true, force: true }))
  const initdb = path.join(copy, 'bin', 'initdb')
  const { size } = await stat(initdb)
  await writeFile(initdb, '')
  // What a process leaves that is killed while it copies, and what one has that is copying now.
  const [killed, present] = [`${copy}-killed`, `${copy}-present`]
  t.after(() => Promise.all([killed, present].map((draft) => rm(draft, { recursive: true, force: true }))))
  await Promise.all([killed, present].map((draft) => mkdir(path.join(draft, 'native'), { recursive: true })))
  await utimes(killed, 0, 0)
  await utimes(present, new Date(), new Date())
  assert.equal(await ensureReachable(binaries, nobody), copy)
  assert.equal((await stat(initdb)).size, size)
  assert.deepEqual([killed, present].map(existsSync), [false, true])
})
