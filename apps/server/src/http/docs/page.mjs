// Two things that plain HTML cannot do: find a call by a word, and, in sandbox mode, send one. Without this script the
// page still shows everything.

// Where this script comes from: the pages may be behind a proxy that puts a path in front.
const base = new URL('..', import.meta.url)

const search = document.querySelector('#search')
search.closest('search').hidden = false
search.addEventListener('input', () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
  for (const item of document.querySelectorAll('.contents li')) {
    const section = document.getElementById(item.firstElementChild.hash.slice(1))
    const call = section?.querySelector('.call')?.textContent ?? ''
    const text = `${item.textContent} ${call}`.toLowerCase()
    item.hidden = !words.every((word) => text.includes(word))
  }
  for (const list of document.querySelectorAll('.contents ul')) {
    const isEmpty = list.querySelector('li:not([hidden])') === null
    list.hidden = isEmpty
    list.previousElementSibling.hidden = isEmpty
  }
  // On a phone the calls are hidden until they are searched for.
  document.querySelector('.contents').classList.toggle('searching', words.length > 0)
  document.querySelector('#search-nothing').hidden = document.querySelector('.contents li:not([hidden])') !== null
})

// In sandbox mode these are published, and the same on every machine.
const demo = { client_id: 'cli_demo', client_secret: 'sandbox-demo-secret' }
const enterprise = { client_id: 'cli_enterprise', client_secret: 'sandbox-enterprise-secret' }

const tokens = new Map()
const tokenReady = 'Token ready: calls are sent with it.'
const tokenButton = document.querySelector('#get-token')
const tokenState = document.querySelector('#token-state')
tokenButton?.addEventListener('click', () =>
  report(
    tokenState,
    getToken('user').then(() => tokenReady),
  ),
)
for (const form of document.querySelectorAll('form.try[data-method]')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    report(form.querySelector('output'), send(form))
  })
}

for (const form of document.querySelectorAll('form.try-form')) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    report(form.querySelector('output'), sendForm(form))
  })
}

async function report(output, work) {
  output.textContent = 'Please wait …'
  try {
    output.textContent = await work
  } catch (error) {
    output.textContent = String(error)
  }
  // An answer is long: it scrolls, by keyboard too.
  output.tabIndex = 0
}

async function send({ dataset: { method, access }, elements: { target, body } }) {
  const token = access === 'none' ? undefined : await getToken(access)
  const response = await fetch(new URL(target.value.replace(/^\//, ''), base), {
    method,
    headers: {
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: body.value }),
  })
  const text = await response.text()
  // An access token lasts fifteen minutes: the next click gets another one.
  if (response.status === 401) tokens.delete(access)
  return `${response.status}\n${inLines(text)}`
}

/** A call of the authorization server: form-encoded, and without a token. */
async function sendForm(form) {
  const { code, code_verifier, redirect_uri, refresh_token, token } = form.elements
  if (code?.value === '') {
    const begun = await authorize()
    code.value = begun.code
    code_verifier.value = begun.code_verifier
    redirect_uri.value = begun.redirect_uri
  }
  const wanting = [refresh_token, token].find((field) => field?.value === '')
  if (wanting !== undefined) wanting.value = (await redeem(await authorize())).refresh_token
  const response = await fetch(new URL(form.dataset.path, base), {
    method: 'POST',
    body: new URLSearchParams(new FormData(form)),
  })
  const text = await response.text()
  offerToken(text)
  return `${response.status}\n${inLines(text)}`
}

/** The newest refresh token goes into every form that takes one: the ones before it are spent. */
function offerToken(text) {
  const [, newest] = /"refresh_token":"([^"]+)"/.exec(text) ?? []
  if (newest === undefined) return
  for (const field of document.querySelectorAll('.try-form [name=refresh_token], .try-form [name=token]')) {
    field.value = newest
  }
}

function inLines(text) {
  // Numbers keep every digit as long as the text is not parsed; only what is short and plain is laid out.
  try {
    return JSON.stringify(
      JSON.parse(text, (_, value, { source } = {}) => (typeof value === 'number' ? JSON.rawJSON(source) : value)),
      null,
      2,
    )
  } catch {
    return text
  }
}

async function getToken(access) {
  if (!tokens.has(access)) {
    const asked = access === 'tenant' ? askTenantToken() : askUserToken()
    // One that failed is asked for again at the next click.
    tokens.set(access, asked)
    asked.catch(() => tokens.delete(access))
  }
  const token = await tokens.get(access)
  tokenState.textContent = tokenReady
  return token
}

async function askUserToken() {
  return (await redeem(await authorize())).access_token
}

/** A new user consents and connects a simulated account. */
async function authorize() {
  const random = crypto.getRandomValues(new Uint8Array(32))
  const code_verifier = toBase64Url(random)
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(code_verifier))
  const { code, redirect_to } = await post('sandbox/authorizations', {
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      client_id: demo.client_id,
      code_challenge: toBase64Url(new Uint8Array(digest)),
      code_challenge_method: 'S256',
      state: crypto.randomUUID(),
      user: `docs ${crypto.randomUUID()}`,
      providers: [{ provider_id: 'kraken' }],
    }),
  })
  const { origin, pathname } = new URL(redirect_to)
  return { code, code_verifier, redirect_uri: `${origin}${pathname}` }
}

function redeem(begun) {
  const grant = { grant_type: 'authorization_code', ...begun, ...demo }
  return post('oauth/token', { body: new URLSearchParams(grant) })
}

async function askTenantToken() {
  const grant = { grant_type: 'client_credentials', scope: 'enterprise:read enterprise:manage', ...enterprise }
  return (await post('oauth/token', { body: new URLSearchParams(grant) })).access_token
}

async function post(path, init) {
  const response = await fetch(new URL(path, base), { method: 'POST', ...init })
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`)
  return response.json()
}

function toBase64Url(bytes) {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}
