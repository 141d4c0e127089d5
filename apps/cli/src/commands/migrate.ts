/** `assay migrate [--check] [--json]`: brings the schema up to date, or says whether it is. */
import { openAdmin } from '@assay/server/admin'
import { parseConfig, readEnvironment } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { parseArgs } from 'node:util'
import { writeError, writeJson, writeLine } from '../console.ts'

export async function migrate(words: string[]): Promise<void> {
  const options = { check: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } } as const
  const { values } = parseArgs({ args: words, options })
  const config = parseConfig(readEnvironment(), 'command')
  const admin = await openAdmin(config, createLog({ level: 'warn' }), { make: !values.check })
  try {
    const before = await admin.checkMigrations()
    if (values.check) {
      if (values.json) writeJson(before)
      else for (const line of toLines(before)) writeLine(line)
      if (before.pending.length > 0 || before.drift.length > 0) process.exitCode = 1
      return
    }
    await admin.migrate()
    if (values.json) writeJson({ applied: before.pending })
    else for (const name of before.pending) writeLine(`applied ${name}`)
    if (!values.json && before.pending.length === 0) writeLine('The schema is up to date.')
  } finally {
    await admin.close()
  }
}

function toLines(state: {
  applied: readonly string[]
  pending: readonly string[]
  drift: readonly string[]
}): string[] {
  for (const line of state.drift) writeError(`drift: ${line}`)
  if (state.pending.length === 0 && state.drift.length === 0)
    return [`The schema is up to date (${state.applied.length} migrations).`]
  return state.pending.map((name) => `pending: ${name}; run: assay migrate`)
}
