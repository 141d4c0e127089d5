import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { markInstallation } from '../db/index.ts'
import { testDatabase } from '../../../../test/postgres.ts'
import { createTenants } from './index.ts'

async function open(t: TestContext) {
  const { db } = await testDatabase(t)
  await markInstallation(db, true)
  const tenants = createTenants({ db })
  const { tenantId } = await tenants.createTenant('Example Ltd')
  return { db, tenants, tenantId }
}

const registration = { name: 'App', redirectUris: ['https://app.example/cb'], scopes: ['assets:read'] } as const

describe('clients', () => {
  it('are made with a secret that is shown once and verifies', async (t) => {
    const { tenants, tenantId } = await open(t)
    const { client, secret } = await tenants.createClient(tenantId, registration)
    assert.match(client.clientId, /^cli_/)
    assert.match(secret ?? '', /^[\w-]{43}$/)
    assert.ok(tenants.verifySecret(client, secret ?? ''))
    assert.ok(!tenants.verifySecret(client, `${secret} `))
    assert.deepEqual(await tenants.listClients(tenantId), [client])
  })

  it('may be public: then no secret verifies, the empty one neither', async (t) => {
    const { tenants, tenantId } = await open(t)
    const { client, secret } = await tenants.createClient(tenantId, { ...registration, publicClient: true })
    assert.equal(secret, null)
    assert.ok(!tenants.verifySecret(client, ''))
  })

  it('that do not exist verify nothing, not even the dummy they are compared with', async (t) => {
    const { tenants } = await open(t)
    assert.equal(await tenants.findClient('cli_nobody'), undefined)
    for (const text of ['\0', "cli_' or 1=1", 'CLI_DEMO', 'cli_'.padEnd(100, 'a')]) {
      assert.equal(await tenants.findClient(text), undefined)
    }
    assert.ok(!tenants.verifySecret(undefined, 'no client has this secret'))
    await assert.rejects(tenants.getClient('cli_nobody'), { code: 'not_found' })
  })

  it('need a tenant that exists', async (t) => {
    const { tenants } = await open(t)
    await assert.rejects(tenants.createClient('ten_nobody', registration), { code: 'not_found' })
  })

  it('rotated without overlap lose the old secret at once; a second rotation does not prolong an earlier end', async (t) => {
    const { db, tenants, tenantId } = await open(t)
    const { client, secret: first } = await tenants.createClient(tenantId, registration)
    const second = await tenants.rotateSecret(client.clientId, 60)
    const third = await tenants.rotateSecret(client.clientId, 3_600)
    const valid = async () => {
      const now = await tenants.getClient(client.clientId)
      return [first ?? '', second, third].map((secret) => tenants.verifySecret(now, secret))
    }
    assert.deepEqual(await valid(), [true, true, true])
    await db.execute('update sandbox_clock set offset_ms = 60000')
    assert.deepEqual(await valid(), [false, true, true])
    const fourth = await tenants.rotateSecret(client.clientId, 0)
    assert.deepEqual(await valid(), [false, false, false])
    assert.ok(tenants.verifySecret(await tenants.getClient(client.clientId), fourth))
  })

  it('refuse an overlap that is no whole number of seconds within ninety days', async (t) => {
    const { tenants, tenantId } = await open(t)
    const { client } = await tenants.createClient(tenantId, registration)
    for (const overlap of [-1, 0.5, Number.NaN, 90 * 86_400 + 1]) {
      await assert.rejects(tenants.rotateSecret(client.clientId, overlap), { code: 'invalid_request' })
    }
  })

  it('are disabled once and keep the date', async (t) => {
    const { db, tenants, tenantId } = await open(t)
    const { client } = await tenants.createClient(tenantId, registration)
    await tenants.disableClient(client.clientId)
    const { disabledAt } = await tenants.getClient(client.clientId)
    await db.execute('update sandbox_clock set offset_ms = 60000')
    await tenants.disableClient(client.clientId)
    assert.equal((await tenants.getClient(client.clientId)).disabledAt, disabledAt)
  })
})

describe('users', () => {
  it('are the same for the same name, also when two processes meet them at once', async (t) => {
    const { tenants, tenantId } = await open(t)
    const ids = await Promise.all(
      Array.from({ length: 20 }, () => tenants.ensureUser({ tenantId, externalUserId: 'u1' })),
    )
    assert.equal(new Set(ids).size, 1)
  })

  it('by e-mail and by the tenant’s own id are never merged', async (t) => {
    const { tenants, tenantId } = await open(t)
    const byId = await tenants.ensureUser({ tenantId, externalUserId: 'ann@example.com' })
    const byMail = await tenants.ensureUser({ tenantId, email: 'ann@example.com' })
    assert.notEqual(byId, byMail)
    assert.equal(await tenants.ensureUser({ tenantId, email: ' Ann@Example.com ' }), byMail)
  })

  it('of two tenants are two', async (t) => {
    const { tenants, tenantId } = await open(t)
    const other = await tenants.createTenant('Other Ltd')
    const here = await tenants.ensureUser({ tenantId, externalUserId: 'u1' })
    assert.notEqual(await tenants.ensureUser({ tenantId: other.tenantId, externalUserId: 'u1' }), here)
  })

  it('have names that can be stored and told apart', async (t) => {
    const { tenants, tenantId } = await open(t)
    for (const externalUserId of ['', 'a\0b', '\ud800', 'x'.repeat(256)]) {
      await assert.rejects(tenants.ensureUser({ tenantId, externalUserId }), { code: 'invalid_request' })
    }
    for (const email of ['', 'ann', 'a b@c', 'a@b@c', '\ud800@c', `${'x'.repeat(255)}@c`]) {
      await assert.rejects(tenants.ensureUser({ tenantId, email }), { code: 'invalid_request' })
    }
  })
})

describe("the sandbox's tenant", () => {
  it('has the published clients, however often it is ensured', async (t) => {
    const { db, tenants } = await open(t)
    const [tenantId] = await Promise.all([tenants.ensureSandboxTenant(), tenants.ensureSandboxTenant()])
    await tenants.ensureSandboxTenant()
    const demo = await tenants.getClient('cli_demo')
    assert.ok(tenants.verifySecret(demo, 'sandbox-demo-secret'))
    assert.deepEqual(demo.redirectUris, ['http://127.0.0.1:4100/callback'])
    const enterprise = await tenants.getClient('cli_enterprise')
    assert.ok(tenants.verifySecret(enterprise, 'sandbox-enterprise-secret'))
    assert.deepEqual(enterprise.scopes, ['enterprise:read', 'enterprise:manage'])
    assert.equal((await tenants.listClients(tenantId)).length, 2)
    assert.equal((await db.rows('select 1 from client_secrets')).length, 2)
  })
})
