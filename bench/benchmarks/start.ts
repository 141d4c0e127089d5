/**
 * start: from the command to a ready API on an embedded database that exists, against the sum of what cannot be
 * avoided: PostgreSQL's own start on the same directory, and an empty Fastify server's.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, chownSync, readFileSync, rmSync, statSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ensureReachable, findBinaries } from '../../apps/server/src/db/embedded/binaries.ts'
import type { Benchmark } from '../benchmark.ts'
import { compare, median } from '../measure.ts'
import { assay, benchKeys } from '../world/api.ts'
import { dataDirectory, endWithUs, stop } from '../world/process.ts'

const directory = path.join(dataDirectory, 'start')
const fastify = path.resolve(import.meta.dirname, '../programs/fastify.mjs')
const timeoutMs = 60_000
const pollMs = 2

export const start: Benchmark = {
  name: 'start',
  summary: 'until /readyz on an existing embedded database, against PostgreSQL and an empty Fastify',
  async run(bench) {
    bench.say('making the data directory')
    const made = spawnSync(process.execPath, [assay, 'migrate'], { env: environment(), encoding: 'utf8' })
    if (made.status !== 0) throw new Error(`assay migrate failed: ${made.stderr}`)
    const alone: { postgres: number; fastify: number }[] = []
    const measured = await compare(
      { name: 'assay serve', run: startAssay },
      {
        name: 'PostgreSQL + Fastify',
        async run() {
          const [postgresMs, fastifyMs] = [await startPostgres(), await startFastify()]
          alone.push({ postgres: postgresMs, fastify: fastifyMs })
          return postgresMs + fastifyMs
        },
      },
      bench,
    )
    const parts = `PostgreSQL ${round(alone.map(({ postgres }) => postgres))} ms, Fastify ${round(alone.map((one) => one.fastify))} ms`
    return [
      {
        title: 'assay serve --role api until /readyz',
        unit: 'ms',
        measured,
        goal: { atMost: 2 },
        notes: [`Of the sum: ${parts}.`],
      },
    ]
  },
}

function round(values: readonly number[]): number {
  return Math.round(median(values))
}

function environment(): NodeJS.ProcessEnv {
  // A process that answers requests is refused when it could open credentials.
  return { ...benchKeys, ASSAY_SEALING_PRIVATE_KEYS: '', ASSAY_DATA_DIRECTORY: directory, ASSAY_LOG_LEVEL: 'warn' }
}

async function startAssay(): Promise<number> {
  const port = await findFreePort()
  const began = performance.now()
  const words = [assay, 'serve', '--role', 'api', '--port', String(port)]
  const child = endWithUs(
    spawn(process.execPath, words, { env: environment(), stdio: ['ignore', 'ignore', 'inherit'] }),
  )
  await untilTrue(child, () => answers(`http://127.0.0.1:${port}/readyz`))
  const tookMs = performance.now() - began
  await stop(child)
  return tookMs
}

async function startFastify(): Promise<number> {
  const port = await findFreePort()
  const began = performance.now()
  const child = endWithUs(spawn(process.execPath, [fastify, String(port)], { stdio: 'ignore' }))
  await untilTrue(child, () => answers(`http://127.0.0.1:${port}/`))
  const tookMs = performance.now() - began
  await stop(child)
  return tookMs
}

/** Runs the program alone; it is ready when its pid file says so. */
async function startPostgres(): Promise<number> {
  const cluster = path.join(directory, 'postgres')
  const { uid, gid } = statSync(cluster)
  const identity = process.getuid?.() === 0 ? { uid, gid } : undefined
  const binaries = await ensureReachable(await findBinaries(), identity)
  const sockets = mkdtempSync('/tmp/assay-bench-')
  if (identity !== undefined) chownSync(sockets, uid, gid)
  const began = performance.now()
  const words = ['-D', '.', '-c', 'listen_addresses=', '-c', `unix_socket_directories=${sockets}`]
  const child = endWithUs(
    spawn(path.join(binaries, 'bin', 'postgres'), words, {
      ...identity,
      cwd: cluster,
      env: { LC_ALL: 'C' },
      stdio: 'ignore',
    }),
  )
  await untilTrue(child, async () => readStatus(cluster) === 'ready')
  const tookMs = performance.now() - began
  await stop(child, 'SIGINT')
  rmSync(sockets, { recursive: true })
  return tookMs
}

function readStatus(cluster: string): string | undefined {
  try {
    return readFileSync(path.join(cluster, 'postmaster.pid'), 'utf8').split('\n')[7]?.trim()
  } catch {
    // The file is not written yet.
    return undefined
  }
}

async function untilTrue(child: ChildProcess, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await holds())) {
    if (child.exitCode !== null || performance.now() > deadline) throw new Error(`${child.spawnfile} did not start`)
    await delay(pollMs)
  }
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    http
      .get(url, { agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode === 200)
      })
      .once('error', () => resolve(false))
  })
}

async function findFreePort(): Promise<number> {
  const probe = net.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as net.AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
