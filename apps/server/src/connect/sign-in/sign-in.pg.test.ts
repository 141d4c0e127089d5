/**
 * How many codes a caller may request, and how often it may guess. Each title names the attack that the limit stops.
 */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { Refusal } from '@assay/core'
import { parseConfig } from '../../config/config.ts'
import { testKeyTexts } from '../../test-keys.ts'
import { openOauth } from '../../oauth/test-oauth.ts'
import {
  enterSignInCode,
  findSignInCodeToMail,
  listTenantsNearLimit,
  networkOf,
  requestSignInCode,
  type SignInCodeRequester,
  type SignInDeps,
} from './sign-in.ts'

const oldKey = new Uint8Array(32).fill(3)
const newKey = new Uint8Array(32).fill(4)

describe('limits of signing in by email', async () => {
  const { db, tenant, moveClock } = await openOauth()
  const { signInLimits } = parseConfig(testKeyTexts('test'))
  const deps: SignInDeps = { db, signInKeys: [oldKey], randomBytes, signInLimits, onTenantLimit: () => undefined }
  const newAsker = (): SignInCodeRequester => ({
    sessionId: randomUUID(),
    tenantId: tenant.tenantId,
    clientId: 'cli_demo',
    purpose: 'connect',
  })
  let networks = 0
  /** An address of a network that no other test uses. */
  const newNetwork = (): string => {
    networks += 1
    return `203.${Math.floor(networks / 250)}.${networks % 250}.7`
  }

  const statusOf = async (work: Promise<unknown>): Promise<string> => {
    try {
      await work
      return 'ok'
    } catch (error) {
      assert.ok(error instanceof Refusal)
      return error.code
    }
  }
  const ask = (origin: string, email: string, asker = newAsker()): Promise<string> =>
    statusOf(requestSignInCode(deps, asker, origin, email))

  /** Asks for a code and enters five wrong ones. */
  async function guessFive(origin: string, email: string): Promise<string[]> {
    const asker = newAsker()
    if ((await ask(origin, email, asker)) !== 'ok') return ['no code']
    const right = (await findSignInCodeToMail(deps, asker.sessionId))?.code
    const wrong = right === '000000' ? '000001' : '000000'
    const seen: string[] = []
    for (let attempt = 0; attempt < 5; attempt += 1)
      seen.push(await statusOf(enterSignInCode(deps, asker, origin, wrong)))
    return seen
  }

  it('mail bombing from one network: five codes an hour for an address, and thirty for all addresses', async () => {
    const origin = newNetwork()
    for (let code = 0; code < 5; code += 1) assert.equal(await ask(origin, 'one@example.com'), 'ok')
    assert.equal(await ask(origin, 'one+alias@example.com'), 'rate_limited')
    for (let person = 0; person < 25; person += 1) assert.equal(await ask(origin, `p${person}@example.com`), 'ok')
    assert.equal(await ask(origin, 'the-31st@example.com'), 'rate_limited')
    assert.equal(await ask(newNetwork(), 'the-31st@example.com'), 'ok')
  })

  it('neighbours in a /24 or a /48 share their limit', async () => {
    for (let host = 1; host <= 5; host += 1) {
      assert.equal(await ask(`198.51.100.${host}`, 'near@example.com'), 'ok')
      assert.equal(await ask(`2001:db8:7:${host}::1`, 'near6@example.com'), 'ok')
    }
    assert.equal(await ask('198.51.100.200', 'near@example.com'), 'rate_limited')
    assert.equal(await ask('2001:db8:7:ffff::9', 'near6@example.com'), 'rate_limited')
    assert.equal(await ask('198.51.101.1', 'near@example.com'), 'ok')
  })

  it('locking a person out: four mails and twenty wrong guesses elsewhere leave the person their own tries', async () => {
    const email = 'victim@example.com'
    const attacker = newNetwork()
    for (let mail = 0; mail < 4; mail += 1) await guessFive(attacker, email)
    assert.equal(await ask(attacker, email), 'rate_limited', 'the attacker has used up the day')
    const asker = newAsker()
    const home = newNetwork()
    assert.equal(await ask(home, email, asker), 'ok')
    const mail = await findSignInCodeToMail(deps, asker.sessionId)
    assert.equal(await enterSignInCode(deps, asker, home, mail?.code ?? ''), email)
  })

  it('locking a person out from many networks: the person signs in where they signed in before, and nowhere guesses more', async () => {
    const email = 'known@example.com'
    const home = newNetwork()
    const signIn = async (): Promise<string> => {
      const asker = newAsker()
      if ((await ask(home, email, asker)) !== 'ok') return 'no code'
      const mail = await findSignInCodeToMail(deps, asker.sessionId)
      return enterSignInCode(deps, asker, home, mail?.code ?? '')
    }
    assert.equal(await signIn(), email)
    for (let network = 0; network < 20; network += 1) await guessFive(newNetwork(), email)
    assert.equal(await ask(newNetwork(), email), 'rate_limited')
    assert.equal(await signIn(), email)
    for (let code = 0; code < 3; code += 1) await guessFive(home, email)
    await moveClock(3_601)
    await guessFive(home, email)
    assert.equal(await ask(home, email), 'rate_limited', 'twenty wrong tries are the limit of this network, too')
    await moveClock(31 * 86_400)
    for (let network = 0; network < 20; network += 1) await guessFive(newNetwork(), email)
    assert.equal(await ask(home, email), 'rate_limited', 'it was too long ago')
  })

  it('guessing from many networks: a hundred wrong tries a day for an address, wherever they come from', async () => {
    const email = 'many@example.com'
    for (let network = 0; network < 20; network += 1) {
      assert.deepEqual(new Set(await guessFive(newNetwork(), email)), new Set(['invalid_request']))
    }
    assert.deepEqual(await guessFive(newNetwork(), email), ['no code'])
    await moveClock(86_401)
    assert.equal(await ask(newNetwork(), email), 'ok')
  })

  it('mail bombing from many networks: a thousand codes an hour for a tenant', async () => {
    await db.execute(
      `insert into sign_in_events (subject_hash, kind, at)
       select e.subject_hash, 'code', $1::timestamptz from generate_series(1, 1000),
         (select subject_hash from sign_in_events where kind = 'code' group by 1 order by count(*) desc limit 1) e`,
      [db.now()],
    )
    assert.equal(await ask(newNetwork(), 'person@example.com'), 'rate_limited')
    await moveClock(3_601)
    assert.equal(await ask(newNetwork(), 'person@example.com'), 'ok')
  })

  describe('closing a tenant to its users from many networks', () => {
    /** A tenant of its own, with few codes: ten for a network and forty for all. */
    const newTenant = (refused: string[] = []) => {
      const few: SignInDeps = {
        ...deps,
        signInLimits: { ...signInLimits, codesPerNetwork: 10, codesPerTenant: 40 },
        onTenantLimit: (tenantId) => refused.push(tenantId),
      }
      const tenantId = randomUUID()
      const askFor = (origin: string, email: string, asker = newAsker()): Promise<string> =>
        statusOf(requestSignInCode(few, { ...asker, tenantId }, origin, email))
      const signIn = async (origin: string, email: string): Promise<string> => {
        const asker = newAsker()
        if ((await askFor(origin, email, asker)) !== 'ok') return 'no code'
        const mail = await findSignInCodeToMail(few, asker.sessionId)
        return enterSignInCode(few, asker, origin, mail?.code ?? '')
      }
      /** Asks for codes from one network until one is refused; returns how many were sent. */
      const exhaust = async (origin: string): Promise<number> => {
        let sent = 0
        while ((await askFor(origin, `${randomUUID()}@attacker.example`)) === 'ok') sent += 1
        return sent
      }
      return { few, tenantId, askFor, signIn, exhaust }
    }

    it('a few networks get half of the codes, and every other network still gets its first three', async () => {
      const { askFor, exhaust } = newTenant()
      const sent = [await exhaust(newNetwork()), await exhaust(newNetwork()), await exhaust(newNetwork())]
      assert.deepEqual(sent, [10, 10, 3])
      const home = newNetwork()
      for (const email of ['ann@example.com', 'ben@example.com', 'cal@example.com']) {
        assert.equal(await askFor(home, email), 'ok')
      }
      assert.equal(await askFor(home, 'dot@example.com'), 'rate_limited')
      assert.equal(await askFor(newNetwork(), 'dot@example.com'), 'ok')
    })

    it('all networks together get no more than the codes of the tenant', async () => {
      const { exhaust } = newTenant()
      let sent = 0
      for (let network = 0; network < 20; network += 1) sent += await exhaust(newNetwork())
      assert.equal(sent, 40)
    })

    it('a person gets a code where they signed in within a month, and uses up none of the codes of others', async () => {
      const { askFor, signIn, exhaust } = newTenant()
      const home = newNetwork()
      assert.equal(await signIn(home, 'known@example.com'), 'known@example.com')
      for (let network = 0; network < 20; network += 1) await exhaust(newNetwork())
      for (let time = 0; time < 4; time += 1) {
        assert.equal(await signIn(home, 'known@example.com'), 'known@example.com')
      }
      assert.equal(await askFor(home, 'known@example.com'), 'rate_limited', 'the address has its own limit there')
      assert.equal(await askFor(home, 'neighbour@example.com'), 'rate_limited')
      assert.equal(await askFor(newNetwork(), 'known@example.com'), 'rate_limited')

      await moveClock(3_601)
      let sent = 0
      for (let time = 0; time < 3; time += 1) await signIn(home, 'known@example.com')
      for (let network = 0; network < 20; network += 1) sent += await exhaust(newNetwork())
      assert.equal(sent, 40)
      await moveClock(31 * 86_400)
      for (let network = 0; network < 20; network += 1) await exhaust(newNetwork())
      assert.equal(await askFor(home, 'known@example.com'), 'rate_limited', 'it was too long ago')
    })

    it('the operator learns which tenant it is, and hears nothing of the limits of a network', async () => {
      const refused: string[] = []
      const { few, tenantId, exhaust } = newTenant(refused)
      const look = async () =>
        listTenantsNearLimit(few, [tenant.tenantId, tenantId]).then((found) =>
          found.filter((one) => one.tenantId === tenantId),
        )
      await exhaust(newNetwork())
      assert.deepEqual([refused, await look()], [[], []])
      await exhaust(newNetwork())
      await exhaust(newNetwork())
      assert.deepEqual([...new Set(refused)], [tenantId])
      assert.deepEqual(await look(), [{ tenantId, codesInAnHour: 23 }])
      const rotated: SignInDeps = { ...few, signInKeys: [newKey, oldKey] }
      assert.deepEqual(await listTenantsNearLimit(rotated, [tenantId]), [{ tenantId, codesInAnHour: 23 }])
      await moveClock(86_401)
      assert.deepEqual(await look(), [])
    })
  })

  it('asking and guessing at once: the requests of one session wait for each other and never deadlock', async () => {
    const asker = newAsker()
    const origin = newNetwork()
    assert.equal(await ask(origin, 'circle@example.com', asker), 'ok')
    const works = Array.from({ length: 8 }, (_, at) =>
      at % 2 === 0
        ? ask(origin, 'circle@example.com', asker)
        : statusOf(enterSignInCode(deps, asker, origin, '000000')),
    )
    // `statusOf` lets only refusals through: a deadlock of the database is an error.
    const seen = new Set(await Promise.all(works))
    assert.deepEqual([...seen].toSorted(), ['invalid_request', 'ok'])
  })

  it('mail bombing by spelling: full-width letters are the same address', async () => {
    const origin = newNetwork()
    const spellings = [
      'wide@example.com',
      'ｗide@example.com',
      'wide@ｅxample.com',
      'WIDE@EXAMPLE.COM',
      'wide@exａmple.com',
    ]
    for (const email of spellings) assert.equal(await ask(origin, email), 'ok')
    assert.equal(await ask(origin, 'wide@example.ｃom'), 'rate_limited')
    const asker = newAsker()
    await requestSignInCode(deps, asker, newNetwork(), 'ｗide@ｅxample.com')
    assert.equal((await findSignInCodeToMail(deps, asker.sessionId))?.email, 'wide@example.com')
  })

  it('mail bombing by spelling: an internationalised domain in letters and in ASCII is the same address', async () => {
    const origin = newNetwork()
    for (let code = 0; code < 5; code += 1) assert.equal(await ask(origin, 'ann@bücher.example'), 'ok')
    assert.equal(await ask(origin, 'ann@xn--bcher-kva.example'), 'rate_limited')
  })

  it('key rotation: a guess is compared with one code, and a code of the old key is still right', async () => {
    const rotated: SignInDeps = { ...deps, signInKeys: [newKey, oldKey] }
    const asker = newAsker()
    const origin = newNetwork()
    await requestSignInCode(deps, asker, origin, 'rotate@example.com')
    const mailed = (await findSignInCodeToMail(rotated, asker.sessionId))?.code
    assert.equal(mailed, (await findSignInCodeToMail(deps, asker.sessionId))?.code)
    // The code that the other key makes of the same row is wrong.
    const row = await db.row<{ nonce: Buffer }>('select nonce from sign_in_codes where session_id = $1', [
      asker.sessionId,
    ])
    await db.execute('update sign_in_codes set key_id = $2 where session_id = $1', [
      asker.sessionId,
      await keyIdFor(rotated, origin),
    ])
    const other = (await findSignInCodeToMail(rotated, asker.sessionId))?.code
    await db.execute('update sign_in_codes set key_id = $2, nonce = $3 where session_id = $1', [
      asker.sessionId,
      await keyIdFor(deps, origin),
      row.nonce,
    ])
    // The two codes are equal once in a million runs, and then this test shows nothing.
    if (other !== mailed) {
      assert.equal(await statusOf(enterSignInCode(rotated, asker, origin, other ?? '')), 'invalid_request')
    }
    assert.equal(await enterSignInCode(rotated, asker, origin, mailed ?? ''), 'rotate@example.com')
  })

  /** The id of the key that these dependencies sign with, as it stands in their codes. */
  async function keyIdFor(of: SignInDeps, origin: string): Promise<Buffer> {
    const asker = newAsker()
    await requestSignInCode(of, asker, origin, `${randomUUID()}@example.com`)
    const { key_id } = await db.row<{ key_id: Buffer }>('select key_id from sign_in_codes where session_id = $1', [
      asker.sessionId,
    ])
    return key_id
  }
})

describe('the network of an address', () => {
  for (const [address, network] of [
    ['192.0.2.77', '192.0.2.0/24'],
    ['::ffff:192.0.2.77', '192.0.2.0/24'],
    ['::ffff:c000:24d', '192.0.2.0/24'],
    ['192.0.2.77:4711', '192.0.2.0/24'],
    ['[2001:db8:1:2:3:4:5:6]:4711', '2001:db8:1::/48'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:0DB8:0001::6', '2001:db8:1::/48'],
    ['2001:db8::6', '2001:db8:0::/48'],
    ['::1', '0:0:0::/48'],
    ['fe80::1%eth0', 'fe80:0:0::/48'],
  ] as const) {
    it(`${address} belongs to ${network}`, () => assert.equal(networkOf(address), network))
  }
})
