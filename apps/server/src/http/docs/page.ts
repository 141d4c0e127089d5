/**
 * The pages under /docs: the OpenAPI documents as plain HTML, made once at first use. Nothing comes from elsewhere, so
 * the page's policy can forbid it; every value is escaped, also our own. One script finds calls and, in sandbox mode,
 * sends them.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { JsonObject, OpenApi, Version } from '@assay/contract'
import { besides, besidesTitle, renderAccess, renderBesides } from './besides.ts'
import type { Listed } from './curl.ts'
import { escapeHtml as e, member, objectOf, renderExample, renderText, textOf } from './html.ts'
import { renderOperation, type OperationOptions } from './operation.ts'
import { renderMembers } from './schema.ts'

export const docsStyle = readFileSync(path.join(import.meta.dirname, 'style.css'), 'utf8')

export const docsScript = readFileSync(path.join(import.meta.dirname, 'page.mjs'), 'utf8')

export interface DocsOptions {
  authUrl: string
  /** In sandbox mode a call can be sent from the page. */
  canTry: boolean
}

export function renderDocs(version: Version, document: OpenApi, { authUrl, canTry }: DocsOptions): string {
  // Relative, so that the page also works behind a proxy that puts a path in front: /docs, /docs/v1, /docs/connect.
  const root = version === 'v2' ? '' : '../'
  const { info, components, tags } = document
  const operations = listOperations(document)
  const schemas = Object.entries(components.schemas).toSorted(([a], [b]) => a.localeCompare(b))
  const parts = tags.map((tag) => ({
    ...tag,
    operations: operations.filter(({ operation }) => operation.tags.includes(tag.name)),
  }))

  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${e(info.title)}</title>
<link rel="stylesheet" href="${root}docs/style.css">
<script type="module" src="${root}docs/page.js"></script>
</head>
<body>
<header>
<p class="name">Assay</p>
<nav aria-label="Versions">${versionLink('v2', `${root}docs`, version)} ${versionLink('v1', `${root}docs/v1`, version)} ${versionLink('connect', `${root}docs/connect`, version)}
<a href="${root}openapi/${version}.json">OpenAPI</a></nav>
</header>
<div class="columns">
<nav class="contents" aria-label="Contents">
<search hidden><label for="search">Find a call</label><input id="search" type="search">
<p id="search-nothing" class="quiet" role="status" hidden>No call has these words.</p></search>
${parts.map((part) => renderContents(part.name, part.operations.map(toLink))).join('\n')}
${renderContents(
  besidesTitle,
  besides.map(({ id, title }) => link(id, title)),
)}
${renderContents('About every call', [link('access', 'Access'), link('refusals', 'Refusals')])}
${renderContents(
  'Schemas',
  schemas.map(([name]) => link(`schema-${name}`, name)),
)}
</nav>
<main>
<h1>${e(info.title)} <span class="quiet">${e(info.version)}</span></h1>
<p>${e(info.description)}</p>
<p class="quiet">Base address <code>${e(document.servers[0]?.url ?? '')}</code>. Send the ${version === 'connect' ? 'session’s secret' : 'access token'} as
<code>Authorization: Bearer</code>. Refusals are problem documents (RFC 9457), schema <a href="#schema-ErrorResponse">ErrorResponse</a>.</p>
${canTry ? renderTokenButton() : ''}
${parts.map((part) => renderPart(part, { document, canTry })).join('\n')}
${renderTitle(besidesTitle)}
${renderBesides({ authUrl, canTry })}
${renderTitle('About every call')}
<section id="access"><h3 class="title">Access</h3>${renderAccess(components.securitySchemes)}</section>
<section id="refusals"><h3 class="title">Refusals</h3>${renderRefusals(components.responses)}</section>
${renderTitle('Schemas')}
${schemas.map(([name, schema]) => renderNamedSchema(name, schema)).join('\n')}
</main>
</div>
</body>
</html>
`
}

function listOperations({ paths }: OpenApi): Listed[] {
  return Object.entries(paths).flatMap(([route, byMethod]) =>
    Object.entries(byMethod).map(([method, operation]) => ({ route, method: method.toUpperCase(), operation })),
  )
}

function renderContents(title: string, links: readonly string[]): string {
  return `<h2><a href="#${toPartId(title)}">${e(title)}</a></h2><ul>${links.join('')}</ul>`
}

function toPartId(title: string): string {
  return `part-${e(title.toLowerCase().replaceAll(/\W+/g, '-'))}`
}

function renderTitle(title: string): string {
  return `<h2 class="part" id="${toPartId(title)}">${e(title)}</h2>`
}

function toLink({ operation }: Listed): string {
  return link(operation.operationId, operation.summary)
}

function link(id: string, text: string): string {
  return `<li><a href="#${e(id)}">${e(text)}</a></li>`
}

function versionLink(name: string, address: string, current: string): string {
  return `<a href="${address}"${name === current ? ' aria-current="page"' : ''}>${name}</a>`
}

interface Part {
  name: string
  description: string
  operations: readonly Listed[]
}

function renderTokenButton(): string {
  return `<p><button id="get-token">Get a sandbox token</button> <output id="token-state"></output></p>
<p class="quiet">It belongs to a new user with a simulated Kraken account. Calls below are sent with it.</p>`
}

function renderPart({ name, description, operations }: Part, options: OperationOptions): string {
  return `${renderTitle(name)}<p class="quiet">${e(description)}</p>
${operations.map((operation) => renderOperation(operation, options)).join('\n')}`
}

function renderRefusals(responses: JsonObject): string {
  const rows = Object.entries(responses).map(([code, value]) => {
    const response = objectOf(value) ?? {}
    const content = member(member(response, 'content'), 'application/problem+json')
    const { status } = member(content, 'example')
    return `<tr><th scope="row" id="refusal-${e(code)}">${e(textOf(status))} <code>${e(code)}</code></th>
<td><p>${renderText(textOf(response['description']))}</p>${renderExample(content)}</td></tr>`
  })
  return `<table>${rows.join('')}</table>`
}

function renderNamedSchema(name: string, schema: JsonObject): string {
  const description = `<p>${renderText(textOf(schema['description']))}</p>`
  return `<section id="schema-${e(name)}"><h3 class="title">${e(name)}</h3>${description}${renderMembers(schema)}</section>`
}
