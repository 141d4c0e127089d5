/** The connector against a small chain of our own (test-chain.ts). */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hourMs, SourceError } from '@assay/core'
import { gapLimit, replaceableDepth } from './definition.ts'
import { Books, change, countOf, keysOf, receiving, startMs, TestChain, zpub } from './test-chain.ts'

describe('a wallet', () => {
  it('is found with its change, up to twenty unused addresses behind the last used one of each chain', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 1_000_000 }, { [receiving(0)]: 900_000 }, 800_000)
    chain.pay({ payer: 1_000_000 }, { [receiving(gapLimit)]: 500_000 }, 800_001)
    chain.pay({ [receiving(0)]: 900_000 }, { shop: 300_000, [change(2)]: 590_000 }, 800_002)
    // This address lies beyond the gap, where a wallet would not find it either.
    chain.pay({ payer: 1_000_000 }, { [receiving(gapLimit * 2 + 1)]: 1 }, 800_003)
    const books = new Books()
    assert.equal(await books.run(chain), '0.0109')
    assert.deepEqual(books.keys, keysOf(chain).slice(0, 3))
    const asked = new Set(chain.asked.filter((path) => /^\/address\/[^/]+$/.test(path)))
    assert.equal(asked.size, gapLimit * 2 + 1 + (3 + gapLimit))
  })

  it('never shows its key to the server, the state or a record', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 1_000_000 }, { [receiving(0)]: 900_000 })
    const books = new Books()
    await books.run(chain)
    const shown = JSON.stringify([chain.asked, books.state, books.pages])
    assert.ok(shown.includes(receiving(0)))
    assert.doesNotMatch(shown, /[xyz]pub/)
    assert.ok(!shown.includes(zpub.slice(4, 30)))
  })

  it('is queried for funded and unused addresses in every run, and for emptied ones once a day', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(index)]: 1_000 }, 700_000 + index)
      if (index !== 7) chain.pay({ [receiving(index)]: 1_000 }, { shop: 500 }, 750_000 + index)
    }
    const books = new Books()
    assert.equal(await books.run(chain), '0.00001')
    assert.equal(books.keys.length, 119)
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain)
    assert.equal(countOf(chain, /^\/address\/[^/]+$/), 1 + 2 * gapLimit)
    assert.equal(countOf(chain, /\/txs/), 0)
    // A payment comes in at an address that was used before.
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 899_000)
    chain.nowMs += 24 * hourMs
    chain.asked = []
    assert.equal(await books.run(chain), '0.000025')
    assert.equal(countOf(chain, /\/txs/), 1)
    assert.equal(books.keys.length, 120)
  })

  it('of a key of unknown kind is queried for every kind once a day, and for the used kind in every run', async () => {
    const xpub =
      'xpub6BosfCnifzxcFwrSzQiqu2DBVTshkCXacvNsWGYJVVhhawA7d4R5WSWGFNbi8Aw6ZRc1brxMyWMzG3DSSSSoekkudhUd9yLb6qx39T9nMdj'
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { '1LqBGSKuX5yYUonjxT5qGfpUsXKYYWeabA': 1_000 }, 700_000)
    const books = new Books()
    assert.equal(await books.run(chain, chain.open({ extendedPublicKey: xpub })), '0.00001')
    assert.equal(countOf(chain, /^\/address\/[^/]+$/), 8 * gapLimit + 1)
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain, chain.open({ extendedPublicKey: xpub }))
    assert.equal(countOf(chain, /^\/address\/[^/]+$/), 2 * gapLimit + 1)
  })
})

