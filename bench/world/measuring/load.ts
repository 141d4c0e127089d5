/**
 * A server under load. autocannon sends the requests from a separate process, so that it takes only processor time from
 * what it measures.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { median, type Side } from '../../measure.ts'
import { show } from '../../report.ts'
import { cpuSecondsOf, runProgram, scratchFile, type Process } from '../process.ts'

export interface LoadRequest {
  method: 'GET' | 'POST'
  path: string
  headers: Readonly<Record<string, string>>
  body?: string
}

export interface Load {
  url: string
  /** The process that answers. */
  pid: number
  seconds: number
  /** Dealt out to the connections; each repeats its share. */
  requests: readonly LoadRequest[]
}

export interface LoadResult {
  perSecond: number
  /** Processor time of the answering process for each request, in microseconds: it hardly depends on other load. */
  cpuUs: number
}

interface Reported {
  requests: number
  seconds: number
  failures: number
  firstFailure: string
}

/** Twice the connections of the API's pool, so that it never waits for a request. */
export const apiConnections = 20
/** Every measured answer holds many rows. */
const answerLengthMin = 1_000
const program = path.resolve(import.meta.dirname, '../../programs/load.mjs')

/** Checks an answer and writes the requests; each call of the returned function is a run. */
export async function prepareLoad(name: string, load: Load): Promise<() => Promise<LoadResult>> {
  const { pid, ...sent } = load
  const [first] = load.requests
  if (first === undefined) throw new RangeError('a load needs requests')
  await checkAnswer(load.url, first)
  const file = scratchFile(`${name}.load.json`)
  writeFileSync(file, JSON.stringify({ ...sent, connections: apiConnections }))
  return async () => {
    const cpuBefore = cpuSecondsOf(pid)
    const found = JSON.parse(await runProgram(process.execPath, [program, file])) as Reported
    if (found.failures > 0) throw new Error(`${found.failures} requests failed, the first with ${found.firstFailure}`)
    const cpuUs = ((cpuSecondsOf(pid) - cpuBefore) * 1_000_000) / found.requests
    return { perSecond: found.requests / found.seconds, cpuUs }
  }
}

/** Empty or refused responses would be fast, so the first response is checked. */
async function checkAnswer(url: string, { path: target, method, headers, body }: LoadRequest): Promise<void> {
  const response = await fetch(`${url}${target}`, { method, headers, body: body ?? null })
  const answer = await response.text()
  if (response.status !== 200) throw new Error(`${target}: ${response.status} ${answer}`)
  if (answer.length < answerLengthMin) throw new Error(`${target}: the answer is too short: ${answer}`)
}

// A loaded server as one side of a comparison.

export interface LoadedSide extends Side {
  /** Processor time for each request, once it has run. */
  describeCpu(): string
}

export interface LoadedServer {
  /** The file with its requests has this name, too. */
  name: string
  server: Pick<Process, 'pid'> & { url: string }
  requests: readonly LoadRequest[]
  seconds: number
}

/** Its figure is answers per second. */
export async function loadedSide({ name, server, requests, seconds }: LoadedServer): Promise<LoadedSide> {
  const load = await prepareLoad(name, { url: server.url, pid: server.pid, seconds, requests })
  const cpus: number[] = []
  return {
    name,
    async run() {
      const { perSecond, cpuUs } = await load()
      cpus.push(cpuUs)
      return perSecond
    },
    describeCpu: () => describeCpu(name, cpus),
  }
}

/** Leaves out the first run, which warmed the server up. */
export function describeCpu(name: string, cpusUs: readonly number[]): string {
  return `${name} ${show(median(cpusUs.slice(1)))} µs`
}

/** For the notes of a finding: a ratio of processor times is reliable on a busy machine. */
export function describeCpus(sides: readonly LoadedSide[]): string {
  return `Processor time of the process for each answer: ${sides.map((side) => side.describeCpu()).join(', ')}.`
}
