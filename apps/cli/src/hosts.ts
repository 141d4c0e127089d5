/** `assay hosts`: which hosts this service may call for providers and prices, for a person and for a firewall. */
import { listHosts } from '@assay/server/admin'
import { parseConfig, readEnvironment } from '@assay/server/config'
import { parseArgs } from 'node:util'
import { writeJson, writeTable } from './console.ts'

export async function hosts(words: string[]): Promise<void> {
  const { values } = parseArgs({ args: words, options: { json: { type: 'boolean', default: false } } })
  const listed = listHosts(parseConfig(readEnvironment(), 'files').chainUrls)
  if (values.json) return writeJson(listed)
  writeTable([['HOST', 'CALLED FOR'], ...listed.map(({ host, for: reasons }) => [host, reasons.join(', ')])])
}
