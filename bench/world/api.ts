/** `assay serve --role api` as an operator starts it: its own process, production mode, its log at the default level. */
import path from 'node:path'
import { startProcess, type Process } from './process.ts'

/** 32 bytes that everybody may know: nothing that this key seals is worth anything. */
export const sealingKeys = `bench:${Buffer.alloc(32, 'bench').toString('base64')}`
export const assay = path.resolve(import.meta.dirname, '../../apps/cli/bin/assay.mjs')

export interface Api extends Process {
  url: string
}

export async function startApi(environment: Readonly<Record<string, string>>): Promise<Api> {
  const words = [assay, 'serve', '--role', 'api', '--port', '0']
  const started = await startProcess({ name: 'api', words, environment, ready: /"url":"(http[^"]+)".*"ready"/ })
  return { ...started, url: started.ready }
}

/** For load: requests are counted against the limits as always, but the limits are too high for a few hundred tokens. */
export function underLoad(databaseUrl: string): Readonly<Record<string, string>> {
  return {
    DATABASE_URL: databaseUrl,
    ASSAY_SEALING_KEYS: sealingKeys,
    ASSAY_LIMIT_TOKEN: '1000000',
    ASSAY_LIMIT_CLIENT: '1000000',
  }
}
