/** The lists of addresses, read from a small chain of our own (test-chain.ts). */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hourMs, minuteMs, SourceError } from '@assay/core'
import type { Page } from '../kit/connector.ts'
import { connector } from './connector.ts'
import { gapLimit } from './definition.ts'
import { Books, countOf, keysOf, receiving, startMs, TestChain } from './test-chain.ts'

/** How long the server is not to be asked again after a hole. Undefined: the engine's own pauses are enough. */
async function findPauseMs(reading: Promise<unknown>): Promise<number | undefined> {
  const error: unknown = await reading.then(
    () => assert.fail('not a hole'),
    (fault: unknown) => fault,
  )
  assert.ok(error instanceof SourceError)
  assert.equal(error.fault, 'data_hole')
  return error.retryAfterMs
}

describe('a history', () => {
  const single = { address: receiving(0) }

  it('of several pages is read to its end, and the rest of it from where the last weeks ended', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 130; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 880_000 + index * 150)
    }
    const books = new Books()
    const reader = chain.open(single)
    const edge = startMs - 40 * 24 * hourMs
    await books.run(chain, reader, edge)
    const [recent, asked] = [books.keys.length, countOf(chain, /\/txs/)]
    assert.ok(recent > 25 && recent < 130)
    await books.readWindow(reader, 0, edge)
    assert.deepEqual(books.keys, keysOf(chain))
    // 130 transactions make six pages, and none was requested twice.
    assert.deepEqual([asked < 6, countOf(chain, /\/txs/)], [true, 6])
  })

  it('is read again only down to what is known', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 100; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000 + index)
    }
    const books = new Books()
    await books.run(chain, chain.open(single))
    chain.asked = []
    chain.nowMs += hourMs
    for (let index = 0; index < 30; index += 1) chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 890_000 + index)
    await books.run(chain, chain.open(single))
    assert.deepEqual(books.keys, keysOf(chain))
    assert.equal(countOf(chain, /\/txs/), 2)
  })

  for (const [name, before] of [
    ['that was used before', 30],
    ['of a few days', 3],
    ['that was never used', 0],
  ] as const) {
    it(`of an address ${name} gets a payment that was in the sums before it was in the list`, async () => {
      const chain = new TestChain()
      for (let index = 0; index < before; index += 1) {
        chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, before === 30 ? 800_000 + index : 899_998)
      }
      const books = new Books()
      await books.run(chain, chain.open(single))
      chain.listed = structuredClone(chain.transactions)
      const paid = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 900_000)
      chain.nowMs += hourMs
      await books.run(chain, chain.open(single))
      assert.ok(!books.records.has(paid))
      chain.listed = undefined
      chain.nowMs += hourMs
      await books.run(chain, chain.open(single))
      assert.deepEqual(books.keys, keysOf(chain))
      // From then on the address is read.
      chain.asked = []
      chain.nowMs += hourMs
      await books.run(chain, chain.open(single))
      assert.equal(countOf(chain, /\/txs/), 0)
    })
  }

  it('is read again when the list has as many payments in blocks as the sums, but another one', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    const books = new Books()
    await books.run(chain, chain.open(single))
    // The tip of the server that lists has another block than the one that counts.
    const other = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_200 }, 900_000)
    chain.listed = structuredClone(chain.transactions)
    chain.unmine(other)
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 900_000)
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single))
    assert.equal(books.keys.length, 2)
    chain.listed = undefined
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single))
    assert.deepEqual(books.keys, keysOf(chain))
  })

  it('whose rest is read later has a payment that the newest list lacked', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 880_000 + index * 300)
    }
    chain.listed = structuredClone(chain.transactions)
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 900_000)
    const books = new Books()
    const edge = startMs - 40 * 24 * hourMs
    await books.run(chain, chain.open(single), edge)
    await books.readWindow(chain.open(single), 0, edge)
    assert.equal(books.keys.length, 60)
    chain.listed = undefined
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single), edge)
    assert.deepEqual(books.keys, keysOf(chain))
  })

  it('of an address that is found late, behind a gap that closes, is read to its end', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(gapLimit + 5)]: 1_000 }, 850_000 + index * 160)
    }
    const books = new Books()
    await books.run(chain)
    assert.deepEqual(books.keys, [])
    chain.pay({ payer: 2_000 }, { [receiving(10)]: 1_000 }, 899_990)
    await books.runLater(chain, chain.open())
    assert.deepEqual(books.keys, keysOf(chain))
    chain.asked = []
    await books.runLater(chain, chain.open())
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  it('shows a known transaction as changed when another of its addresses is found late', async () => {
    const chain = new TestChain()
    const far = receiving(gapLimit + 5)
    chain.pay({ payer: 9_000 }, { [far]: 8_000 }, 850_000)
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 850_001)
    const txid = chain.pay({ [receiving(0)]: 1_000, [far]: 8_000 }, { stranger: 8_500 }, 850_002)
    const books = new Books()
    const outputOf = (): unknown => {
      const record = books.records.get(txid)
      assert.ok(record)
      const facts = { addresses: new Set(connector.ownAddresses?.(books.state)), state: books.state }
      const stored = { ...record, stream: 'transactions', partition: '' }
      return connector.toTransactions([stored], facts)[0]?.outputs[0]?.amount
    }
    await books.run(chain)
    const { body } = books.records.get(txid) ?? {}
    assert.equal(outputOf(), '0.00001')
    await books.runLater(chain, chain.open())
    assert.equal(books.records.get(txid)?.body, body, 'no more of its addresses are known')
    chain.pay({ payer: 2_000 }, { [receiving(10)]: 1_000 }, 899_990)
    await books.runLater(chain, chain.open())
    assert.equal(outputOf(), '0.000085')
    // The ledger derives a record again only if it has changed.
    assert.notEqual(books.records.get(txid)?.body, body)
  })

  it('of an address that is found late is read in parts, and its windows are holes until the last part', async () => {
    const chain = new TestChain()
    const books = new Books()
    await books.run(chain, chain.open(single))
    // The sums and the list of this address were empty, as on a server that rebuilds its index.
    const count = 6_000
    for (let index = 0; index < count; index += 1)
      chain.pay({ stranger: 700 }, { [receiving(0)]: 546 }, 800_000 + index)
    const tries: string[] = []
    do {
      tries.push(await books.tryLater(chain, chain.open(single)))
      assert.ok(books.keys.length >= Math.min(count, tries.length * 2_500))
    } while (tries.length < 5 && tries.at(-1) !== 'read')
    assert.deepEqual(tries, ['data_hole', 'data_hole', 'read'])
    assert.equal(books.keys.length, count)
    // Each page once, and one that ends the list: the number of transactions is a multiple of the page's.
    assert.equal(countOf(chain, /\/txs/), count / 25 + 1)
  })

  it('that continues over weeks of payments ends where its list ends', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 880_000 + index * 300)
    }
    const books = new Books()
    const edge = startMs - 40 * 24 * hourMs
    await books.run(chain, chain.open(single), edge)
    const paid = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_500 }, 900_000)
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single), startMs - 2 * hourMs)
    assert.ok(books.records.has(paid))
    await books.readWindow(chain.open(single), 0, edge)
    assert.deepEqual(books.keys, keysOf(chain))
    chain.asked = []
    await books.runLater(chain, chain.open(single))
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  for (const [name, firstHeight] of [
    ['in its middle', 800_000],
    ['at a block that may be replaced', 899_950],
  ] as const) {
    it(`that ends before its count ${name} is a hole, and is read to its end by the next try`, async () => {
      const chain = new TestChain()
      for (let index = 0; index < 150; index += 1) {
        chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, firstHeight + Math.floor(index / 4))
      }
      const books = new Books()
      chain.broken = () =>
        countOf(chain, /\/txs\/chain/) === 3 && /\/txs\/chain/.test(chain.asked.at(-1) ?? '')
          ? Response.json([])
          : chain.answerLast()
      assert.equal(await books.tryRun(chain, chain.open(single), 0), 'data_hole')
      assert.equal(books.keys.length, 75)
      chain.broken = undefined
      chain.asked = []
      await books.readWindow(chain.open(single), 0, chain.nowMs)
      assert.deepEqual(books.keys, keysOf(chain))
      // A settled place is not lost: the newest page is read again, and the three that are missing.
      if (firstHeight === 800_000) assert.ok(countOf(chain, /\/txs/) <= 5, `${countOf(chain, /\/txs/)} pages`)
    })
  }

  it('whose list never has what its count has is a hole for a day, and then costs few requests', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 50; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000 + index)
    }
    chain.listed = structuredClone(chain.transactions)
    const unlisted = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 799_000)
    const books = new Books()
    assert.equal(await books.tryRun(chain, chain.open(single), 0), 'data_hole')
    assert.equal(await books.tryRun(chain, chain.open(single), 0), 'data_hole')
    chain.nowMs += 24 * hourMs
    assert.equal(await books.tryRun(chain, chain.open(single), 0), 'read')
    chain.asked = []
    const days = 64
    for (let day = 0; day < days; day += 1) assert.equal(await books.tryLater(chain, chain.open(single)), 'read')
    // One page a day, and the two others again after 1, 2, 4, … days.
    assert.ok(countOf(chain, /\/txs/) < days + 3 * Math.log2(days), `${countOf(chain, /\/txs/)} pages`)
    chain.listed = undefined
    for (let day = 0; day < 2 * days; day += 1) await books.runLater(chain, chain.open(single))
    assert.ok(books.records.has(unlisted))
    chain.asked = []
    await books.runLater(chain, chain.open(single))
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  it('that ends before its count is requested after growing pauses, counted from the youngest doubt', async () => {
    const chain = new TestChain()
    const reader = chain.open()
    const books = new Books()
    const unlisted = new Set<string>()
    /** The address has two full pages, and one transaction more that the list lacks. */
    const addAddress = (index: number): void => {
      for (let row = 0; row < 50; row += 1) chain.pay({ payer: 2_000 }, { [receiving(index)]: 1_000 }, 800_000 + row)
      unlisted.add(chain.pay({ payer: 2_000 }, { [receiving(index)]: 1_000 }, 799_000))
      chain.listed = chain.transactions.filter(({ txid }) => !unlisted.has(txid))
    }
    const pauseAfter = async (laterMs: number): Promise<number | undefined> => {
      chain.nowMs += laterMs
      return findPauseMs(books.run(chain, reader))
    }
    addAddress(0)
    assert.equal(await pauseAfter(0), undefined)
    assert.equal(await pauseAfter(30 * minuteMs), 30 * minuteMs)
    assert.equal(await pauseAfter(4 * hourMs), hourMs)
    addAddress(1)
    assert.equal(await pauseAfter(hourMs), undefined)
    assert.equal(await pauseAfter(20 * minuteMs), 20 * minuteMs)
  })

  it('that ended before its count asks for no pause when another walk has read it meanwhile', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 150; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000 + index)
    }
    const books = new Books()
    const reader = chain.open(single)
    await books.readBalance(reader)
    chain.broken = () =>
      countOf(chain, /\/txs\/chain/) === 3 && /\/txs\/chain/.test(chain.asked.at(-1) ?? '')
        ? Response.json([])
        : chain.answerLast()
    const window = { unit: 'ms' as const, start: 0, end: chain.nowMs }
    const request = { stream: 'transactions', partition: '', window, lastingMark: null }
    let pageMark: string | null = null
    do {
      const page: Page = await reader.fetchPage({ ...request, pageMark, state: books.state })
      ;[pageMark, books.state] = [page.next, page.state ?? books.state]
      assert.ok(pageMark !== null)
    } while (!pageMark.includes('"isCut":true'))
    await books.readWindow(reader, 0, chain.nowMs)
    assert.equal(await findPauseMs(reader.fetchPage({ ...request, pageMark, state: books.state })), undefined)
  })

  it('agrees with its sums when a newer window is read before an older one continues', async () => {
    const chain = new TestChain()
    const payAt = (height: number): string => chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, height)
    for (let index = 0; index < 30; index += 1) payAt(800_000 + index)
    const books = new Books()
    await books.run(chain, chain.open(single))
    for (let index = 0; index < 60; index += 1) payAt(890_000 + index)
    chain.nowMs += hourMs
    await books.readBalance(chain.open(single))
    const window = { unit: 'ms' as const, start: chain.nowMs - 3 * hourMs, end: chain.nowMs }
    const request = { stream: 'transactions', partition: '', window, lastingMark: null }
    const first = await chain.open(single).fetchPage({ ...request, pageMark: null, state: books.state })
    assert.ok(first.next !== null)
    books.state = first.state ?? books.state
    await books.runLater(chain, chain.open(single), hourMs)
    assert.deepEqual(books.keys, keysOf(chain))
    const rest = await chain.open(single).fetchPage({ ...request, pageMark: first.next, state: books.state })
    assert.deepEqual([rest.records, rest.next], [[], null])
    books.state = rest.state ?? books.state
    payAt(895_000)
    await books.runLater(chain, chain.open(single), hourMs)
    assert.deepEqual(books.keys, keysOf(chain))
    chain.asked = []
    await books.runLater(chain, chain.open(single), hourMs)
    assert.equal(countOf(chain, /\/txs/), 0)
  })

  it('that lacked a payment in its middle is read again as a whole', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000 + index)
    }
    chain.listed = chain.transactions.toSpliced(30, 1)
    const books = new Books()
    await books.run(chain, chain.open(single))
    assert.equal(books.keys.length, 59)
    chain.listed = undefined
    for (let run = 0; run < 2; run += 1) await books.runLater(chain, chain.open(single))
    assert.deepEqual(books.keys, keysOf(chain))
  })

  it('of a busy address is not read again as a whole, however often its list is ahead of its sums', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 200; index += 1) {
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000 + index)
    }
    const books = new Books()
    await books.run(chain, chain.open(single))
    chain.asked = []
    for (let day = 1; day <= 20; day += 1) {
      chain.nowMs += 24 * hourMs
      await books.readBalance(chain.open(single))
      chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 880_000 + day)
      await books.readWindow(chain.open(single), chain.nowMs - 26 * hourMs, chain.nowMs)
    }
    assert.deepEqual(books.keys, keysOf(chain))
    assert.equal(countOf(chain, /\/txs/), 19)
  })

  it('of five hundred addresses costs requests for its activity, not for its length', async () => {
    const chain = new TestChain()
    const used = 500
    const payments = 10
    for (let index = 0; index < used; index += 1) chain.pay({ payer: 2 }, { [receiving(index)]: 1 }, 800_000)
    // Everything except the last ten has been spent.
    const spent = Object.fromEntries(Array.from({ length: used - payments }, (_, index) => [receiving(index), 1]))
    chain.pay(spent, { shop: 1 }, 800_001)
    const books = new Books()
    await books.run(chain)
    assert.deepEqual(books.keys, keysOf(chain))
    const isList = /\/txs/
    // Each address with a history is asked for it once; the unused ones behind the last are asked for a balance alone.
    assert.deepEqual([countOf(chain, isList), countOf(chain, /^\/address\/[^/]+$/)], [used, used + 2 * gapLimit])

    // An hour later only funded and unused addresses are queried, whatever came before them.
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain)
    assert.deepEqual([countOf(chain, isList), countOf(chain, /^\/address\/[^/]+$/)], [0, payments + 2 * gapLimit])

    // One payment costs the history of one more address.
    const paid = chain.pay({ payer: 2 }, { [receiving(used)]: 1 }, 900_000)
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain)
    assert.ok(books.records.has(paid))
    assert.deepEqual([countOf(chain, isList), countOf(chain, /^\/address\/[^/]+$/)], [1, payments + 1 + 2 * gapLimit])
  })

  it('asks for nothing but the addresses when nothing has changed', async () => {
    const chain = new TestChain()
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    const books = new Books()
    await books.run(chain, chain.open(single))
    chain.asked = []
    chain.nowMs += hourMs
    await books.run(chain, chain.open(single))
    assert.deepEqual(chain.asked, [`/address/${receiving(0)}`])
  })

  it('is read when strangers pay with inscriptions of the largest size that nodes relay', async () => {
    const chain = new TestChain()
    for (let index = 0; index < 60; index += 1) {
      chain.pay({ stranger: 2_000 }, { [receiving(0)]: 546 }, 800_000 + index)
    }
    const script = 'ab'.repeat(390_000)
    const asm = `OP_PUSHBYTES_32 ${script} OP_CHECKSIG OP_0 OP_IF OP_PUSHBYTES_3 6f7264`
    for (const { vin } of chain.transactions.slice(10, 40)) {
      for (const input of vin)
        Object.assign(input, { witness: ['00'.repeat(64), script], inner_witnessscript_asm: asm })
    }
    const books = new Books()
    assert.equal(await books.run(chain, chain.open(single)), '0.0003276')
    assert.deepEqual(books.keys, keysOf(chain))
    assert.ok([...books.records.values()].every(({ body, unreadable }) => body.length < 1_000 && !unreadable))
  })

  it('keeps a transaction that cannot be read, and continues', async () => {
    const chain = new TestChain()
    const odd = chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_000)
    chain.pay({ payer: 2_000 }, { [receiving(0)]: 1_000 }, 800_001)
    Object.assign(chain.transactions[0] ?? {}, { fee: 'much' })
    const books = new Books()
    await books.run(chain, chain.open(single))
    assert.deepEqual(books.keys, keysOf(chain))
    assert.match(books.records.get(odd)?.unreadable ?? '', /fee/)
  })
})
