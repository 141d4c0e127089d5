/** `assay client …`: applications of a tenant. A secret is shown once, here, and nowhere else. */
import {
  enterpriseScopes,
  findScopes,
  platformScopes,
  type Client,
  type ClientChanges,
  type Scope,
} from '@assay/server/admin'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine, writeTable } from '../console.ts'
import { usage } from '../usage.ts'
import { withAdmin } from '../with-admin.ts'

const options = {
  json: { type: 'boolean', default: false },
  name: { type: 'string' },
  'redirect-uri': { type: 'string', multiple: true },
  'embed-origin': { type: 'string', multiple: true },
  scope: { type: 'string', multiple: true },
  public: { type: 'boolean', default: false },
  enterprise: { type: 'boolean', default: false },
  strict: { type: 'boolean' },
  's256-only': { type: 'boolean' },
  'require-code-verifier': { type: 'boolean' },
  'confirm-first-consent': { type: 'boolean' },
  'confirm-every-consent': { type: 'boolean' },
  overlap: { type: 'string', default: '86400' },
} as const

type Option = Exclude<keyof typeof options, 'json'>

const registrationOptions: readonly Option[] = [
  'redirect-uri',
  'embed-origin',
  'scope',
  'strict',
  's256-only',
  'require-code-verifier',
  'confirm-first-consent',
  'confirm-every-consent',
]

/** Which options each action takes, besides --json. */
const optionsOf: Record<string, readonly Option[]> = {
  create: [...registrationOptions, 'public', 'enterprise'],
  update: [...registrationOptions, 'name'],
  'rotate-secret': ['overlap'],
}

type Values = ReturnType<typeof parse>['values']

function parse(words: string[]) {
  return parseArgs({ args: words, allowPositionals: true, allowNegative: true, tokens: true, options })
}

export async function client(words: string[]): Promise<void> {
  const { values, positionals, tokens } = parse(words)
  const [action, subject, name, ...others] = positionals
  if (action === undefined || subject === undefined || others.length > 0) throw new UsageError(usage.client)
  // One that is ignored would be taken for done.
  const taken: readonly string[] = [...(optionsOf[action] ?? []), 'json']
  for (const token of tokens) {
    if (token.kind !== 'option' || taken.includes(token.name)) continue
    throw new UsageError(`client ${action} does not take ${token.rawName}\n${usage.client}`)
  }
  if (action === 'create' && name !== undefined) return create(subject, name, values)
  if (action === 'add-login-key' && name !== undefined) return addLoginKey(subject, name, values)
  if (action === 'remove-login-key' && name !== undefined) return removeLoginKey(subject, name, values)
  if (name !== undefined) throw new UsageError(usage.client)
  if (action === 'update') return update(subject, values)
  if (action === 'list') return list(subject, values)
  if (action === 'list-login-keys') return listLoginKeys(subject, values)
  if (action === 'rotate-secret') return rotateSecret(subject, values)
  if (action === 'disable') return disable(subject, values)
  throw new UsageError(usage.client)
}

async function create(tenantId: string, name: string, values: Values): Promise<void> {
  const all = values.enterprise ? enterpriseScopes : platformScopes
  const scopes = toScopes(values, all) ?? all
  const { client: created, secret } = await withAdmin(({ tenants }) =>
    tenants.createClient(tenantId, {
      name,
      scopes,
      publicClient: values.public,
      ...toChanges(values),
    }),
  )
  if (values.json) return writeJson({ ...toRow(created), client_secret: secret })
  writeLine(`Created client ${created.clientId}.`)
  if (secret !== null) writeLine(`Secret (shown once, keep it out of frontends): ${secret}`)
}

function toScopes<S extends Scope>({ scope }: Values, all: readonly S[]): S[] | undefined {
  if (scope === undefined) return undefined
  const scopes = findScopes(scope.join(' '), all)
  if (scopes === undefined) throw new UsageError(`--scope must be some of: ${all.join(' ')}`)
  return scopes
}

