/** Requests by autocannon, in a separate process, so that it takes only processor time from what it measures. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { cpuSecondsOf, runProgram, scratchFile } from '../process.ts'

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
