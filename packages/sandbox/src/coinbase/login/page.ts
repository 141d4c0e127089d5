/**
 * The simulator's pages: sign in, allow, and what went wrong. Plain HTML that needs no script. The policy lets nothing
 * in but the one style sheet, known by its hash, and forbids framing. Every page says that this is not Coinbase.
 */
import { createHash } from 'node:crypto'
import type { WireAnswer } from '../../core/serving/listener.ts'
import { style as baseStyle } from './style.ts'
import { client } from './token.ts'

const style = `${baseStyle}
:root { --accent: #0a5c43; --chosen: #eaf6f1; }
@media (prefers-color-scheme: dark) { :root { --accent: #7fd6b4; --chosen: #16302a; } }
input[type="checkbox"] { flex: none; width: 16px; height: 16px; margin: 4px 0; accent-color: var(--accent); }
h1 + p + form { margin-top: 16px; }
code { color: var(--quiet); font-size: 13px; overflow-wrap: anywhere; }
`
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

/** https://docs.cdp.coinbase.com/coinbase-app/oauth2-integration/scopes, in words for people. */
const rights: Readonly<Record<string, string>> = {
  'wallet:accounts:read': 'See your wallets and their balances',
  'wallet:transactions:read': 'See your transactions',
  'wallet:user:read': 'See your profile',
  'wallet:user:email': 'See your email address',
  'wallet:buys:read': 'See what you bought',
  'wallet:sells:read': 'See what you sold',
  'wallet:trades:read': 'See your conversions',
  'wallet:deposits:read': 'See your deposits',
  'wallet:withdrawals:read': 'See your withdrawals',
  'wallet:transactions:send': 'Send your coins to others',
  'wallet:trades:create': 'Convert your coins',
  'wallet:buys:create': 'Buy for you',
  'wallet:sells:create': 'Sell for you',
  offline_access: 'Keep this access while you are away',
}

/** What a client asks for, once it is known to be in order. */
export interface Asked {
  redirectUri: string
  state: string | null
  scopes: readonly string[]
  /** "S256:…", "plain:…", or empty. */
  challenge: string
}

interface Choice {
  name: string
  title: string
  description: string
}

export function signInPage(asked: Asked, scenarios: readonly Choice[]): WireAnswer {
  const choices = scenarios.map(
    (one, index) => `<label>
<input type="radio" name="account" value="${escape(one.name)}" required${index === 0 ? ' checked' : ''}>
<span><strong>${escape(one.title)}</strong><small>${escape(one.description)}</small></span>
</label>`,
  )
  return page(
    200,
    'Sign in',
    `<h1>Sign in to the Coinbase simulator</h1>
<form method="post" action="/oauth2/auth">
${carry(asked)}
<fieldset>
<legend>Choose a test account</legend>
${choices.join('\n')}
</fieldset>
<div class="decision">
<button name="step" value="consent">Continue</button>
<button name="decision" value="deny" class="second" formnovalidate>Cancel</button>
</div>
</form>
${wayBack(asked)}`,
  )
}

export function consentPage(asked: Asked, account: string, title: string): WireAnswer {
  const name = escape(client.name)
  const grants = asked.scopes.map(
    (scope) => `<label>
<input type="checkbox" name="grant" value="${escape(scope)}" checked>
<span><strong>${escape(rights[scope] ?? scope)}</strong><code>${escape(scope)}</code></span>
</label>`,
  )
  return page(
    200,
    `Allow ${name}?`,
    `<h1>Allow ${name} to use your simulated Coinbase account?</h1>
<p>You are signed in to “${escape(title)}”. Uncheck what you do not want to allow.</p>
<form method="post" action="/oauth2/auth">
${carry(asked)}
${hidden('account', account)}
${hidden('choices', '1')}
<fieldset>
<legend>${name} asks to</legend>
${grants.join('\n')}
</fieldset>
<div class="decision">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" class="second">Deny</button>
</div>
</form>
${wayBack(asked)}`,
  )
}

export function errorPage(message: string): WireAnswer {
  const body = `<h1>This sign-in cannot go on</h1>
<p>${escape(message)}</p>
<p class="aside">Nothing was shared. Close this page and begin again where you came from.</p>`
  return { ...page(400, 'Sign-in stopped', body), error: message }
}

/** The request, in fields that the person does not see: the simulator keeps nothing between two pages. */
function carry({ redirectUri, state, scopes, challenge }: Asked): string {
  const [method = '', value = ''] = challenge.split(':')
  const fields = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    scope: scopes.join(' '),
    ...(state !== null && { state }),
    ...(challenge !== '' && { code_challenge: value, code_challenge_method: method }),
  }
  return Object.entries(fields)
    .map(([name, text]) => hidden(name, text))
    .join('\n')
}

function hidden(name: string, value: string): string {
  return `<input type="hidden" name="${name}" value="${escape(value)}">`
}

function wayBack({ redirectUri }: Asked): string {
  return `<p class="aside">Either way you go back to ${escape(new URL(redirectUri).host)}.</p>`
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
<title>${title} – Coinbase simulator</title>
<style>${style}</style>
</head>
<body>
<header><span class="name">Coinbase simulator</span><span class="tag">sandbox</span></header>
<main>
${main}
</main>
<footer>This is a simulator on your own computer, not Coinbase. Never type a password or a code here.</footer>
</body>
</html>
`
  return { status, headers, body }
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
