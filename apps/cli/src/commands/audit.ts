/** `assay audit export|verify`: the recorded changes, and whether the record is complete. */
import type { Admin } from '@assay/server/admin'
import { parseArgs } from 'node:util'
import { UsageError, waitForReader, writeJson, writeLine } from '../console.ts'
import { usage } from '../usage.ts'
import { withAdmin } from '../with-admin.ts'

export async function audit(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false }, head: { type: 'string' } },
  })
  const [action, subject, ...others] = positionals
  if (others.length > 0) throw new UsageError(usage.audit)
  const tenantId = subject === 'installation' ? '' : subject
  if (action === 'export' && tenantId !== undefined) return exportTo(tenantId)
  if (action === 'verify') return verify(tenantId, values)
  throw new UsageError(usage.audit)
}

function exportTo(tenantId: string): Promise<void> {
  return withAdmin(async (admin) => {
    await checkTenant(admin, tenantId)
    for await (const line of admin.audit.export(tenantId)) {
      process.stdout.write(line)
      await waitForReader()
    }
  })
}

/** A mistyped id would otherwise have an unbroken chain, of no entry. */
async function checkTenant({ tenants }: Pick<Admin, 'tenants'>, tenantId: string): Promise<void> {
  if (tenantId !== '') await tenants.getTenant(tenantId)
}

async function verify(
  tenantId: string | undefined,
  values: { json: boolean; head?: string | undefined },
): Promise<void> {
  const known = values.head === undefined ? undefined : parseHead(values.head)
  if (known !== undefined && tenantId === undefined) throw new UsageError('--head needs the tenant it belongs to')
  const verdicts = await withAdmin(async (admin) => {
    if (tenantId !== undefined) await checkTenant(admin, tenantId)
    return admin.audit.verify(tenantId, known)
  })
  if (verdicts.some(({ broken }) => broken !== null)) process.exitCode = 1
  if (values.json) {
    return writeJson(verdicts.map(({ tenantId: of, entries, broken }) => ({ tenant_id: of || null, entries, broken })))
  }
  if (verdicts.length === 0) writeLine('No entry is chained yet.')
  for (const { tenantId: of, entries, broken } of verdicts) {
    const name = of === '' ? 'installation' : of
    if (broken === null) writeLine(`✓ ${name}: ${entries} entries, unbroken`)
    else writeLine(`✗ ${name}: entry ${broken.position} ${broken.reason}`)
  }
}

function parseHead(text: string): { position: string; hash: string } {
  const [, position, hash] = /^([1-9]\d{0,17}):([0-9a-f]{64})$/.exec(text) ?? []
  if (position === undefined || hash === undefined) throw new UsageError('--head must be <position>:<hash>, as logged')
  return { position, hash }
}
