/**
 * `assay serve --role api` as an operator starts it: its own process, production mode, its log at the default level.
 */
import path from 'node:path'
import { testKeyTexts } from '../../apps/server/src/test-keys.ts'
import { startProcess, type Process } from './process.ts'

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
