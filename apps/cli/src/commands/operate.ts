/** `assay status`, `assay doctor`, `assay keys` and `assay hosts`: what an operator looks at. */
import { listHosts, runDoctor, type Admin } from '@assay/server/admin'
import { parseConfig, readEnvironment } from '@assay/server/config'
import { generateKeys } from '@assay/server/keys'
import { createLog } from '@assay/server/log'
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine, writeTable } from '../console.ts'
import { usage } from '../usage.ts'
import { withAdmin } from '../with-admin.ts'

const json = { json: { type: 'boolean', default: false } } as const

export async function status(words: string[]): Promise<void> {
  const { values } = parseArgs({ args: words, options: json })
  const found = await withAdmin((admin) => admin.status(), { look: true })
  if (values.json) return writeJson(found)
  for (const block of [describeWorkers(found), describeQueue(found), describeConnections(found), describeSlow(found)]) {
    writeTable(block)
    writeLine()
  }
}

type Status = Awaited<ReturnType<Admin['status']>>

function describeWorkers({ workers }: Status): string[][] {
  if (workers.length === 0) return [['No worker is alive: nothing is read. Start one: assay worker']]
  return [['WORKER', 'LAST SIGN'], ...workers.map((one) => [one.worker_id, `${one.silent_seconds} s ago`])]
}

function describeQueue({ queue }: Status): string[][] {
  if (queue.length === 0) return [['No jobs.']]
  const jobs = queue.map((row) => [
    ...[row.task, row.waiting, row.due, row.running, row.failing].map(String),
    firstLine(row.last_error ?? '-'),
  ])
  return [['JOB', 'WAITING', 'DUE', 'RUNNING', 'FAILING', 'LAST ERROR'], ...jobs]
}

/** The rest of an error is its stack, which --json shows. */
function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? ''
}

function describeConnections({ connections }: Status): string[][] {
  if (connections.length === 0) return [['No connections.']]
  const rows = connections.map((row) => [
    row.provider_id,
    row.status,
    row.status_cause ?? '-',
    String(row.connections),
    row.behind_seconds === null ? '-' : toDuration(row.behind_seconds),
  ])
  return [['PROVIDER', 'STATE', 'CAUSE', 'CONNECTIONS', 'BEHIND'], ...rows]
}

function describeSlow({ slowest, proofs, circuits }: Status): string[][] {
  const slow =
    slowest === null
      ? 'Slowest provider: none; no connection waits.'
      : `Slowest provider: ${slowest.provider_id}; ${slowest.waiting} waiting, the longest for ${toDuration(slowest.waiting_seconds)}.`
  const silent = circuits.map(({ provider_id, open, failing_since, failures, probe_in_seconds }) => {
    const asked = open ? `not asked for now; tried again in ${toDuration(probe_in_seconds ?? 0)}` : 'still asked'
    return `${provider_id} has not answered since ${failing_since} (${failures} times): ${asked}.`
  })
  const counts = proofs.map(({ grade, connections }) => `${connections} ${grade}`)
  const proved = `Proof of balances: ${counts.length === 0 ? 'no connection has a verdict yet' : counts.join(', ')}.`
  return [slow, proved, ...silent].map((line) => [line])
}

function toDuration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

export async function doctor(words: string[]): Promise<void> {
  const options = { production: { type: 'boolean', default: false }, ...json } as const
  const { values } = parseArgs({ args: words, options })
  const findings = await runDoctor(readEnvironment(), createLog({ level: 'error' }), values)
  if (findings.some(({ well }) => !well)) process.exitCode = 1
  if (values.json) return writeJson(findings)
  for (const { check, well, warns = false, found, fix } of findings) {
    writeLine(`${well ? (warns ? '!' : '✓') : '✗'} ${check}: ${found}`)
    if ((!well || warns) && fix !== undefined) writeLine(`  → ${fix}`)
  }
}

export async function keys(words: string[]): Promise<void> {
  const options = {
    name: { type: 'string', default: 'main' },
    'forget-lost': { type: 'boolean', default: false },
    ...json,
  } as const
  const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true })
  const verb = positionals.join(' ')
  if (verb === 'generate') return generate(values)
  if (verb === 'withdraw') return withdraw(values)
  if (verb === 'rotate') return rotate({ json: values.json, forgetLost: values['forget-lost'] })
  throw new UsageError(usage.keys)
}