describe('a transaction that may still change', () => {
  it('is pending in the mempool and until six blocks deep, then confirmed', async () => {
    const chain = new TestChain()
    const books = new Books()
    const txid = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 })
    assert.equal(await books.run(chain), '0')
    assert.equal(books.records.get(txid)?.occurredAtMs, startMs)
    const balances = []
    for (const [height, isPending] of [
      [900_001, true],
      [900_005, true],
      [900_006, false],
    ] as const) {
      chain.mine(txid, 900_001)
      chain.tip = height
      chain.nowMs += hourMs
      balances.push(await books.run(chain))
      assert.equal(books.isPending(txid), isPending, `at ${height}`)
    }
    assert.deepEqual(balances, ['0.00001', '0.00001', '0.00001'])
    for (const [depth, count] of [
      [replaceableDepth - 1, 1],
      [replaceableDepth, 0],
    ] as const) {
      chain.tip = 900_000 + depth
      chain.asked = []
      chain.nowMs += hourMs
      await books.run(chain)
      assert.equal(countOf(chain, /\/tx/), count, `at a depth of ${depth}`)
      assert.equal(books.isPending(txid), false)
    }
  })

  it('is followed in the mempool up to a limit when strangers send thousands, and is found when it is in a block', async () => {
    const chain = new TestChain()
    const sent = Array.from({ length: 5_000 }, () => chain.pay({ stranger: 600 }, { [receiving(0)]: 546 }))
    const books = new Books()
    const reader = chain.open({ address: receiving(0) })
    await books.readBalance(reader)
    await books.readWindow(reader, startMs - hourMs, startMs)
    assert.ok(JSON.stringify(books.state).length < 2 ** 18)
    const followed = books.records.size
    assert.ok(followed >= 200 && followed < 1_000, String(followed))

    const mined = sent.find((txid) => !books.records.has(txid))
    assert.ok(mined !== undefined)
    chain.mine(mined, 900_000)
    chain.nowMs += hourMs
    chain.asked = []
    await books.readBalance(reader)
    await books.readWindow(reader, startMs, startMs + hourMs)
    assert.ok(books.records.has(mined))
    assert.ok(chain.asked.length < followed + 20, `${chain.asked.length} requests`)
  })

  it('counts as confirmed in its block when strangers have filled the last blocks with thousands', async () => {
    const chain = new TestChain()
    for (let sent = 0; sent < 3_000; sent += 1)
      chain.pay({ stranger: 600 }, { [receiving(0)]: 546 }, chain.tip - (sent % 3))
    const books = new Books()
    const reader = chain.open({ address: receiving(0) })
    await books.run(chain, reader)
    assert.equal(books.records.size, 3_000)
    assert.ok(JSON.stringify(books.state).length < 2 ** 18, `${JSON.stringify(books.state).length} characters`)
    const pending = books.keys.filter((txid) => books.isPending(txid))
    assert.equal(pending.length, 500)
    chain.tip += 10
    await books.runLater(chain, reader)
    assert.deepEqual(
      books.keys.filter((txid) => books.isPending(txid)),
      [],
    )
  })

  it('stays confirmed beyond the limit when another payment has the list of its address read again', async () => {
    const chain = new TestChain()
    for (let sent = 0; sent < 1_100; sent += 1) chain.pay({ stranger: 600 }, { [receiving(0)]: 546 }, chain.tip)
    const books = new Books()
    const reader = chain.open({ address: receiving(0) })
    await books.run(chain, reader)
    for (let more = 0; more < 2; more += 1) {
      chain.pay({ stranger: 600 }, { [receiving(0)]: 546 }, chain.tip)
      await books.runLater(chain, reader, hourMs)
      assert.equal(books.records.size, 1_101 + more)
      assert.equal(books.keys.filter((txid) => books.isPending(txid)).length, 500)
    }
  })

  it('takes little room in the state when strangers name every address of the wallet in each of hundreds', async () => {
    const chain = new TestChain()
    const all = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [receiving(index), 546]))
    for (let sent = 0; sent < 210; sent += 1) chain.pay({ stranger: 60_000 }, all)
    const books = new Books()
    const reader = chain.open({ extendedPublicKey: zpub })
    await books.run(chain, reader)
    assert.ok(books.records.size >= 200)
    assert.ok(JSON.stringify(books.state).length < 2 ** 18, `${JSON.stringify(books.state).length} characters`)
  })

  it('is found in the mempool of the next server when the list of another did not have it', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    const books = new Books()
    const reader = chain.open({ address: receiving(0) })
    await books.run(chain, reader)
    chain.listed = structuredClone(chain.transactions)
    const waiting = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 })
    await books.runLater(chain, reader, hourMs)
    assert.ok(!books.records.has(waiting))
    chain.listed = undefined
    await books.runLater(chain, reader, hourMs)
    assert.equal(books.isPending(waiting), true)
    chain.asked = []
    await books.runLater(chain, reader, hourMs)
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  it('is withdrawn when the list of its address no longer has it, although a newer one is still in its block', async () => {
    const chain = new TestChain()
    const books = new Books()
    const reader = chain.open({ address: receiving(0) })
    const ghost = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 899_950)
    const newer = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 899_990)
    await books.run(chain, reader)
    assert.deepEqual([books.isPending(ghost), books.isPending(newer)], [false, false])
    chain.drop(ghost)
    for (let run = 0; run < 2; run += 1) await books.runLater(chain, reader, hourMs)
    assert.deepEqual([books.keys, books.withdrawn], [[newer], [ghost]])
  })

  it('is withdrawn when it was the only one of its address, although a newer one is still in its block', async () => {
    const chain = new TestChain()
    const books = new Books()
    const ghost = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 899_950)
    const newer = chain.pay({ payer: 2_000 }, { [receiving(1)]: 1_500 }, 899_990)
    await books.run(chain)
    assert.deepEqual([books.isPending(ghost), books.isPending(newer)], [false, false])
    chain.drop(ghost)
    await books.runLater(chain, chain.open(), hourMs)
    assert.deepEqual([books.keys, books.withdrawn], [[newer], [ghost]])
  })

  it('is withdrawn when the mempool drops it, and its replacement is found even with the same value', async () => {
    const chain = new TestChain()
    const books = new Books()
    const first = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 })
    await books.run(chain)
    chain.drop(first)
    const second = chain.pay({ payer: 1_900 }, { [receiving(0)]: 1_000 })
    chain.nowMs += hourMs
    await books.run(chain)
    assert.deepEqual([books.keys, books.withdrawn], [[second], [first]])
    chain.drop(second)
    chain.nowMs += hourMs
    await books.run(chain)
    assert.deepEqual([books.keys, books.withdrawn], [[], [first, second]])
  })

  it('leaves no duplicate and no ghost when its block is replaced', async () => {
    const chain = new TestChain()
    const books = new Books()
    const moved = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 899_999)
    const lost = chain.pay({ payer: 3_000 }, { [receiving(1)]: 2_000 }, 900_000)
    assert.equal(await books.run(chain), '0.00003')
    chain.drop(lost)
    chain.mine(moved, 900_001)
    chain.tip = 900_002
    chain.nowMs += hourMs
    assert.equal(await books.run(chain), '0.00001')
    assert.deepEqual([books.keys, books.withdrawn], [[moved], [lost]])
    assert.match(books.records.get(moved)?.body ?? '', /"block_height":900001/)
  })

  for (const depth of [10, replaceableDepth - 2]) {
    it(`leaves no duplicate and no ghost when ${depth} blocks are replaced that were taken for final`, async () => {
      const chain = new TestChain()
      const books = new Books()
      const height = 900_001 - depth
      const deep = chain.pay({ payer: 9_000 }, { [receiving(0)]: 8_000 }, height - replaceableDepth)
      const [moved, dropped, waiting] = [0, 1, 2].map((index) =>
        chain.pay({ payer: 2_000 }, { [receiving(index)]: 1_000 }, height),
      ) as [string, string, string]
      const spent = chain.pay({ [receiving(0)]: 8_000 }, { shop: 7_000 }, height)
      assert.equal(await books.run(chain), '0.00003')
      assert.deepEqual([books.isPending(moved), books.isPending(spent)], [false, false])
      // Another branch has won. It has one of them in another block, and instead of two others payments of the same
      // amount.
      for (const gone of [dropped, spent]) chain.drop(gone)
      chain.mine(moved, height + 1)
      chain.unmine(waiting)
      const twin = chain.pay({ other: 2_000 }, { [receiving(1)]: 1_000 }, height + 2)
      chain.tip += 1
      chain.branch += 1
      chain.nowMs += hourMs
      await books.run(chain)
      assert.deepEqual([books.keys, books.withdrawn.toSorted()], [keysOf(chain), [dropped, spent].toSorted()])
      assert.deepEqual(
        [deep, moved, waiting, twin].map((txid) => books.isPending(txid)),
        [false, false, true, false],
      )
      // The spent amount is back, although its address counted as emptied.
      chain.nowMs += hourMs
      assert.equal(await books.run(chain), '0.0001')
      assert.deepEqual(books.keys, keysOf(chain))
    })
  }

  it('costs one request a run for all confirmed ones, while no block is replaced', async () => {
    const chain = new TestChain()
    const books = new Books()
    for (let index = 0; index < 20; index += 1) chain.pay({ payer: 2 }, { [receiving(index)]: 1 }, 899_910 + index)
    await books.run(chain)
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain)
    assert.equal(countOf(chain, /\/tx/), 1)
  })
})

