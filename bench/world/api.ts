/**
 * `assay serve --role api` as an operator starts it: its own process, production mode, its log at the default level.
 */
import path from 'node:path'
import { testKeyTexts } from '../../apps/server/src/test-keys.ts'
import { startProcess, type Process } from './process.ts'
import type { LoadRequest } from './measuring/load.ts'

/** Published keys: nothing that they seal has any value. */
export const benchKeys: Readonly<Record<string, string>> = testKeyTexts('bench')
export const assay = path.resolve(import.meta.dirname, '../../apps/cli/bin/assay.mjs')

export interface Api extends Process {
  url: string
}

/** Starts `processes` behind one port, which then has to be named. */
export async function startApi(
  environment: Readonly<Record<string, string>>,
  { processes = 1, port = 0 }: { processes?: number; port?: number } = {},
): Promise<Api> {
  const several = processes === 1 ? [] : ['--processes', String(processes)]
  const words = [assay, 'serve', '--role', 'api', '--port', String(port), ...several]
  // An API process does not start if it could open credentials.
  const own = { ...environment, ASSAY_SEALING_PRIVATE_KEYS: '' }
  const started = await startProcess({ name: 'api', words, environment: own, ready: /"url":"(http[^"]+)".*"ready"/ })
  return { ...started, url: started.ready }
}

/** For load tests: requests count against the limits as always, but a few hundred tokens never reach them. */
export function underLoad(databaseUrl: string): Readonly<Record<string, string>> {
  return {
    DATABASE_URL: databaseUrl,
    ...benchKeys,
    ASSAY_LIMIT_TOKEN: '1000000',
    ASSAY_LIMIT_CLIENT: '1000000',
  }
}

/** programs/prototype.mjs as a process, and the proof that it gives the same data as the API. */
const program = path.resolve(import.meta.dirname, '../programs/prototype.mjs')

export async function startPrototype(databaseUrl: string): Promise<Api> {
  const words = [program, databaseUrl]
  const started = await startProcess({ name: 'prototype', words, ready: /ready at (http\S+)/ })
  return { ...started, url: started.ready }
}

const comparedMax = 10

/** Compares the first responses of both sides, because a side that returns less data would win. */
export async function checkSameData(
  ours: { server: Api; requests: readonly LoadRequest[] },
  theirs: { server: Api; requests: readonly LoadRequest[] },
): Promise<void> {
  for (const [place, request] of ours.requests.slice(0, comparedMax).entries()) {
    const mine = await fetchData(ours.server, request)
    const other = await fetchData(theirs.server, theirs.requests[place])
    if (mine === other) continue
    throw new Error(`the prototype's data differs from the API's:\n${other.slice(0, 500)}\n${mine.slice(0, 500)}`)
  }
}

async function fetchData({ url }: Api, request: LoadRequest | undefined): Promise<string> {
  if (request === undefined) throw new RangeError('both sides must have as many requests')
  const { path: target, method, headers } = request
  const response = await fetch(`${url}${target}`, { method, headers })
  const answer = await response.text()
  if (response.status !== 200) throw new Error(`${target}: ${response.status} ${answer}`)
  return JSON.stringify((JSON.parse(answer) as { data: unknown }).data)
}
