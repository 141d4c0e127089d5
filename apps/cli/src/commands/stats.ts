/**
 * `assay stats verify` and `assay stats rebuild`: whether the stored statistics of tenants agree with the tables they are
 * counted from.
 */
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine, writeTable } from '../console.ts'
import { usage } from '../usage.ts'
import { withAdmin } from '../with-admin.ts'

export async function stats(words: string[]): Promise<void> {
  const options = { json: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true })
  switch (positionals.join(' ')) {
    case 'verify':
      return verify(values.json)
    case 'rebuild': {
      const tenants = await withAdmin(({ statistics }) => statistics.rebuild())
      if (values.json) writeJson({ tenants })
      else writeLine(`Counted the statistics of ${tenants} tenants again.`)
      return
    }
    default:
      throw new UsageError(usage.stats)
  }
}

async function verify(json: boolean): Promise<void> {
  const differences = await withAdmin(({ statistics }) => statistics.verify())
  if (differences.length > 0) process.exitCode = 1
  if (json) return writeJson(differences)
  if (differences.length === 0) return writeLine('The statistics are what the tables say.')
  writeTable([
    ['TENANT', 'USER', 'MEASURE', 'SUBJECT', 'KEPT', 'COUNTED'],
    ...differences.map(({ tenant_id: tenantId, user_id: userId, measure, subject, kept, counted }) => [
      tenantId,
      userId ?? 'all together',
      measure,
      subject === '' ? '-' : subject,
      kept ?? '-',
      counted ?? '-',
    ]),
  ])
  writeLine('\nTo count them again: assay stats rebuild. This should never happen: please report it.')
}
