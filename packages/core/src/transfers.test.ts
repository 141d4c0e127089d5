import { minuteMs } from './durations.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { compare, isPositive, parseDecimal, subtract } from './decimal.ts'
import type { TransactionDraft } from './transactions.ts'
import {
  arrivalMaxMs,
  certainFrom,
  crowdSize,
  clockToleranceMs,
  fateReach,
  findTransferLeg,
  matchTransfers,
  type TransferLeg,
} from './transfers.ts'

const noonMs = Date.UTC(2026, 2, 2, 12)

function leg(id: string, more: Partial<TransferLeg> & { amount?: TransferLeg['amount'] } = {}): TransferLeg {
  const direction = id.startsWith('out') ? 'out' : 'in'
  return {
    id,
    connectionId: direction === 'out' ? 'con_a' : 'con_b',
    direction,
    assetId: 'crypto:bitcoin',
    amount: parseDecimal('1'),
    fee: parseDecimal('0'),
    hash: null,
    toAddress: null,
    occurredAtMs: direction === 'out' ? noonMs : noonMs + 10 * minuteMs,
    ...more,
  }
}

const decimal = parseDecimal
const pairs = (...legs: TransferLeg[]): string[] =>
  matchTransfers(legs).map(({ outgoingId, incomingId, confidence }) => `${outgoingId} ${incomingId} ${confidence}`)

describe('by hash', () => {
  it('the same amount is certain, whenever it arrives', () => {
    const late = leg('in', { hash: 'h', occurredAtMs: noonMs + 30 * arrivalMaxMs })
    assert.deepEqual(pairs(leg('out', { hash: 'h' }), late), ['out in 1'])
  })

  it('less the fee is certain too, where the venue counts it into the amount', () => {
    const outgoing = leg('out', { hash: 'h', amount: decimal('1'), fee: decimal('0.0005') })
    assert.deepEqual(pairs(outgoing, leg('in', { hash: 'h', amount: decimal('0.9995') })), ['out in 1'])
  })

  it('an amount less an unreported fee is nearly certain; less than half, or more, does not match', () => {
    const arriving = (amount: string): string[] =>
      pairs(leg('out', { hash: 'h' }), leg('in', { hash: 'h', amount: decimal(amount) }))
    assert.deepEqual(arriving('0.9'), ['out in 0.9'])
    assert.deepEqual(arriving('0.49'), [])
    assert.deepEqual(arriving('1.00000001'), [])
  })

  it('a part of a payment with a stated fee is a suggestion: the rest went to others', () => {
    const outgoing = leg('out', { hash: 'h', fee: decimal('0.0005') })
    const arriving = (amount: string): string[] => pairs(outgoing, leg('in', { hash: 'h', amount: decimal(amount) }))
    assert.deepEqual(arriving('0.7'), ['out in 0.4'])
    assert.deepEqual(arriving('0.999'), ['out in 0.4'])
    assert.deepEqual(arriving('0.49'), [])
    const other = leg('in2', { amount: decimal('1'), connectionId: 'con_c' })
    assert.deepEqual(pairs(outgoing, leg('in1', { hash: 'h', amount: decimal('0.7') }), other), ['out in1 0.4'])
  })

  it('two withdrawals in one hash are distinguished by amount', () => {
    const legs = [
      leg('out1', { hash: 'h', amount: decimal('1') }),
      leg('out2', { hash: 'h', amount: decimal('0.99') }),
      leg('in1', { hash: 'h', amount: decimal('1') }),
      leg('in2', { hash: 'h', amount: decimal('0.99') }),
    ]
    assert.deepEqual(pairs(...legs), ['out1 in1 1', 'out2 in2 1'])
  })

  it('two withdrawals of one amount in one hash are distinguished by address', () => {
    const legs = [
      leg('out1', { hash: 'h', toAddress: 'A' }),
      leg('out2', { hash: 'h', toAddress: 'B' }),
      leg('in1', { hash: 'h', toAddress: 'B' }),
    ]
    assert.deepEqual(pairs(...legs), ['out2 in1 1'])
  })

  it('two withdrawals of one amount in one hash without addresses are not matched', () => {
    const legs = [leg('out1', { hash: 'h' }), leg('out2', { hash: 'h' }), leg('in1', { hash: 'h' })]
    assert.deepEqual(pairs(...legs), [])
  })

  it('a withdrawal to another address is not matched, although it shares hash and amount', () => {
    assert.deepEqual(
      pairs(leg('out', { hash: 'h', toAddress: 'friend' }), leg('in', { hash: 'h', toAddress: 'own' })),
      [],
    )
  })

  it('another hash is another transfer, whatever amount and time say', () => {
    assert.deepEqual(pairs(leg('out', { hash: 'h' }), leg('in', { hash: 'i' })), [])
  })

  it('another asset in the same hash is another transfer', () => {
    assert.deepEqual(pairs(leg('out', { hash: 'h' }), leg('in', { hash: 'h', assetId: 'crypto:ethereum' })), [])
  })
})