describe('a server', () => {
  const faults: [string, () => Response, string, string?][] = [
    ['HTTP 429', () => new Response('slow down', { status: 429 }), 'rate_limited'],
    ['HTTP 503', () => new Response('', { status: 503 }), 'venue_down'],
    ['half of the JSON', () => new Response('{"chain_stats":{'), 'unreadable_answer'],
    ['another form', () => Response.json({ chain_stats: {} }), 'unreadable_answer'],
    ['HTTP 400 of its own', () => new Response('RPC error', { status: 400 }), 'unreadable_answer'],
    ['HTTP 400 of a gateway', () => new Response('<html>400 Bad Request</html>', { status: 400 }), 'venue_down'],
    [
      'an address that it cannot read',
      () => new Response('Invalid Bitcoin address', { status: 400 }),
      ...(['unreadable_answer', 'invalid_credentials'] as const),
    ],
  ]
  for (const [name, answer, fault, refusal = fault] of faults) {
    const outcome = refusal === fault ? fault : `${refusal} for a new wallet and ${fault} afterwards`
    it(`that answers with ${name} is ${outcome}, and the error names no address`, async () => {
      const chain = new TestChain()
      chain.broken = answer
      const reader = chain.open()
      for (const [ask, expected] of [
        [() => reader.verify(), refusal],
        [() => reader.fetchBalances({}), fault],
      ] as const) {
        await assert.rejects(ask(), (error) => {
          assert.ok(error instanceof SourceError)
          assert.equal(error.fault, expected)
          assert.ok(!error.message.includes(receiving(0)))
          return true
        })
      }
    })
  }

  it('that allows a few calls an hour is asked for each address of a wallet once, however long that takes', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 100; index += 1) chain.pay({ payer: 2_000 }, { [receiving(index)]: 1_000 }, 800_000)
    chain.broken = () => {
      chain.nowMs += 5 * 60_000
      return chain.asked.length > 1_000 ? new Response('', { status: 503 }) : chain.answerLast()
    }
    assert.equal(await new Books().readBalance(chain.open()), '0.001')
    assert.equal(chain.asked.length, 100 + 2 * gapLimit)
    assert.ok(chain.nowMs - startMs > 10 * hourMs)
  })

  it('that is asked again after five hours continues the round, and begins another one after seven', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) chain.pay({ payer: 200 }, { [receiving(index)]: 100 }, 800_000)
    const books = new Books()
    /** The index of the first address that the next batch asks for. */
    const readBatchAfter = async (pauseMs: number): Promise<number> => {
      chain.nowMs += pauseMs
      chain.asked = []
      const { isPartial, state } = await chain.open().fetchBalances(books.state)
      assert.equal(isPartial, true)
      books.state = state ?? books.state
      return Array.from({ length: 60 }, (_, index) => `/address/${receiving(index)}`).indexOf(chain.asked[0] ?? '')
    }
    assert.equal(await readBatchAfter(0), 0)
    assert.equal(await readBatchAfter(5 * hourMs), 20)
    assert.equal(await readBatchAfter(5 * hourMs), 40)
    assert.equal(await readBatchAfter(7 * hourMs), 0)
  })

  it('that loses one answer in a batch is asked again from there, and not for those before it', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(3)]: 1_000 }, 800_000)
    const reader = chain.open()
    // The eighth address of the first batch.
    chain.broken = () => (chain.asked.length === 8 ? new Response('', { status: 503 }) : chain.answerLast())
    const first = await reader.fetchBalances({})
    assert.equal(first.isPartial, true)
    chain.broken = undefined
    chain.asked = []
    const books = new Books()
    books.state = first.state ?? {}
    assert.equal(await books.readBalance(reader), '0.00001')
    // Twenty behind the fourth address, without the seven that are known, and the twenty of change.
    assert.equal(chain.asked.length, 4 + gapLimit - 7 + gapLimit)
  })

  it('that says 429 in a batch is not asked on, whatever it answered before', async () => {
    const chain = new TestChain()
    chain.broken = () => (chain.asked.length === 8 ? new Response('', { status: 429 }) : chain.answerLast())
    await assert.rejects(chain.open().fetchBalances({}), (error) => {
      assert.ok(error instanceof SourceError)
      return error.fault === 'rate_limited'
    })
    assert.ok(chain.asked.length <= 10)
  })

  it('that gives many more transactions than a page has is not read on', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    const reader = chain.open()
    const books = new Books()
    await books.readBalance(reader)
    const page = JSON.stringify(Array.from({ length: 10_001 }, () => chain.transactions[0]))
    chain.broken = () => (chain.asked.at(-1)?.endsWith('/txs') === true ? new Response(page) : chain.answerLast())
    await assert.rejects(books.readWindow(reader, 0, chain.nowMs), (error) => {
      assert.ok(error instanceof SourceError)
      return error.fault === 'unreadable_answer'
    })
  })

  it('that fails in the middle of a wallet loses one batch, and the next call continues after the others', async () => {
    const chain = new TestChain()
    const reader = chain.open()
    const first = await reader.fetchBalances({})
    assert.equal(first.isPartial, true)
    chain.broken = () => new Response('', { status: 503 })
    await assert.rejects(reader.fetchBalances(first.state ?? {}))
    chain.broken = undefined
    chain.asked = []
    const second = await chain.open().fetchBalances(first.state ?? {})
    assert.equal(second.isPartial, undefined)
    assert.equal(chain.asked.length, gapLimit)
  })
})
