import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { createChain, type Block, type Chain } from './chain.ts'

const minutes = 60_000
const startMs = Date.UTC(2024, 9, 1)

function openChain(untilMs: number, seed = 'a seed'): Chain {
  const chain = createChain(seed)
  chain.advance(untilMs)
  return chain
}

function blockAt(chain: Chain, height: number): Block {
  const block = chain.find(chain.hashAt(height) ?? '')
  assert.ok(block !== undefined)
  return block
}

/** https://developer.bitcoin.org/reference/block_chain.html#block-headers */
function headerOf(block: Block): Buffer {
  const header = Buffer.alloc(80)
  header.writeUInt32LE(block.version)
  Buffer.from(block.previousHash ?? '00'.repeat(32), 'hex')
    .reverse()
    .copy(header, 4)
  Buffer.from(block.merkleRoot, 'hex').reverse().copy(header, 36)
  header.writeUInt32LE(block.time, 68)
  header.writeUInt32LE(block.bits, 72)
  header.writeUInt32LE(block.nonce, 76)
  return header
}

function hashOf(header: Buffer): string {
  const once = createHash('sha256').update(header).digest()
  return createHash('sha256').update(once).digest().reverse().toString('hex')
}

describe('the chain', () => {
  it('links blocks by the double hash of their headers, each below the target it states', () => {
    const chain = openChain(startMs + 300 * 10 * minutes)
    let previous: string | undefined
    for (let height = chain.firstHeight; height <= chain.tipHeight(); height += 1) {
      const block = blockAt(chain, height)
      assert.deepEqual([block.height, block.previousHash], [height, previous])
      previous = hashOf(headerOf(block))
      assert.equal(block.hash, previous)
      const target = BigInt(block.bits & 0xffffff) << BigInt(8 * ((block.bits >>> 24) - 3))
      assert.ok(BigInt(`0x${previous}`) <= target)
      assert.ok(block.medianTime <= block.time)
    }
  })

  it('grows with the clock by a block about every ten minutes, never one of the future', () => {
    const untilMs = startMs + 1_000 * 10 * minutes
    const chain = openChain(untilMs)
    const count = chain.tipHeight() - chain.firstHeight + 1
    assert.ok(count === 1_000 || count === 1_001, String(count))
    for (let height = chain.firstHeight + 1; height <= chain.tipHeight(); height += 1) {
      assert.ok(chain.timeAt(height) > chain.timeAt(height - 1))
    }
    assert.ok(chain.timeAt(chain.tipHeight()) * 1_000 <= untilMs)
    const before = chain.hashAt(chain.tipHeight())
    chain.advance(untilMs + 60 * minutes)
    assert.equal(chain.tipHeight(), chain.firstHeight + count + 5)
    assert.equal(chain.hashAt(chain.firstHeight + count - 1), before)
  })

  it('is the same for the same seed, in whatever order it is queried, and differs for another seed', () => {
    const once = openChain(startMs + 7_000 * minutes)
    // The hashes of some seeds are remembered, and `steps` has to compute its own.
    const [other] = Array.from({ length: 8 }, (_, index) => openChain(startMs, `other ${index}`))
    const steps = openChain(startMs)
    for (let ms = startMs; ms <= startMs + 7_000 * minutes; ms += 100 * minutes) {
      steps.advance(ms)
      steps.hashAt(steps.tipHeight())
    }
    assert.equal(steps.hashAt(steps.tipHeight()), once.hashAt(once.tipHeight()))
    assert.notEqual(other?.hashAt(once.firstHeight), once.hashAt(once.firstHeight))
  })

  it('of a seed is not changed by what another chain of that seed replaces or takes by hand', () => {
    const untilMs = startMs + 500 * minutes
    const [still, replaced, longer] = [openChain(untilMs), openChain(untilMs), openChain(untilMs)]
    const list = (chain: Chain): (string | undefined)[] =>
      Array.from({ length: chain.tipHeight() - chain.firstHeight + 1 }, (_, index) =>
        chain.hashAt(chain.firstHeight + index),
      )
    const before = list(still)
    replaced.replace(replaced.firstHeight + 10)
    longer.mine(untilMs)
    assert.deepEqual(list(replaced).slice(0, 10), before.slice(0, 10))
    assert.notEqual(list(replaced)[10], before[10])
    assert.deepEqual(list(longer).slice(0, -1), before)
    still.advance(untilMs + 60 * minutes)
    assert.deepEqual(list(still).slice(0, before.length), before)
    assert.deepEqual(list(still), list(openChain(untilMs + 60 * minutes)))
    for (const chain of [still, replaced, longer]) {
      for (let height = chain.firstHeight + 1; height <= chain.tipHeight(); height += 1) {
        const block = blockAt(chain, height)
        assert.deepEqual([block.previousHash, block.hash], [chain.hashAt(height - 1), hashOf(headerOf(block))])
        assert.equal(block.hash, chain.hashAt(height))
      }
    }
  })

  it('finds the first block at or after a time, or none yet', () => {
    const chain = openChain(startMs + 500 * minutes)
    const height = chain.firstHeight + 20
    assert.equal(chain.heightAtOrAfter(chain.timeAt(height)), height)
    assert.equal(chain.heightAtOrAfter(chain.timeAt(height) + 1), height + 1)
    assert.equal(chain.heightAtOrAfter(chain.timeAt(chain.tipHeight()) + 1), undefined)
  })

  it('replaces a block and those above it, and still finds what was replaced', () => {
    const chain = openChain(startMs + 500 * minutes)
    const height = chain.tipHeight() - 1
    const [below, gone, tip] = [height - 1, height, height + 1].map((one) => chain.hashAt(one))
    chain.replace(height)
    assert.equal(chain.hashAt(height - 1), below)
    assert.notEqual(chain.hashAt(height), gone)
    assert.notEqual(chain.hashAt(height + 1), tip)
    const block = blockAt(chain, height)
    assert.deepEqual([block.previousHash, hashOf(headerOf(block))], [below, block.hash])
    assert.equal(blockAt(chain, height + 1).previousHash, block.hash)
    assert.deepEqual([chain.find(gone ?? '')?.height, chain.find(tip ?? '')?.previousHash], [height, gone])
    assert.equal(chain.find('ab'.repeat(32)), undefined)
  })

  it('takes a block by hand, and continues by the clock afterwards', () => {
    const chain = openChain(startMs + 500 * minutes)
    const height = chain.mine(startMs + 500 * minutes)
    assert.equal(chain.tipHeight(), height)
    assert.equal(blockAt(chain, height).previousHash, chain.hashAt(height - 1))
    chain.advance(startMs + 520 * minutes)
    assert.ok(chain.tipHeight() > height)
    assert.ok(chain.timeAt(height + 1) > chain.timeAt(height))
  })
})