describe('without a hash', () => {
  it('amount and time are enough for a suggestion when there is one candidate each way', () => {
    assert.deepEqual(pairs(leg('out'), leg('in')), ['out in 0.4'])
    assert.deepEqual(pairs(leg('out', { hash: 'h' }), leg('in')), ['out in 0.4'])
    assert.deepEqual(pairs(leg('out', { toAddress: 'A' }), leg('in')), ['out in 0.4'])
  })

  it('two candidates on either side give no match', () => {
    assert.deepEqual(pairs(leg('out'), leg('in1'), leg('in2')), [])
    assert.deepEqual(pairs(leg('out1'), leg('out2'), leg('in')), [])
  })

  it('a candidate with its own match by hash does not count', () => {
    const legs = [leg('out1', { hash: 'h' }), leg('in1', { hash: 'h' }), leg('out2'), leg('in2', { hash: 'i' })]
    assert.deepEqual(pairs(...legs), ['out1 in1 1', 'out2 in2 0.4'])
  })

  it('the address decides between candidates and raises the confidence', () => {
    const legs = [leg('out', { toAddress: 'A' }), leg('in1', { toAddress: 'A' }), leg('in2')]
    assert.deepEqual(pairs(...legs), ['out in1 0.95'])
  })

  it('it arrives within a day, and not before it left, except for clock differences', () => {
    const after = (ms: number): string[] => pairs(leg('out'), leg('in', { occurredAtMs: noonMs + ms }))
    assert.equal(after(arrivalMaxMs).length, 1)
    assert.equal(after(arrivalMaxMs + 1).length, 0)
    assert.equal(after(-clockToleranceMs).length, 1)
    assert.equal(after(-clockToleranceMs - 1).length, 0)
  })

  it('too many candidates give no match, not even by address', () => {
    const others = Array.from({ length: crowdSize - 1 }, (_, index) => leg(`in${index}`))
    const own = [leg('out', { toAddress: 'A' }), leg('in', { toAddress: 'A' })]
    assert.deepEqual(pairs(...own, ...others.slice(1)), ['out in 0.95'])
    assert.deepEqual(pairs(...own, ...others), [])
  })

  it('nearly the same amount is another amount', () => {
    assert.deepEqual(pairs(leg('out'), leg('in', { amount: decimal('0.99999999') })), [])
  })

  it('nothing is matched inside one connection', () => {
    assert.deepEqual(pairs(leg('out'), leg('in', { connectionId: 'con_a' })), [])
  })
})

describe('a side of a transfer', () => {
  const draft: TransactionDraft = {
    naturalKey: 'k',
    type: 'send',
    category: 'withdrawal',
    method: 'venue',
    confidence: 1,
    status: 'confirmed',
    occurredAtMs: noonMs,
    inputs: [],
    outputs: [{ assetId: 'crypto:bitcoin', symbol: 'BTC', amount: decimal('1') }],
    fees: [
      { assetId: 'crypto:bitcoin', symbol: 'BTC', amount: decimal('0.1'), kind: 'network' },
      { assetId: 'fiat:usd', symbol: 'USD', amount: decimal('2'), kind: 'withdrawal' },
    ],
    network: null,
    hash: null,
    fromAddress: null,
    toAddress: null,
    spam: false,
    providerReference: null,
    description: null,
    incomplete: [],
  }

  it('is the amount sent, with the fee in the same asset', () => {
    const found = findTransferLeg(draft)
    assert.deepEqual([found?.direction, found?.amount, found?.fee], ['out', '1', '0.1'])
  })

  it('is never a reward, failure, spam, money, or a transaction of two assets', () => {
    const [output] = draft.outputs
    assert.ok(output)
    const others: Partial<TransactionDraft>[] = [
      { type: 'input_only', inputs: draft.outputs, outputs: [] },
      { status: 'failed' },
      { spam: true },
      { outputs: [{ ...output, assetId: 'fiat:usd' }] },
      { outputs: [output, { ...output, assetId: 'crypto:ethereum' }] },
      { outputs: [] },
    ]
    for (const other of others) assert.equal(findTransferLeg({ ...draft, ...other }), undefined, JSON.stringify(other))
  })

  it('has hash and address in one spelling, where spelling means nothing', () => {
    const spelled = (hash: string, toAddress: string): (string | null | undefined)[] => {
      const found = findTransferLeg({ ...draft, hash, toAddress })
      return [found?.hash, found?.toAddress]
    }
    const digits = 'ab'.repeat(32)
    assert.deepEqual(spelled(`0x${digits.toUpperCase()}`, '0xAbC'), [digits, '0xabc'])
    assert.deepEqual(spelled('5VERYbase58', 'rXRP?dt=7'), ['5VERYbase58', 'rXRP'])
    assert.deepEqual(spelled(digits, '1BoatSLRHtKNngkdXEeobR76b53LETtpyT'), [
      digits,
      '1BoatSLRHtKNngkdXEeobR76b53LETtpyT',
    ])
  })
})

