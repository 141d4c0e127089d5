/** `assay ledger replay`: transactions derived again from the stored records, without asking a provider. */
import type { ReplayReport } from '@assay/server/admin'
import { parseArgs } from 'node:util'
import { UsageError, writeError, writeJson, writeLine, writeTable } from './console.ts'
import { usage } from './usage.ts'
import { withAdmin } from './with-admin.ts'

const options = {
  connection: { type: 'string' },
  apply: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const

const progressEveryMs = 5_000

export async function ledger(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true })
  if (positionals.join(' ') !== 'replay' || values.connection === '') {
    throw new UsageError(usage.ledger)
  }
  const { connection: connectionId, apply } = values
  const report = await withAdmin((admin) => admin.replay({ connectionId, apply, onProgress: createProgress() }), {
    look: !apply,
  })
  if (connectionId !== undefined && report.connections + report.gone === 0) {
    throw new UsageError(`there is no connection ${connectionId}`)
  }
  if (values.json) writeJson(report)
  else writeReport(report, apply)
}

/** On standard error, so that the report can be piped away. */
function createProgress(): (progress: { connectionsDone: number; connections: number; groups: number }) => void {
  let shownAt = performance.now()
  return ({ connectionsDone, connections, groups }) => {
    if (performance.now() - shownAt < progressEveryMs) return
    shownAt = performance.now()
    writeError(`… ${connectionsDone} of ${connections} connections, ${groups} groups of records`)
  }
}

function writeReport(report: ReplayReport, apply: boolean): void {
  const { connections, gone, groups, unreadable, changes, examples } = report
  writeLine(`Derived ${groups} groups of records of ${connections} connections again.`)
  if (gone > 0) writeLine(`${gone} connections were removed meanwhile.`)
  if (unreadable > 0) writeLine(`${unreadable} groups cannot be read; what they had become before stays.`)
  if (changes.length === 0) return writeLine(apply ? 'Nothing changed.' : 'Nothing would change.')
  writeLine()
  writeTable([
    ['PROVIDER', 'CATEGORY', 'ADDED', 'CHANGED', 'REMOVED'],
    ...changes.map((row) => [row.provider_id, row.category, ...[row.added, row.changed, row.removed].map(String)]),
  ])
  writeLine(`\n${examples.length === 1 ? 'For example:' : `${examples.length} examples:`}`)
  for (const { change, id, connection_id: connectionId, fields } of examples) {
    writeLine(`  ${change} ${id} of ${connectionId}`)
    for (const { field, before, after } of fields) writeLine(`    ${field}: ${before} → ${after}`)
  }
  if (!apply) writeLine('\nNothing has been changed. To change it: the same command with --apply.')
}
