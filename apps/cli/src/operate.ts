/** `assay status`, `assay doctor` and `assay keys rotate`: for the operator. */
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine, writeTable } from './console.ts'
import { withAdmin } from './with-admin.ts'

const json = { json: { type: 'boolean', default: false } } as const

export async function status(words: string[]): Promise<void> {
  const { values } = parseArgs({ args: words, options: json })
  const found = await withAdmin((admin) => admin.status(), { look: true })
  if (values.json) return writeJson(found)
  const { workers, queue, connections } = found
  writeLine(
    `Workers: ${workers.length === 0 ? 'none' : workers.map((one) => `${one.worker_id} (${one.silent_seconds} s ago)`).join(', ')}`,
  )
  writeLine()
  const jobs = queue.map((row) => [row.task, row.waiting, row.due, row.running, row.failing].map(String))
  writeTable([['JOB', 'WAITING', 'DUE', 'RUNNING', 'FAILING'], ...jobs])
  writeLine()
  writeTable([
    ['PROVIDER', 'STATE', 'CAUSE', 'CONNECTIONS', 'BEHIND'],
    ...connections.map((row) => [
      row.provider_id,
      row.status,
      row.status_cause ?? '-',
      String(row.connections),
      row.behind_seconds === null ? '-' : `${row.behind_seconds} s`,
    ]),
  ])
}

export async function doctor(words: string[]): Promise<void> {
  const { values } = parseArgs({ args: words, options: json })
  const findings = await withAdmin((admin) => admin.doctor(), { look: true })
  if (findings.some(({ well }) => !well)) process.exitCode = 1
  if (values.json) return writeJson(findings)
  for (const { check, well, found, fix } of findings) {
    writeLine(`${well ? '✓' : '✗'} ${check}: ${found}`)
    if (!well && fix !== undefined) writeLine(`  → ${fix}`)
  }
}

export async function keys(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({ args: words, options: json, allowPositionals: true })
  if (positionals.join(' ') !== 'rotate') {
    throw new UsageError(
      'usage: assay keys rotate [--json]\n' +
        'Put a new key first in ASSAY_SEALING_KEYS (name:base64, make one: openssl rand -base64 32), keep the old ones\n' +
        'behind it, restart every process, then run this. When it is done the old keys may leave.',
    )
  }
  const { resealed, lost, newestKey } = await withAdmin((admin) => admin.rotateKeys())
  if (lost.length > 0) process.exitCode = 1
  if (values.json) return writeJson({ resealed, lost, newest_key: newestKey })
  writeLine(`Sealed ${resealed} credentials anew with key ${JSON.stringify(newestKey)}.`)
  if (lost.length > 0)
    writeLine(`No key of the ring opens those of: ${lost.join(', ')}. Put the key that sealed them back.`)
}
