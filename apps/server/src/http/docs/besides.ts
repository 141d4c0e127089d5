/**
 * What an integrator needs besides the platform API, and what is in no OpenAPI document: RFCs define the token endpoint
 * and its neighbours, the sandbox's endpoints exist in sandbox mode only, and webhooks are calls to the tenant.
 */
import { escapeHtml as e, member, objectOf, textOf } from './html.ts'
import type { Json, JsonObject } from '@assay/contract'

interface Part {
  id: string
  title: string
  lead: string
  rows: readonly (readonly [string, string])[]
  /** Commands, with the values of the sandbox. */
  commands?: readonly string[]
  /** Calls that can be sent from the page in sandbox mode. */
  forms?: readonly Form[]
}

interface Form {
  title: string
  path: string
  /** A field without a value is filled in by the script when the form is sent. */
  fields: Readonly<Record<string, string>>
}

const demo = { client_id: 'cli_demo', client_secret: 'sandbox-demo-secret' }
const enterprise = { client_id: 'cli_enterprise', client_secret: 'sandbox-enterprise-secret' }

export const besidesTitle = 'Tokens, sandbox and webhooks'

export const besides: readonly Part[] = [
  {
    id: 'besides-tokens',
    title: 'Tokens',
    lead: 'At the authorization server. Bodies are form-encoded, errors are those of RFC 6749 §5.2.',
    rows: [
      ['POST /oauth/token', 'authorization_code, refresh_token and client_credentials'],
      ['POST /oauth/revoke', 'RFC 7009: a refresh token ends its family, an access token itself'],
      ['POST /oauth/introspect', 'RFC 7662: needs client authentication'],
      ['GET /.well-known/oauth-authorization-server', 'RFC 8414: addresses, grant types, methods'],
    ],
    commands: [
      `curl {auth_url}/oauth/token \\
  -d grant_type=authorization_code -d code='<code>' -d code_verifier='<verifier>' \\
  -d redirect_uri=http://127.0.0.1:4100/callback -d client_id=cli_demo -d client_secret=sandbox-demo-secret`,
      `curl {auth_url}/oauth/token \\
  -d grant_type=refresh_token -d refresh_token='<refresh token>' \\
  -d client_id=cli_demo -d client_secret=sandbox-demo-secret`,
      `curl {auth_url}/oauth/revoke \\
  -d token='<refresh token>' -d client_id=cli_demo -d client_secret=sandbox-demo-secret`,
      `const tokens = await exchangeCode(toTokenClient(app), { code, codeVerifier, redirectUri })
const client = createClient({ ...app, tokens, onTokens: (next) => save(next) })
await client.revoke()`,
    ],
    forms: [
      {
        title: 'Redeem a code',
        path: 'oauth/token',
        fields: { grant_type: 'authorization_code', code: '', code_verifier: '', redirect_uri: '', ...demo },
      },
      { title: 'Refresh', path: 'oauth/token', fields: { grant_type: 'refresh_token', refresh_token: '', ...demo } },
      { title: 'Introspect', path: 'oauth/introspect', fields: { token: '', ...demo } },
      { title: 'Revoke', path: 'oauth/revoke', fields: { token: '', ...demo } },
      {
        title: 'Client credentials',
        path: 'oauth/token',
        fields: { grant_type: 'client_credentials', scope: 'enterprise:read', ...enterprise },
      },
    ],
  },
  {
    id: 'besides-sandbox',
    title: 'Sandbox',
    lead: 'In sandbox mode only; elsewhere these are 404. Bodies are JSON.',
    rows: [
      ['POST /sandbox/authorizations', 'the whole connect flow without a person; answers with the code'],
      ['GET /sandbox/scenarios', 'what simulated accounts can be like'],
      ['POST /sandbox/providers/{provider_id}/faults', 'makes a simulated provider fail; DELETE ends it'],
      [
        'DELETE /sandbox/connections/{connection_id}/keys',
        'revokes the keys and sign-ins of the account, as its owner would',
      ],
      ['POST /sandbox/connections/{connection_id}/keys', 'makes a new key of the same account, to repair with'],
      ['POST /sandbox/clock', '{ "advance_ms": … } moves the time forward, for expiry and cool-downs'],
      ['GET /sandbox/mailbox', 'the mails with sign-in codes'],
    ],
  },
  {
    id: 'besides-webhooks',
    title: 'Webhooks',
    lead: 'Sent to the address that the operator has set for the tenant, signed as Standard Webhooks asks. Each says that something changed and carries no data. All but webhook.test name user_id and connection_id.',
    rows: [
      ['connection.changed', 'change: read, needs_reauth, removed or revoked'],
      ['transactions.changed', 'added, changed, removed; at most once a minute for each connection'],
      ['proof.changed', 'grade, previous_grade'],
      ['connection.destroyed', 'the data of a removed connection is deleted'],
      ['webhook.test', 'sent by assay webhook test'],
    ],
  },
]

