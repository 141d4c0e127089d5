/** One call: its parameters, its answer, its refusals, and how to send it. */
import type { JsonObject, OpenApi, OpenApiOperation } from '@assay/contract'
import { requestOf, toCurl, type Listed } from './curl.ts'
import { escapeHtml as e, member, objectOf, renderExample, renderText, textOf } from './html.ts'
import { renderType } from './schema.ts'
import { toTypeScript } from './typescript.ts'

export interface OperationOptions {
  document: OpenApi
  /** In sandbox mode a call can be sent from the page. */
  canTry: boolean
}

export function renderOperation(listed: Listed, { document, canTry }: OperationOptions): string {
  const { route, method, operation } = listed
  const body = contentOf(operation.requestBody, 'application/json')
  const success = operation.responses['200']
  const answer = contentOf(success, 'application/json') ?? contentOf(success, 'application/x-ndjson')
  const baseUrl = document.servers[0]?.url ?? ''

  return `<section id="${e(operation.operationId)}">
<h3 class="title">${e(operation.summary)}</h3>
<p class="call"><span class="method ${method.toLowerCase()}">${method}</span> <code>${e(route)}</code></p>
<p>${renderText(operation.description)} <span class="quiet">${renderNeeds(operation)}</span></p>
<pre class="request" tabindex="0" aria-label="curl">${e(toCurl(listed, baseUrl))}</pre>
<pre class="request" tabindex="0" aria-label="TypeScript">${e(toTypeScript(listed, baseUrl))}</pre>
${canTry ? renderTry(listed) : ''}
${renderParameters(operation)}
${body === undefined ? '' : `<h3>Body${operation.requestBody?.['required'] === true ? '' : ' <span class="quiet">optional</span>'}</h3>${renderType(member(body, 'schema'))}`}
<h3>Answer</h3>
${answer === undefined ? '' : `${renderType(member(answer, 'schema'))}${renderExample(answer)}`}
<p class="refusals">Refusals: ${renderRefusals(operation)}</p>
</section>`
}

/** Calls of the widget's sessions need a session's secret, which only a person's browser has. */
function renderTry(listed: Listed): string {
  const { method, operation } = listed
  const access = accessOf(operation)
  if (access === undefined) return ''
  const { target, body } = requestOf(listed)
  const about = e(operation.summary)
  return `<form class="try" data-method="${method}" data-access="${access}">
<label>Request <input name="target" value="${e(target)}" aria-label="Request: ${about}" spellcheck="false"></label>
${body === undefined ? '' : `<label>Body ${bodyBox(JSON.stringify(body, null, 2), about)}</label>`}
<button aria-label="Send: ${about}">Send</button> <output></output></form>`
}

/** As high as the example, so that all of it is seen; a long one scrolls. */
const rowsMax = 24

function bodyBox(json: string, about: string): string {
  const rows = Math.min(rowsMax, json.split('\n').length)
  return `<textarea name="body" rows="${rows}" aria-label="Body: ${about}" spellcheck="false">${e(json)}</textarea>`
}

function accessOf({ security }: OpenApiOperation): 'user' | 'tenant' | 'none' | undefined {
  if (security.length === 0) return 'none'
  return (['user', 'tenant'] as const).find((kind) => security.some((schemes) => kind in schemes))
}

function renderNeeds({ security }: OpenApiOperation): string {
  if (security.length === 0) return 'No token needed.'
  const scopes = security.flatMap((schemes) => Object.values(schemes)).flat()
  return scopes.length === 0 ? '' : `Scope ${scopes.map((scope) => `<code>${e(textOf(scope))}</code>`).join(' ')}.`
}

function renderParameters({ parameters }: OpenApiOperation): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(
    (
      parameter,
    ) => `<tr><th scope="row"><code>${e(parameter.name)}</code>${parameter.required ? '' : '<span class="quiet"> optional</span>'}</th>
<td>${renderType(parameter.schema)}<p>${renderText(parameter.description ?? '')}${parameter.in === 'path' ? ' In the path.' : ''}</p></td></tr>`,
  )
  return `<h3>Parameters</h3><table>${rows.join('')}</table>`
}

function renderRefusals({ responses }: OpenApiOperation): string {
  const codes = Object.entries(responses).flatMap(([status, { $ref: reference }]) =>
    typeof reference === 'string' ? [{ status, code: reference.split('/').at(-1) ?? '' }] : [],
  )
  return codes
    .map(({ status, code }) => `<a class="refusal" href="#refusal-${e(code)}">${status} <code>${e(code)}</code></a>`)
    .join(' ')
}

function contentOf(holder: JsonObject | undefined, type: string): JsonObject | undefined {
  return holder && objectOf(objectOf(holder['content'])?.[type])
}
