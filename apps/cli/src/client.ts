/** `assay client create|list|rotate-secret|add-login-key|disable`. A secret is shown once, here, and nowhere else. */
import { enterpriseScopes, findScopes, platformScopes, type Client } from '@assay/server/admin'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine, writeTable } from './console.ts'
import { withAdmin } from './with-admin.ts'

const usage = `usage:
  assay client create <tenant_id> <name> --redirect-uri <uri> [--redirect-uri …] [--scope "…"] [--embed-origin <origin>]
                      [--public] [--enterprise] [--s256-only] [--require-code-verifier] [--json]
  assay client list <tenant_id> [--json]
  assay client rotate-secret <client_id> [--overlap <seconds>] [--json]
  assay client add-login-key <client_id> <jwk-file> [--json]
  assay client disable <client_id> [--json]`

const options = {
  json: { type: 'boolean', default: false },
  'redirect-uri': { type: 'string', multiple: true, default: [] as string[] },
  'embed-origin': { type: 'string', multiple: true, default: [] as string[] },
  scope: { type: 'string' },
  public: { type: 'boolean', default: false },
  enterprise: { type: 'boolean', default: false },
  's256-only': { type: 'boolean', default: false },
  'require-code-verifier': { type: 'boolean', default: false },
  overlap: { type: 'string', default: '86400' },
} as const

type Values = ReturnType<typeof parse>['values']

function parse(words: string[]) {
  return parseArgs({ args: words, allowPositionals: true, options })
}

export async function client(words: string[]): Promise<void> {
  const { values, positionals } = parse(words)
  const [action, subject, name, ...others] = positionals
  if (subject === undefined || others.length > 0) throw new UsageError(usage)
  if (action === 'create' && name !== undefined) return create(subject, name, values)
  if (action === 'add-login-key' && name !== undefined) return addLoginKey(subject, name, values)
  if (name !== undefined) throw new UsageError(usage)
  if (action === 'list') return list(subject, values)
  if (action === 'rotate-secret') return rotateSecret(subject, values)
  if (action === 'disable') return disable(subject, values)
  throw new UsageError(usage)
}

async function create(tenantId: string, name: string, values: Values): Promise<void> {
  const all = values.enterprise ? enterpriseScopes : platformScopes
  const scopes = values.scope === undefined ? all : findScopes(values.scope, all)
  if (scopes === undefined) throw new UsageError(`--scope must be some of: ${all.join(' ')}`)
  const { client: created, secret } = await withAdmin(({ tenants }) =>
    tenants.createClient(tenantId, {
      name,
      redirectUris: values['redirect-uri'],
      embedOrigins: values['embed-origin'],
      scopes,
      publicClient: values.public,
      s256Only: values['s256-only'],
      requireCodeVerifier: values['require-code-verifier'],
    }),
  )
  if (values.json) return writeJson({ ...toRow(created), client_secret: secret })
  writeLine(`Created client ${created.clientId}.`)
  if (secret !== null) writeLine(`Secret (shown once, keep it out of frontends): ${secret}`)
}

async function list(tenantId: string, values: Values): Promise<void> {
  const clients = await withAdmin(({ tenants }) => tenants.listClients(tenantId))
  if (values.json) return writeJson(clients.map(toRow))
  const rows = clients.map((one) => [
    one.clientId,
    one.name,
    one.disabledAt === null ? 'active' : 'disabled',
    one.redirectUris.join(' '),
  ])
  writeTable([['CLIENT', 'NAME', 'STATE', 'REDIRECT URIS'], ...rows])
}

async function rotateSecret(clientId: string, values: Values): Promise<void> {
  if (!/^\d{1,8}$/.test(values.overlap)) throw new UsageError(`--overlap must be a whole number of seconds`)
  const overlapSeconds = Number(values.overlap)
  const secret = await withAdmin(({ tenants }) => tenants.rotateSecret(clientId, overlapSeconds))
  if (values.json) return writeJson({ client_id: clientId, client_secret: secret, overlap_seconds: overlapSeconds })
  writeLine(`New secret (shown once): ${secret}`)
  writeLine(`The old one works for another ${overlapSeconds} seconds.`)
}

/** The key's public half, as a JWK (RFC 7517); a private key is refused and not stored. */
async function addLoginKey(clientId: string, file: string, values: Values): Promise<void> {
  const jwk = await readJson(file)
  const keyId = await withAdmin(({ tenants }) => tenants.addLoginKey(clientId, jwk))
  if (values.json) return writeJson({ client_id: clientId, key_id: keyId })
  writeLine(`Registered login key ${keyId} for ${clientId}. Name it as kid in the header of login tokens.`)
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new UsageError(`cannot read ${file}`)
  })
  try {
    return JSON.parse(text) as unknown
  } catch {
    // Never the text itself: it may be a private key.
    throw new UsageError(`${file} must be a JWK, which is JSON`)
  }
}

async function disable(clientId: string, values: Values): Promise<void> {
  await withAdmin(({ tenants }) => tenants.disableClient(clientId))
  if (values.json) return writeJson({ client_id: clientId, disabled: true })
  writeLine(`Disabled ${clientId}: its secrets and tokens are refused from now on.`)
}

function toRow(one: Client): object {
  const { clientId, name, redirectUris, scopes, disabledAt } = one
  return { client_id: clientId, name, redirect_uris: redirectUris, scopes, disabled_at: disabledAt }
}
