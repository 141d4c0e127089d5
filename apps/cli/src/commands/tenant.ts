/** `assay tenant create <name>` and `assay tenant list`. */
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine, writeTable } from '../console.ts'
import { usage } from '../usage.ts'
import { withAdmin } from '../with-admin.ts'

export async function tenant(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false } },
  })
  const [action, name, ...others] = positionals
  if (action === 'create' && name !== undefined && others.length === 0) {
    const created = await withAdmin(({ tenants }) => tenants.createTenant(name), { make: true })
    if (values.json) writeJson(toRow(created))
    else
      writeLine(
        `Created tenant ${created.tenantId}. Next: assay client create ${created.tenantId} "My app" --redirect-uri https://…`,
      )
    return
  }
  if (action === 'list' && name === undefined) {
    const tenants = await withAdmin(async (admin) => {
      await admin.audit.recordOperatorRead(null, 'tenants.read', 'installation')
      return admin.tenants.listTenants()
    })
    if (values.json) writeJson(tenants.map(toRow))
    else writeTable([['TENANT', 'NAME'], ...tenants.map((one) => [one.tenantId, one.name])])
    return
  }
  throw new UsageError(usage.tenant)
}

function toRow({ tenantId, name }: { tenantId: string; name: string }): object {
  return { tenant_id: tenantId, name }
}
