/** programs/prototype.mjs as a process, and the proof that it gives the same data as the API. */
import path from 'node:path'
import type { Api } from './api.ts'
import type { LoadRequest } from './measuring/load.ts'
import { startProcess } from './process.ts'

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
