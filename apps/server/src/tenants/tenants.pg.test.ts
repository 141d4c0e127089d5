import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { testDatabase } from '../../../../test/postgres.ts'
import { createStillClock } from '../../../../test/still-clock.ts'
import { createTenants } from './index.ts'

async function open(t: TestContext) {
  const db = createStillClock().of((await testDatabase(t)).db)
  const tenants = createTenants({ db })
  const { tenantKey, tenantId } = await tenants.createTenant('Example Ltd')
  return { db, tenants, tenantId, tenant: { tenantKey, tenantId } }
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

  it('may be public: then no secret verifies, not even the empty one', async (t) => {
    const { tenants, tenantId } = await open(t)
    const { client, secret } = await tenants.createClient(tenantId, { ...registration, publicClient: true })
    assert.equal(secret, null)
    assert.ok(!tenants.verifySecret(client, ''))
  })

  it('that are public stay so: they get no secret later', async (t) => {
    const { tenants, tenantId } = await open(t)
    const { client } = await tenants.createClient(tenantId, { ...registration, publicClient: true })
    await assert.rejects(tenants.rotateSecret(client.clientId, 60), { code: 'invalid_request', message: /public/ })
    assert.deepEqual(await tenants.getClient(client.clientId), client)
  })

  it('that do not exist accept no secret, not even the dummy that it is compared with', async (t) => {
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

  it('lose the old secret at once when rotated without overlap; a second rotation does not extend an earlier end', async (t) => {
    const { db, tenants, tenantId } = await open(t)
    const { client, secret: first } = await tenants.createClient(tenantId, registration)
    const second = await tenants.rotateSecret(client.clientId, 60)
    const third = await tenants.rotateSecret(client.clientId, 3_600)
    const valid = async () => {
      const now = await tenants.getClient(client.clientId)
      return [first ?? '', second, third].map((secret) => tenants.verifySecret(now, secret))
    }
    assert.deepEqual(await valid(), [true, true, true])
    await db.clock.advance(60_000)
    assert.deepEqual(await valid(), [false, true, true])
    const fourth = await tenants.rotateSecret(client.clientId, 0)
    assert.deepEqual(await valid(), [false, false, false])
    assert.ok(tenants.verifySecret(await tenants.getClient(client.clientId), fourth))
  })

  it('refuse an overlap that is not a whole number of seconds within ninety days', async (t) => {
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
    await db.clock.advance(60_000)
    await tenants.disableClient(client.clientId)
    assert.equal((await tenants.getClient(client.clientId)).disabledAt, disabledAt)
  })

  it('cannot be changed once they are disabled', async (t) => {
    const { tenants, tenantId } = await open(t)
    const { client } = await tenants.createClient(tenantId, registration)
    await tenants.disableClient(client.clientId)
    const disabled = await tenants.getClient(client.clientId)
    const jwk = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    for (const change of [
      () => tenants.updateClient(client.clientId, { name: 'Other' }),
      () => tenants.rotateSecret(client.clientId, 0),
      () => tenants.addLoginKey(client.clientId, jwk),
    ]) {
      await assert.rejects(change, { code: 'invalid_request', message: /is disabled/ })
    }
    assert.deepEqual(await tenants.getClient(client.clientId), disabled)
    assert.deepEqual(await tenants.listLoginKeys(client.clientId), [])
  })

  it('leave a notice when they are disabled, because their users’ grants no longer count', async (t) => {
    const { db, tenants, tenantId, tenant } = await open(t)
    const { client } = await tenants.createClient(tenantId, registration)
    await tenants.disableClient(client.clientId)
    assert.deepEqual(await db.rows('select user_key, tenant_key from user_notices'), [
      { user_key: '0', tenant_key: tenant.tenantKey },
    ])
  })
})

describe('users', () => {
  it('are the same for the same name, even when two processes create them at once', async (t) => {
    const { tenants, tenant } = await open(t)
    const owners = await Promise.all(
      Array.from({ length: 20 }, () => tenants.ensureUser({ ...tenant, externalUserId: 'u1' })),
    )
    const [first] = owners
    assert.match(first?.userId ?? '', /^usr_/)
    for (const owner of owners) assert.deepEqual(owner, first)
    assert.deepEqual(await tenants.findOwner(tenant, first?.userId ?? ''), first)
  })

  it('known by email and by the tenant’s own id are never merged', async (t) => {
    const { tenants, tenant } = await open(t)
    const byId = await tenants.ensureUser({ ...tenant, externalUserId: 'ann@example.com' })
    const byMail = await tenants.ensureUser({ ...tenant, email: 'ann@example.com' })
    assert.notEqual(byId.userKey, byMail.userKey)
    assert.notEqual(byId.userId, byMail.userId)
    assert.deepEqual(await tenants.ensureUser({ ...tenant, email: ' Ann@Example.com ' }), byMail)
    assert.deepEqual([await tenants.findEmail(byMail), await tenants.findEmail(byId)], ['ann@example.com', null])
  })

  it('have one email address however its internationalised domain is written (RFC 5891)', async (t) => {
    const { tenants, tenant } = await open(t)
    const ann = await tenants.ensureUser({ ...tenant, email: 'ann@bücher.example' })
    assert.equal(await tenants.findEmail(ann), 'ann@xn--bcher-kva.example')
    for (const email of ['ann@xn--bcher-kva.example', 'ann@BÜCHER.example', 'ann@bu\u0308cher.example']) {
      assert.deepEqual(await tenants.ensureUser({ ...tenant, email }), ann, email)
    }
    // Not a form that any domain has.
    await assert.rejects(tenants.ensureUser({ ...tenant, email: 'ann@xn--bücher.example' }), {
      code: 'invalid_request',
    })
  })

  it('of two tenants with the same name are different', async (t) => {
    const { tenants, tenant } = await open(t)
    const other = await tenants.createTenant('Other Ltd')
    const here = await tenants.ensureUser({ ...tenant, externalUserId: 'u1' })
    const there = await tenants.ensureUser({ ...other, externalUserId: 'u1' })
    assert.notEqual(there.userKey, here.userKey)
    assert.equal(await tenants.findOwner(other, here.userId), undefined)
  })

  it('have names that can be stored and distinguished', async (t) => {
    const { tenants, tenant } = await open(t)
    for (const externalUserId of ['', 'a\0b', '\ud800', 'x'.repeat(256)]) {
      await assert.rejects(tenants.ensureUser({ ...tenant, externalUserId }), { code: 'invalid_request' })
    }
    for (const email of ['', 'ann', 'a b@c', 'a@b@c', '\ud800@c', `${'x'.repeat(255)}@c`]) {
      await assert.rejects(tenants.ensureUser({ ...tenant, email }), { code: 'invalid_request' })
    }
  })

  it('have random keys of 64 bits, never 0: tokens begin with them and must not reveal the number of users', async (t) => {
    const { db } = await open(t)
    const bytes = [Buffer.alloc(8), Buffer.from('8000000000000001', 'hex'), Buffer.alloc(8, 0xff)]
    const tenants = createTenants({ db, randomBytes: () => bytes.shift() ?? Buffer.alloc(8, 1) })
    const tenant = await tenants.createTenant('Keys Ltd')
    const keys: string[] = []
    for (const externalUserId of ['a', 'b', 'c'])
      keys.push((await tenants.ensureUser({ ...tenant, externalUserId })).userKey)
    assert.deepEqual(keys, ['-9223372036854775807', '-1', '72340172838076673'])
  })

  it('get another key when the one that was drawn is taken', async (t) => {
    const { db, tenant } = await open(t)
    const bytes = [1, 1, 1, 2].map((byte) => Buffer.alloc(8, byte))
    const tenants = createTenants({ db, randomBytes: () => bytes.shift() ?? assert.fail('drawn too often') })
    const one = await tenants.ensureUser({ ...tenant, externalUserId: 'one' })
    const two = await tenants.ensureUser({ ...tenant, externalUserId: 'two' })
    assert.deepEqual([one.userKey, two.userKey], ['72340172838076673', '144680345676153346'])
  })

  it('are gone when deleted, and a new user with the same name is a different one', async (t) => {
    const { db, tenants, tenant } = await open(t)
    const before = await tenants.ensureUser({ ...tenant, externalUserId: 'u1' })
    await db.transaction((tx) => tenants.deleteUser(tx, before))
    assert.equal(await tenants.findOwner(tenant, before.userId), undefined)
    const now = await tenants.ensureUser({ ...tenant, externalUserId: 'u1' })
    assert.ok(now.userKey !== before.userKey && now.userId !== before.userId)
  })
})

describe("the sandbox's tenant", () => {
  it('has the published clients, however often it is ensured', async (t) => {
    const { db, tenants } = await open(t)
    const [{ tenantId }] = await Promise.all([tenants.ensureSandboxTenant(), tenants.ensureSandboxTenant()])
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

describe("live mode's tenant", () => {
  it('has the secrets of the last start and no earlier ones', async (t) => {
    const { tenants } = await open(t)
    const demoUrl = 'http://127.0.0.1:4100'
    await tenants.ensureLiveTenant(demoUrl, { demo: 'first', enterprise: 'second' })
    await tenants.ensureLiveTenant(demoUrl, { demo: 'third', enterprise: 'fourth' })
    const demo = await tenants.getClient('cli_demo')
    const known = ['first', 'third', 'sandbox-demo-secret'].filter((secret) => tenants.verifySecret(demo, secret))
    assert.deepEqual(known, ['third'])
  })
})
