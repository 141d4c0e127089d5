/** Requests by autocannon, in a process of its own so that it takes no time from anything but a processor. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { runProgram, scratchFile } from './process.ts'

export interface LoadRequest {
  method: 'GET' | 'POST'
  path: string
  headers: Readonly<Record<string, string>>
  body?: string
}

export interface Load {
  url: string
  seconds: number
  /** Dealt out to the connections; each repeats its share. */
  requests: readonly LoadRequest[]
}

export interface LoadResult {
  perSecond: number
  p50Ms: number
  p99Ms: number
}

interface Reported {
  requests: number
  seconds: number
  failures: number
  firstFailure: string
  p50Ms: number
  p99Ms: number
}

/** Twice the connections of the API's pool, so that it never waits for a request. */
export const apiConnections = 20
/** Every measured answer holds many rows. */
const answerLengthMin = 1_000
const program = path.resolve(import.meta.dirname, '../programs/load.mjs')

/** Checks an answer and writes the requests; each call of what it returns is a run. */
export async function prepareLoad(name: string, load: Load): Promise<() => Promise<LoadResult>> {
  const [first] = load.requests
  if (first === undefined) throw new RangeError('a load needs requests')
  await checkAnswer(load.url, first)
  const file = scratchFile(`${name}.load.json`)
  writeFileSync(file, JSON.stringify({ ...load, connections: apiConnections }))
  return async () => {
    const found = JSON.parse(await runProgram(process.execPath, [program, file])) as Reported
    if (found.failures > 0) throw new Error(`${found.failures} requests failed, the first with ${found.firstFailure}`)
    return { perSecond: found.requests / found.seconds, p50Ms: found.p50Ms, p99Ms: found.p99Ms }
  }
}

/** A benchmark of empty or refused answers would be a fast one. */
async function checkAnswer(url: string, { path: target, method, headers, body }: LoadRequest): Promise<void> {
  const response = await fetch(`${url}${target}`, { method, headers, body: body ?? null })
  const answer = await response.text()
  if (response.status !== 200) throw new Error(`${target}: ${response.status} ${answer}`)
  if (answer.length < answerLengthMin) throw new Error(`${target}: there is nothing in ${answer}`)
}
