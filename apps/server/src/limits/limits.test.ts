import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLimits, createSlots, toNetwork } from './index.ts'
import { createWindow } from './window.ts'

describe('a window', () => {
  it('counts from a key’s first request, and starts again when the window has ended', () => {
    let now = 0
    const window = createWindow({ windowMs: 1_000, keysMax: 10, now: () => now })
    assert.deepEqual(window.add('a'), { count: 1, resetMs: 1_000 })
    now = 400
    assert.deepEqual(window.add('a'), { count: 2, resetMs: 600 })
    assert.deepEqual(window.get('a'), { count: 2, resetMs: 600 })
    now = 1_000
    assert.deepEqual(window.get('a'), { count: 0, resetMs: 1_000 })
    assert.deepEqual(window.add('a'), { count: 1, resetMs: 1_000 })
  })

  it('a hundred thousand addresses use the memory of a thousand', () => {
    let now = 0
    const window = createWindow({ windowMs: 60_000, keysMax: 1_000, now: () => now })
    for (let index = 0; index < 100_000; index += 1) {
      if (index % 1_000 === 0) now += 1
      window.add(`address ${index}`)
    }
    assert.equal(window.size(), 1_000)
    assert.equal(window.get('address 99999').count, 1)
    assert.equal(window.get('address 0').count, 0)
  })

  it('ended windows are dropped before open ones', () => {
    let now = 0
    const window = createWindow({ windowMs: 1_000, keysMax: 3, now: () => now })
    window.add('old')
    now = 900
    window.add('young')
    now = 1_100
    window.add('new')
    assert.deepEqual([window.size(), window.get('young').count], [2, 1])
  })
})

describe('a clock that is set back', () => {
  const settings = { perToken: 1, perClient: 1, oauthFailures: 1, perAddress: 1, slowAfter: 1 }
  const hourMs = 3_600_000

  it('keeps no caller out for longer than a window', () => {
    let now = hourMs
    const limits = createLimits(settings, () => now)
    assert.deepEqual([limits.countToken('a').admitted, limits.countToken('a').admitted], [true, false])
    limits.oauth.countWrongSecret('cli_a', '10.0.0.1')
    now = 0
    assert.equal(limits.oauth.delayMs('cli_a', '10.0.0.1'), 0)
    assert.equal(limits.lookAtToken('a').admitted, true)
    assert.deepEqual([limits.countToken('a').admitted, limits.countToken('a').admitted], [true, false])
  })

  it('by milliseconds begins no new window: processes that share a port are as far apart', () => {
    let now = hourMs
    const limits = createLimits(settings, () => now)
    limits.countToken('a')
    limits.oauth.countWrongSecret('cli_a', '10.0.0.1')
    now -= 20
    assert.equal(limits.countToken('a').admitted, false)
    assert.equal(limits.oauth.delayMs('cli_a', '10.0.0.1'), 250)
  })
})

