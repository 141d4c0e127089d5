import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConnectSession, SessionConnection } from '../api/session-api.ts'
import { isConsentComplete, toScreen, type View } from './view.ts'

const session: ConnectSession = {
  session_id: 'session',
  expires_at: '2026-11-15T12:30:00.000Z',
  step: 'sign_in',
  ended: null,
  client: { client_id: 'cli_demo', name: 'Northwind', logo_uri: null, homepage_uri: null },
  tenant: { name: 'Northwind Labs' },
  scopes: ['assets:read'],
  grant_expires_at: '2027-11-15T12:00:00.000Z',
  shares_email: true,
  repair_refused: false,
  display: 'page',
  web_message_origin: null,
  lang: null,
  theme: null,
  provider_id: null,
  connection_id: null,
  email_sign_in: true,
  user: null,
  consented: false,
  existing: [],
  unfinished: null,
  connections: [],
  sandbox: true,
}
const signedIn: ConnectSession = { ...session, user: { email: 'ada@example.com' } }
const ready: ConnectSession = { ...signedIn, consented: true }
const kraken: SessionConnection = {
  connection_id: 'con_1',
  provider_id: 'kraken',
  name: 'Kraken',
  display_label: null,
  status: 'syncing',
  status_cause: null,
  status_message: null,
  progress: {
    verified: true,
    assets: null,
    records: 0,
    transactions: 0,
    history_from: null,
    done: false,
    top: [],
    value_in_usd: null,
    proof: null,
  },
}
const old = { ...kraken, connection_id: 'con_old', added_at: '2026-01-01T00:00:00.000Z' }
const checking: View = { name: 'checking', providerId: 'kraken', connectionId: 'con_1' }

describe('the screen', () => {
  it('consent comes first, then sign-in', () => {
    assert.equal(toScreen(session, false, null).name, 'consent')
    assert.equal(toScreen(session, true, null).name, 'sign_in')
  })

  it('a repair begins with the sign-in, and needs no consent when one is already in force', () => {
    const repair = { ...session, connection_id: 'con_old' }
    assert.equal(toScreen(repair, false, null).name, 'sign_in')
    const known = { ...repair, user: { email: 'ada@example.com' }, existing: [old] }
    assert.equal(toScreen(known, false, null).name, 'consent')
    assert.equal(toScreen({ ...known, consented: true }, false, null).name, 'credentials')
  })

  it('without email and without a vouched-for user the page says that it cannot identify the person', () => {
    assert.equal(toScreen({ ...session, email_sign_in: false }, true, null).name, 'sign_in_off')
  })

  it('consent given before sign-in counts, unless the sign-in reveals older connections', () => {
    assert.ok(isConsentComplete(signedIn, true))
    assert.ok(!isConsentComplete(signedIn, false))
    assert.ok(!isConsentComplete({ ...signedIn, existing: [old] }, true))
    assert.equal(toScreen({ ...signedIn, existing: [old] }, true, null).name, 'consent')
  })

  it('begins at the chosen provider, at the connection to repair, or with the choice', () => {
    assert.deepEqual(toScreen(ready, true, null), { name: 'choose' })
    assert.deepEqual(toScreen({ ...ready, provider_id: 'kraken' }, true, null), {
      name: 'credentials',
      providerId: 'kraken',
      connectionId: null,
    })
    assert.deepEqual(toScreen({ ...ready, existing: [old], connection_id: 'con_old' }, true, null), {
      name: 'credentials',
      providerId: 'kraken',
      connectionId: 'con_old',
    })
  })

  it('a fresh start with a connected account shows the summary', () => {
    assert.equal(toScreen({ ...ready, provider_id: 'kraken', connections: [kraken] }, true, null).name, 'summary')
  })

  it('when the last account is removed, the choice replaces the summary', () => {
    assert.equal(toScreen(ready, true, { name: 'summary' }).name, 'choose')
  })

  it('a key that is refused while reading is shown as a problem with a way to repair it', () => {
    const refused = { ...kraken, status: 'needs_reauth' as const, status_cause: 'invalid_credentials' as const }
    const screen = toScreen({ ...ready, connections: [refused] }, true, checking)
    assert.ok(screen.name === 'trouble')
    assert.equal(screen.item.cause, 'needs_reauth')
    assert.equal(screen.connectionId, 'con_1')
  })
})
