/**
 * Harbor's two pages: sign in and allow, and what went wrong. Plain HTML that needs no script; the policy lets nothing in
 * but the one style sheet, known by its hash, and lets nobody frame them.
 */
import { createHash } from 'node:crypto'
import type { WireAnswer } from '../core/listener.ts'
import { style } from './style.ts'
import { client } from './token.ts'

const styleHash = createHash('sha256').update(style).digest('base64')

// Browsers hold the redirects after a form to `form-action` as well, to the end of the chain: the client's callback may
// send the person on to another port. All of it is loopback.
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${styleHash}'`,
  "form-action 'self' http://127.0.0.1:* http://localhost:*",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

const rights: Readonly<Record<string, string>> = {
  read: 'See your balances and your history',
  trade: 'Place trades for you',
}

/** What a client asks for, once it is known to be in order. */
export interface Asked {
  redirectUri: string
  challenge: string
  state: string | null
  scope: string
}

interface SignIn {
  asked: Asked
  scenarios: readonly { name: string; title: string; description: string }[]
}

export function signInPage({ asked, scenarios }: SignIn): WireAnswer {
  const name = escape(client.name)
  const fields = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: asked.redirectUri,
    scope: asked.scope,
    ...(asked.state !== null && { state: asked.state }),
    code_challenge: asked.challenge,
    code_challenge_method: 'S256',
  }
  const hidden = Object.entries(fields).map(
    ([field, value]) => `<input type="hidden" name="${field}" value="${escape(value)}">`,
  )
  const mays = asked.scope.split(' ').map((scope) => `<li>${escape(rights[scope] ?? scope)}</li>`)
  const choices = scenarios.map(
    (one, index) => `<label>
<input type="radio" name="account" value="${escape(one.name)}" required${index === 0 ? ' checked' : ''}>
<span><strong>${escape(one.title)}</strong><small>${escape(one.description)}</small></span>
</label>`,
  )
  return page(
    200,
    `Allow ${name}?`,
    `<h1>Allow ${name} to use your Harbor account?</h1>
<p>${name} will be able to:</p>
<ul>${mays.join('')}</ul>
<form method="post" action="/oauth/authorize">
${hidden.join('\n')}
<fieldset>
<legend>Choose a test account</legend>
${choices.join('\n')}
</fieldset>
<div class="decision">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" class="second">Deny</button>
</div>
</form>
<p class="aside">Either way you go back to ${escape(new URL(asked.redirectUri).host)}.</p>`,
  )
}

export function errorPage(message: string): WireAnswer {
  const body = `<h1>This sign-in cannot go on</h1>
<p>${escape(message)}</p>
<p class="aside">Nothing was shared. Close this page and begin again where you came from.</p>`
  return { ...page(400, 'Sign-in stopped', body), error: message }
}

function page(status: number, title: string, main: string): WireAnswer {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  }
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} – Harbor</title>
<style>${style}</style>
</head>
<body>
<header><span class="name">Harbor</span><span class="tag">sandbox</span></header>
<main>
${main}
</main>
<footer>Harbor exists only in the sandbox. There is no password, and no money.</footer>
</body>
</html>
`
  return { status, headers, body }
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