describe('the limits', () => {
  const settings = { perToken: 3, perClient: 2, oauthFailures: 2, perAddress: 2, slowAfter: 2 }

  it('each token, address and client has its own limit', () => {
    const limits = createLimits(settings, () => 0)
    const admitted = (verdicts: { admitted: boolean }[]): boolean[] => verdicts.map((verdict) => verdict.admitted)
    const tokens = ['a', 'a', 'a', 'a', 'b'].map((token) => limits.countToken(token))
    assert.deepEqual(admitted(tokens), [true, true, true, false, true])
    const addresses = ['10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.2'].map((one) => limits.countAddress(one))
    assert.deepEqual(admitted(addresses), [true, true, false, true])
    assert.deepEqual(limits.countToken('c'), {
      admitted: true,
      policy: 'token',
      limit: 3,
      windowSeconds: 60,
      remaining: 2,
      resetSeconds: 60,
    })
  })

  it('checking a limit does not count', () => {
    const { oauth } = createLimits(settings, () => 0)
    for (let look = 0; look < 5; look += 1) assert.equal(oauth.lookAtAddress('10.0.0.1').admitted, true)
    oauth.countFailure('10.0.0.1')
    oauth.countFailure('10.0.0.1')
    assert.equal(oauth.lookAtAddress('10.0.0.1').admitted, false)
    assert.equal(oauth.lookAtAddress('10.0.0.2').admitted, true)
  })

  it('wrong secrets of a client and address are slowed from the one that the setting names, longer each time', () => {
    let now = 0
    const { oauth } = createLimits(settings, () => now)
    const delays = Array.from({ length: 9 }, () => oauth.countWrongSecret('cli_a', '10.0.0.1'))
    assert.deepEqual(delays, [0, 250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000])
    assert.equal(oauth.countWrongSecret('cli_b', '10.0.0.1'), 0)
    assert.equal(oauth.countWrongSecret('cli_a', '10.0.0.2'), 0)
    now = 60_000
    assert.equal(oauth.countWrongSecret('cli_a', '10.0.0.1'), 0)
  })

  it('a secret waits only while the answer to a wrong one is held back, so that hanging up saves no time', () => {
    let now = 0
    const { oauth } = createLimits(settings, () => now)
    const waits = (address = '10.0.0.1'): number => oauth.delayMs('cli_a', address)
    oauth.countWrongSecret('cli_a', '10.0.0.1')
    assert.equal(waits(), 0)
    oauth.countWrongSecret('cli_a', '10.0.0.1')
    assert.deepEqual([waits(), waits('10.0.0.2')], [250, 0])
    now = 100
    assert.equal(waits(), 150)
    now = 250
    assert.equal(waits(), 0)
    oauth.countWrongSecret('cli_a', '10.0.0.1')
    assert.equal(waits(), 500)
    now = 60_000
    assert.equal(waits(), 0)
  })

  it('all addresses of an IPv6 subscriber count as one, and IPv4-mapped addresses count as IPv4', () => {
    const same = ['2001:db8:1:2:3:4:5:6', '2001:DB8:1:2::', '2001:0db8:0001:0002:ffff::1', '2001:db8:1:2::9%eth0']
    for (const address of same) assert.equal(toNetwork(address), '2001:db8:1:2::/64')
    assert.notEqual(toNetwork('2001:db8:1:3::1'), toNetwork('2001:db8:1:2::1'))
    assert.equal(toNetwork('::ffff:10.0.0.1'), '10.0.0.1')
    assert.equal(toNetwork('10.0.0.1'), '10.0.0.1')
    assert.equal(toNetwork('::1'), '0:0:0:0::/64')
    const spelled = ['::ffff:909:501', '0:0:0:0:0:FFFF:0909:0501', '::ffff:9.9.5.1%eth0']
    for (const address of spelled) assert.equal(toNetwork(address), '9.9.5.1')
  })

  it('an address with the port of a connection, as some proxies send it, counts as the address', () => {
    for (const port of ['1', '65535']) {
      assert.equal(toNetwork(`192.0.2.7:${port}`), '192.0.2.7')
      assert.equal(toNetwork(`[2001:db8:1:2::3]:${port}`), '2001:db8:1:2::/64')
      assert.equal(toNetwork(`[::ffff:192.0.2.7]:${port}`), '192.0.2.7')
    }
    assert.equal(toNetwork('[2001:db8:1:2::3]'), '2001:db8:1:2::/64')
    for (const other of ['unknown', '192.0.2.7:x', '300.0.2.7:1', '[', '']) assert.equal(toNetwork(other), other)
  })
})

describe('slots for long responses', () => {
  it('are counted across all holders, and become free when they are released or their holder ends', () => {
    const slots = createSlots()
    assert.deepEqual([slots.take('a', 2, 1), slots.take('a', 2, 2), slots.take('a', 2, 2)], [true, true, false])
    assert.equal(slots.take('b', 2, 1), true)
    slots.leave('a', 1)
    // A holder cannot release a slot that it does not have.
    slots.leave('a', 1)
    assert.deepEqual([slots.take('a', 2, 3), slots.take('a', 2, 3)], [true, false])
    slots.leaveAll(2)
    assert.deepEqual([slots.take('a', 2, 3), slots.take('a', 2, 3)], [true, false])
  })
})