export interface BesidesOptions {
  authUrl: string
  /** In sandbox mode a call can be sent from the page. */
  canTry: boolean
}

export function renderBesides(options: BesidesOptions): string {
  return besides.map((part) => renderPart(part, options)).join('\n')
}

function renderPart({ id, title, lead, rows, commands = [], forms = [] }: Part, options: BesidesOptions): string {
  const { authUrl, canTry } = options
  return `<section id="${id}"><h3 class="title">${e(title)}</h3><p>${e(lead)}</p>
<table>${rows.map(([name, what]) => `<tr><th scope="row"><code>${e(name)}</code></th><td>${e(what)}</td></tr>`).join('')}</table>
${commands.map((command) => `<pre class="request" tabindex="0">${e(command.replace('{auth_url}', authUrl))}</pre>`).join('')}
${canTry && forms.length > 0 ? `<p class="quiet">An empty field is filled in when you send: with the code of a new sandbox user, or with that user’s refresh token. A code and a refresh token work once.</p>${forms.map(renderForm).join('\n')}` : ''}</section>`
}

function renderForm({ title, path, fields }: Form): string {
  const inputs = Object.entries(fields).map(
    ([name, value]) =>
      `<label>${e(name)} <input name="${e(name)}" value="${e(value)}" aria-label="${e(`${name}: ${title}`)}" spellcheck="false" autocomplete="off"></label>`,
  )
  return `<form class="try try-form" data-path="${e(path)}" aria-label="${e(title)}">
<h4>${e(title)} <code>POST /${e(path)}</code></h4>
${inputs.join('\n')}
<button aria-label="Send: ${e(title)}">Send</button> <output></output></form>`
}

const flowNames: Readonly<Record<string, string>> = {
  authorizationCode: 'Authorization code, with PKCE',
  clientCredentials: 'Client credentials',
}

/** The tokens and secrets: where they come from and what they allow. */
export function renderAccess(schemes: JsonObject): string {
  return Object.values(schemes)
    .map((value) => renderScheme(objectOf(value) ?? {}))
    .join('')
}

function renderScheme(scheme: JsonObject): string {
  const about = e(textOf(scheme['description']))
  const flows = Object.entries(member(scheme, 'flows'))
  if (flows.length === 0) return `<p>${about}</p>`
  return flows.map(([name, flow]) => renderFlow(name, about, objectOf(flow) ?? {})).join('')
}

function renderFlow(name: string, about: string, flow: JsonObject): string {
  const { authorizationUrl, tokenUrl } = flow
  const scopes = Object.entries(member(flow, 'scopes'))
  return `<h3>${e(flowNames[name] ?? name)}</h3>
<p>${about} ${address('The user goes to', authorizationUrl)} ${address('Tokens come from', tokenUrl)}</p>
<table>${scopes.map(([scope, meaning]) => `<tr><th scope="row"><code>${e(scope)}</code></th><td>${e(textOf(meaning))}</td></tr>`).join('')}</table>`
}

function address(words: string, url: Json | undefined): string {
  return url === undefined ? '' : `${words} <code>${e(textOf(url))}</code>.`
}