describe('for any set of legs', () => {
  const legs = fc.uniqueArray(
    fc.record({
      id: fc.integer({ min: 0, max: 99 }),
      direction: fc.constantFrom('out', 'in'),
      connectionId: fc.constantFrom('con_a', 'con_b', 'con_c'),
      assetId: fc.constantFrom('crypto:bitcoin', 'crypto:ethereum'),
      amount: fc.constantFrom('1', '0.9', '0.6').map(decimal),
      fee: fc.constantFrom('0', '0.1').map(decimal),
      hash: fc.constantFrom(null, 'h', 'i'),
      toAddress: fc.constantFrom(null, 'A', 'B'),
      occurredAtMs: fc.integer({ min: 0, max: 40 }).map((hours) => noonMs + hours * 60 * minuteMs),
    }),
    { maxLength: 24, selector: ({ id }) => id },
  )
  const given = legs.map((all) => all.map((one): TransferLeg => ({ ...one, id: `txn_${one.id}` })))
  const sorted = (all: readonly TransferLeg[]): string[] =>
    matchTransfers(all)
      .map((match) => JSON.stringify(match))
      .toSorted()

  it('the matches do not depend on the order in which they came', () => {
    const shuffled = given.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    )
    fc.assert(fc.property(shuffled, ([all, other]) => assert.deepEqual(sorted(other), sorted(all))))
  })

  it('each is matched at most once, one out with one in, of one asset, across connections', () => {
    fc.assert(
      fc.property(given, (all) => {
        const byId = new Map(all.map((one) => [one.id, one]))
        const sides = matchTransfers(all).flatMap(({ outgoingId, incomingId }) => [outgoingId, incomingId])
        assert.equal(new Set(sides).size, sides.length)
        for (const { outgoingId, incomingId, confidence } of matchTransfers(all)) {
          const [outgoing, incoming] = [byId.get(outgoingId), byId.get(incomingId)]
          assert.deepEqual([outgoing?.direction, incoming?.direction], ['out', 'in'])
          assert.equal(outgoing?.assetId, incoming?.assetId)
          assert.notEqual(outgoing?.connectionId, incoming?.connectionId)
          const isShared = (a: string | null | undefined, b: string | null | undefined): boolean =>
            a !== null && a !== undefined && a === b
          const hasProof =
            isShared(outgoing?.hash, incoming?.hash) || isShared(outgoing?.toAddress, incoming?.toAddress)
          assert.ok(confidence > 0 && confidence <= 1)
          // If a fee is stated and even less has arrived, the rest went to others.
          const { amount = decimal('0'), fee = decimal('0') } = outgoing ?? {}
          const isPart = compare(incoming?.amount ?? amount, subtract(amount, fee)) < 0 && isPositive(fee)
          assert.equal(confidence >= certainFrom, hasProof && !isPart)
        }
      }),
    )
  })

  it(`one more changes nothing that is more than ${fateReach} candidate pairs away`, () => {
    const withOne = given.filter((all) => all.length > 0)
    fc.assert(
      fc.property(withOne, (all) => {
        const [added, ...rest] = all
        assert.ok(added)
        const near = reach(added, all)
        const beyond = (set: readonly TransferLeg[]): string[] =>
          matchTransfers(set)
            .filter(({ outgoingId, incomingId }) => !near.has(outgoingId) && !near.has(incomingId))
            .map((match) => JSON.stringify(match))
            .toSorted()
        assert.deepEqual(beyond(all), beyond(rest))
      }),
    )
  })

  /** Two legs are a candidate pair when they would be matched if there were no others. */
  function reach(from: TransferLeg, all: readonly TransferLeg[]): Set<string> {
    const found = new Set([from.id])
    for (let step = 0; step < fateReach; step += 1) {
      const edge = all.filter(({ id }) => found.has(id))
      for (const one of edge) for (const two of all) if (matchTransfers([one, two]).length > 0) found.add(two.id)
    }
    return found
  }
})
