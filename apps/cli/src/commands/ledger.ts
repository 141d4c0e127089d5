/**
 * `assay ledger`: derives transactions again from the stored records, without calling a provider. `replay` compares and
 * stores its findings; `findings` lists them, `apply` applies them, `discard` deletes them.
 */
import { findProvider, type ReplayFinding, type ReplayReport } from '@assay/server/admin'
import { parseArgs } from 'node:util'
import { UsageError, waitForReader, writeError, writeJson, writeLine, writeTable } from '../console.ts'
import { usage } from '../usage.ts'
import { withAdmin } from '../with-admin.ts'

const options = {
  connection: { type: 'string' },
  provider: { type: 'string' },
  apply: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const

const progressEveryMs = 5_000

interface Asked {
  which: { connectionId: string | undefined; providerId: string | undefined }
  apply: boolean
  json: boolean
}

const verbs: Readonly<Record<string, (asked: Asked) => Promise<void>>> = {
  replay,
  findings,
  apply: (asked) => replay({ ...asked, apply: true }, 'findings'),
  discard,
}

export async function ledger(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true })
  const { connection: connectionId, provider: providerId, apply, json } = values
  const verb = verbs[positionals.join(' ')]
  const isWrong = connectionId === '' || providerId === '' || (connectionId !== undefined && providerId !== undefined)
  if (verb === undefined || isWrong || (apply && verb !== replay)) throw new UsageError(usage.ledger)
  // A mistyped one would have no connection, and so nothing to change.
  if (providerId !== undefined && findProvider(providerId) === undefined) {
    throw new UsageError(`provider ${JSON.stringify(providerId)} does not exist; assay status shows those in use`)
  }
  await verb({ which: { connectionId, providerId }, apply, json })
}

async function replay({ which, apply, json }: Asked, only?: 'findings'): Promise<void> {
  const report = await withAdmin((admin) => admin.replay({ ...which, only, apply, onProgress: createProgress() }))
  const { connectionId } = which
  if (only === undefined && connectionId !== undefined && report.connections + report.gone === 0) {
    throw new UsageError(`connection ${connectionId} does not exist`)
  }
  if (json) writeJson(report)
  else writeReport(report, apply)
}

async function findings({ which, json }: Asked): Promise<void> {
  let count = 0
  await withAdmin(async (admin) => {
    for await (const finding of admin.listFindings(which)) {
      count += 1
      // One line for each: there may be as many as transactions.
      if (json) writeLine(JSON.stringify(finding))
      else writeFinding(finding)
      await waitForReader()
    }
  })
  if (!json) writeLine(count === 0 ? 'There are no findings.' : `${count} findings.`)
}

async function discard({ which, json }: Asked): Promise<void> {
  const discarded = await withAdmin((admin) => admin.discardFindings(which))
  if (json) writeJson({ discarded })
  else writeLine(`Discarded ${discarded} findings.`)
}

function writeFinding({ change, transactionId, connectionId, providerId, reason }: ReplayFinding): void {
  writeLine(`${change} ${transactionId} of ${connectionId} (${providerId}): ${reason}`)
}

/** Written to standard error, so that the report can be piped elsewhere. */
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
  if (apply) return
  writeLine('\nNothing has been changed. What was found is kept: `assay ledger findings` lists it,')
  writeLine('`assay ledger apply` (or this command with --apply) changes it, `assay ledger discard` forgets it.')
}