/** Written to standard output, in a form that a shell and `--env-file` can read. */
function generate({ name, json: asJson }: { name: string; json: boolean }): void {
  if (!/^[A-Za-z0-9_-]{1,40}$/.test(name)) {
    throw new UsageError(`--name must be 1 to 40 letters, digits, - and _, got ${JSON.stringify(name)}`)
  }
  const made = generateKeys(name)
  if (asJson) return writeJson(made)
  writeLine('# Every process:')
  writeLine(`ASSAY_SERVER_KEYS=${made.ASSAY_SERVER_KEYS}`)
  writeLine('# Processes of role api, which seal credentials and cannot open them:')
  writeLine(`ASSAY_SEALING_PUBLIC_KEYS=${made.ASSAY_SEALING_PUBLIC_KEYS}`)
  writeLine('# Workers only (roles worker and all). Keep a copy where the backups of the database are not:')
  writeLine(`ASSAY_SEALING_PRIVATE_KEYS=${made.ASSAY_SEALING_PRIVATE_KEYS}`)
}

/** After a server key has leaked: what it signs must no longer be believed. */
async function withdraw({ json: asJson }: { json: boolean }): Promise<void> {
  const withdrawn = await withAdmin((admin) => admin.withdrawClaimKeys())
  if (asJson) return writeJson({ withdrawn })
  writeLine(`${withdrawn} public ${withdrawn === 1 ? 'key of claims is' : 'keys of claims are'} no longer published.`)
}

async function rotate({ json: asJson, forgetLost }: { json: boolean; forgetLost: boolean }): Promise<void> {
  const { resealed, lost, newestKey } = await withAdmin((admin) => admin.rotateKeys({ forgetLost }))
  const { connectionIds, tenantIds, tenantKeys } = lost
  const left = connectionIds.length + tenantIds.length + (forgetLost ? 0 : tenantKeys.length)
  if (left > 0) process.exitCode = 1
  if (asJson) {
    return writeJson({
      resealed: resealed.credentials,
      resealed_webhooks: resealed.webhooks,
      resealed_fingerprint_keys: resealed.fingerprintKeys,
      lost: connectionIds,
      lost_webhooks: tenantIds,
      lost_fingerprint_keys: tenantKeys,
      forgotten_fingerprint_keys: forgetLost ? tenantKeys.length : 0,
      newest_key: newestKey,
    })
  }
  const { credentials, webhooks, fingerprintKeys } = resealed
  const sealed = `${credentials} credentials, ${webhooks} webhook secrets and ${fingerprintKeys} fingerprint keys`
  writeLine(`Sealed ${sealed} again with key ${JSON.stringify(newestKey)}.`)
  if (connectionIds.length > 0)
    writeLine(
      `No key of the ring opens the credentials of: ${connectionIds.join(', ')}. Put back the key that sealed them.`,
    )
  if (tenantIds.length > 0)
    writeLine(
      `No key of the ring opens the webhook secret of: ${tenantIds.join(', ')}.\n` +
        'Put back the key that sealed it, or make a new secret: assay webhook set <tenant_id> <url>',
    )
  if (tenantKeys.length > 0)
    writeLine(
      forgetLost
        ? `Deleted the fingerprint keys of tenants: ${tenantKeys.join(', ')}. Their users can connect accounts again.`
        : `No key of the ring opens the fingerprint key of tenants: ${tenantKeys.join(', ')}.\n` +
            'No account of theirs can be connected. Put back the key that sealed it or, if it is lost, run: assay keys rotate --forget-lost',
    )
}

/** The hosts that this service may call for providers and prices, for a person or for a firewall. */
export async function hosts(words: string[]): Promise<void> {
  const { values } = parseArgs({ args: words, options: json })
  const listed = listHosts(parseConfig(readEnvironment(), 'files').chainUrls)
  if (values.json) return writeJson(listed)
  writeTable([['HOST', 'CALLED FOR'], ...listed.map(({ host, for: reasons }) => [host, reasons.join(', ')])])
}
