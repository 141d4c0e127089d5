/** `assay webhook set|remove`: where a tenant is told that a connection changed. */
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine } from './console.ts'
import { withAdmin } from './with-admin.ts'

export async function webhook(words: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: words,
    allowPositionals: true,
    options: { json: { type: 'boolean', default: false } },
  })
  const [action, tenantId, url, ...others] = positionals
  if (action === 'set' && tenantId !== undefined && url !== undefined && others.length === 0) {
    const secret = await withAdmin((admin) => admin.webhooks.set(tenantId, url))
    if (values.json) return writeJson({ tenant_id: tenantId, url, secret })
    return writeLine(`Set. Verify signatures with this secret (shown once): ${secret}`)
  }
  if (action === 'remove' && tenantId !== undefined && url === undefined) {
    const removed = await withAdmin((admin) => admin.webhooks.remove(tenantId))
    if (values.json) return writeJson({ tenant_id: tenantId, removed })
    return writeLine(removed ? 'Removed.' : 'There was none.')
  }
  throw new UsageError('usage: assay webhook set <tenant_id> <url> | assay webhook remove <tenant_id> [--json]')
}
