/**
 * The pages under /docs: the OpenAPI documents as plain HTML, made once at first use. No script and nothing from
 * elsewhere, so the page's policy can forbid both; every value is escaped, also our own.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { JsonObject, OpenApi, OpenApiOperation, Version } from '@assay/contract'
import { escapeHtml as e, member, objectOf, textOf } from './html.ts'
import { renderMembers, renderType } from './schema.ts'

export const docsStyle = readFileSync(path.join(import.meta.dirname, 'style.css'), 'utf8')

export function renderDocs(version: Version, document: OpenApi): string {
  // Relative, so that the page also works behind a proxy that puts a path in front: /docs, /docs/v1, /docs/connect.
  const root = version === 'v2' ? '' : '../'
  const { info, paths, components } = document
  const operations = Object.entries(paths).flatMap(([route, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ route, method: method.toUpperCase(), operation })),
  )
  const schemas = Object.entries(components.schemas).toSorted(([a], [b]) => a.localeCompare(b))
  const titles = operations.map(({ operation }) => link(operation.operationId, operation.summary))
  const names = schemas.map(([name]) => link(`schema-${name}`, name))

  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${e(info.title)}</title>
<link rel="stylesheet" href="${root}docs/style.css">
</head>
<body>
<header>
<p class="name">Assay</p>
<nav aria-label="Versions">${versionLink('v2', `${root}docs`, version)} ${versionLink('v1', `${root}docs/v1`, version)} ${versionLink('connect', `${root}docs/connect`, version)}
<a href="${root}openapi/${version}.json">OpenAPI</a></nav>
</header>
<div class="columns">
<nav class="contents" aria-label="Contents">
<h2>Calls</h2><ul>${titles.join('')}</ul>
<h2>Schemas</h2><ul>${names.join('')}</ul>
</nav>
<main>
<h1>${e(info.title)} <span class="quiet">${e(info.version)}</span></h1>
<p>${e(info.description)}</p>
<p class="quiet">Base address <code>${e(document.servers[0]?.url ?? '')}</code>. Send the ${version === 'connect' ? 'session’s secret' : 'access token'} as
<code>Authorization: Bearer</code>. Refusals are problem documents (RFC 9457), schema <a href="#schema-ErrorResponse">ErrorResponse</a>.</p>
${operations.map(renderOperation).join('\n')}
<h2 class="part">Schemas</h2>
${schemas.map(([name, schema]) => renderNamedSchema(name, schema)).join('\n')}
</main>
</div>
</body>
</html>
`
}

function link(id: string, text: string): string {
  return `<li><a href="#${e(id)}">${e(text)}</a></li>`
}

function versionLink(name: string, address: string, current: string): string {
  return `<a href="${address}"${name === current ? ' aria-current="page"' : ''}>${name}</a>`
}

interface Listed {
  route: string
  method: string
  operation: OpenApiOperation
}

function renderOperation({ route, method, operation }: Listed): string {
  const scopes = operation.security.flatMap(({ bearer }) => (Array.isArray(bearer) ? bearer.map(String) : []))
  const access = renderAccess(operation.security.length > 0, scopes)
  const body = contentOf(operation.requestBody, 'application/json')
  const answer =
    contentOf(operation.responses['200'], 'application/json') ??
    contentOf(operation.responses['200'], 'application/x-ndjson')
  const refusals = Object.entries(operation.responses).filter(([status]) => status !== '200')

  return `<section id="${e(operation.operationId)}">
<h2>${e(operation.summary)}</h2>
<p class="call"><span class="method ${method.toLowerCase()}">${method}</span> <code>${e(route)}</code></p>
<p>${e(operation.description)} <span class="quiet">${access}</span></p>
${renderParameters(operation)}
${body === undefined ? '' : `<h3>Body</h3>${renderType(member(body, 'schema'))}${renderExample(body)}`}
<h3>Answer</h3>
${answer === undefined ? '' : `${renderType(member(answer, 'schema'))}${renderExample(answer)}`}
<p class="refusals">Refusals: ${refusals.map(([status, refusal]) => `<span class="refusal">${status} <code>${e(textOf(refusal['description']))}</code></span>`).join(' ')}</p>
</section>`
}

function renderAccess(secured: boolean, scopes: readonly string[]): string {
  if (!secured) return 'No token needed.'
  return scopes.length === 0 ? '' : `Scope ${scopes.map((scope) => `<code>${e(scope)}</code>`).join(' ')}.`
}

function renderParameters({ parameters }: OpenApiOperation): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(
    (parameter) => `<tr><th scope="row"><code>${e(parameter.name)}</code></th>
<td>${renderType(parameter.schema)}<p>${e(parameter.description ?? '')}${parameter.in === 'path' ? ' In the path.' : ''}</p></td></tr>`,
  )
  return `<h3>Parameters</h3><table>${rows.join('')}</table>`
}

function contentOf(holder: JsonObject | undefined, type: string): JsonObject | undefined {
  return holder && objectOf(objectOf(holder['content'])?.[type])
}

function renderExample(content: JsonObject): string {
  const { example } = content
  if (example === undefined) return ''
  return `<details><summary>Example</summary><pre tabindex="0">${e(JSON.stringify(example, null, 2))}</pre></details>`
}

function renderNamedSchema(name: string, schema: JsonObject): string {
  const description = `<p>${e(textOf(schema['description']))}</p>`
  return `<section id="schema-${e(name)}"><h3 class="schema">${e(name)}</h3>${description}${renderMembers(schema)}</section>`
}
