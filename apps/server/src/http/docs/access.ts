/** Which tokens and secrets there are, where they come from and what they allow. */
import type { Json, JsonObject } from '@assay/contract'
import { escapeHtml as e, member, objectOf, textOf } from './html.ts'

const flowNames: Readonly<Record<string, string>> = {
  authorizationCode: 'Authorization code, with PKCE',
  clientCredentials: 'Client credentials',
}

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