/** The given options. `--strict` stands for both rules of the code challenge. */
function toChanges(values: Values): Omit<ClientChanges, 'name' | 'scopes'> {
  const s256Only = values['s256-only'] ?? values.strict
  const requireCodeVerifier = values['require-code-verifier'] ?? values.strict
  const confirmFirstConsent = values['confirm-first-consent']
  const confirmEveryConsent = values['confirm-every-consent']
  return {
    ...(values['redirect-uri'] && { redirectUris: values['redirect-uri'] }),
    ...(values['embed-origin'] && { embedOrigins: values['embed-origin'] }),
    ...(s256Only !== undefined && { s256Only }),
    ...(requireCodeVerifier !== undefined && { requireCodeVerifier }),
    ...(confirmFirstConsent !== undefined && { confirmFirstConsent }),
    ...(confirmEveryConsent !== undefined && { confirmEveryConsent }),
  }
}

/** A given list replaces the whole list. */
async function update(clientId: string, values: Values): Promise<void> {
  const all = [...platformScopes, ...enterpriseScopes]
  const scopes = toScopes(values, all)
  const { name } = values
  const changes = { ...toChanges(values), ...(name !== undefined && { name }), ...(scopes && { scopes }) }
  if (Object.keys(changes).length === 0) throw new UsageError(`say what to change\n${usage.client}`)
  const updated = await withAdmin(({ tenants }) => tenants.updateClient(clientId, changes))
  if (values.json) return writeJson(toRow(updated))
  // As in the answer with --json.
  const names = Object.keys(changes).map((key) => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  writeLine(`Updated ${clientId}: ${names.join(', ')}.`)
  if (scopes !== undefined) writeLine('Scopes that were taken away end at the next refresh, after 15 minutes at most.')
}

async function list(tenantId: string, values: Values): Promise<void> {
  const clients = await withAdmin(async ({ tenants, audit }) => {
    await tenants.getTenant(tenantId)
    await audit.recordOperatorRead(tenantId, 'clients.read', tenantId)
    return tenants.listClients(tenantId)
  })
  if (values.json) return writeJson(clients.map(toRow))
  const rows = clients.map((one) => [
    one.clientId,
    one.name,
    one.disabledAt === null ? 'active' : 'disabled',
    one.redirectUris.join(' '),
    one.embedOrigins.join(' '),
  ])
  writeTable([['CLIENT', 'NAME', 'STATE', 'REDIRECT URIS', 'EMBED ORIGINS'], ...rows])
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
  writeLine(
    `Registered login key ${keyId} for ${clientId}. If the client has several, name it as kid in the header of login tokens.`,
  )
}

async function listLoginKeys(clientId: string, values: Values): Promise<void> {
  const keys = await withAdmin(async ({ tenants, audit }) => {
    const { tenantId } = await tenants.getClient(clientId)
    await audit.recordOperatorRead(tenantId, 'login_keys.read', clientId)
    return tenants.listLoginKeys(clientId)
  })
  const rows = keys.map(({ keyId, jwk, createdAt }) => ({ key_id: keyId, alg: jwk.alg ?? '', created_at: createdAt }))
  if (values.json) return writeJson(rows)
  writeTable([['KEY', 'ALGORITHM', 'REGISTERED'], ...rows.map((row) => [row.key_id, row.alg, row.created_at])])
}

async function removeLoginKey(clientId: string, keyId: string, values: Values): Promise<void> {
  await withAdmin(({ tenants }) => tenants.removeLoginKey(clientId, keyId))
  if (values.json) return writeJson({ client_id: clientId, key_id: keyId, removed: true })
  writeLine(
    `Removed login key ${keyId}: login tokens that it signed are refused from now on, and the sessions that they began have ended.`,
  )
}

async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new UsageError(`cannot read ${file}`)
  })
  try {
    return JSON.parse(text) as unknown
  } catch {
    // Never quotes the text itself, because it may be a private key.
    throw new UsageError(`${file} must be a JWK, which is JSON`)
  }
}

async function disable(clientId: string, values: Values): Promise<void> {
  await withAdmin(({ tenants }) => tenants.disableClient(clientId))
  if (values.json) return writeJson({ client_id: clientId, disabled: true })
  writeLine(`Disabled ${clientId}: its secrets and tokens are refused from now on.`)
}

function toRow(one: Client): object {
  return {
    client_id: one.clientId,
    name: one.name,
    redirect_uris: one.redirectUris,
    embed_origins: one.embedOrigins,
    scopes: one.scopes,
    s256_only: one.s256Only,
    require_code_verifier: one.requireCodeVerifier,
    confirm_first_consent: one.confirmFirstConsent,
    confirm_every_consent: one.confirmEveryConsent,
    disabled_at: one.disabledAt,
  }
}
