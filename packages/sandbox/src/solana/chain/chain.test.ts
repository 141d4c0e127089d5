import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defaultStory } from '../../scenarios/solana/default.ts'
import { oddStory } from '../../scenarios/solana/index.ts'
import { fromBase58, toBase58 } from './addresses.ts'
import { stakeProgram } from './programs.ts'
import { commitmentOf, epochOf, heightOf, isSkipped, newestSlot, slotAt, timeOf } from './slots.ts'
import { token2022Program, tokenProgram } from './tokens.ts'
import { openWorld, type Wallet, type World } from '../world.ts'

const nativeMints = new Set<string>([
  'So11111111111111111111111111111111111111112',
  '9pan9bMn5HatX4EJdBwg9VgCa7Uz5HL8N1m5D3NdXejP',
])
const nowMs = Date.UTC(2026, 10, 15)

function open(now: () => number = () => nowMs): World {
  return openWorld({ seed: 'test seed', nowMs: now, note: () => undefined })
}

function signaturesOf(world: World, { actors }: Wallet): string[] {
  return world.chain.history.listOf(actors.self.address).map(({ signature }) => signature)
}

describe('the chain', () => {
  it('has the same state of every account as the virtual machine', async () => {
    const world = open()
    const wallet = await world.ensureWallet('solana.default.1', defaultStory())
    const programs = [tokenProgram, token2022Program, stakeProgram]
    const listed = programs.flatMap((program) => world.chain.listOwned(program))
    assert.ok(listed.length > 20)
    for (const address of [wallet.actors.self.address, ...listed]) {
      const held = world.chain.svm.getAccount(address)
      const known = world.chain.findAccount(address)
      assert.equal(known?.lamports ?? 0n, held.exists ? held.lamports : 0n, address)
      if (known !== undefined && held.exists) assert.deepEqual(known.data, held.data, address)
    }
    // Nothing of these programs is left out.
    for (const program of programs) {
      const owned = world.chain.svm.getProgramAccounts(program).filter(({ lamports }) => lamports > 0n)
      const found = world.chain.listOwned(program)
      // The mints of wrapped SOL are part of the machine.
      const unknown = owned.map(({ address }) => address).filter((address) => !found.includes(address))
      assert.deepEqual(new Set(unknown).difference(nativeMints), new Set())
    }
  })

  it('writes a history with the same signatures, whatever was written before', async () => {
    const [one, other] = [open(), open()]
    const first = await one.ensureWallet('solana.odd.1', oddStory())
    await other.ensureWallet('solana.odd.2', oddStory())
    const again = await other.ensureWallet('solana.odd.1', oddStory())
    assert.deepEqual(signaturesOf(other, again), signaturesOf(one, first))
    assert.ok(signaturesOf(one, first).length > 5)
  })

  it('leaves out events in the future', async () => {
    const world = open(() => Date.UTC(2026, 0, 7, 12))
    const wallet = await world.ensureWallet('solana.odd.1', oddStory())
    const self = wallet.actors.self.address
    const times = world.chain.history.listOf(self).map(({ slot }) => new Date(timeOf(slot) * 1_000).toISOString())
    assert.deepEqual(times, ['2026-01-05T10:00:00.000Z', '2026-01-06T10:00:00.000Z'])
  })

  it('pays the rewards of epochs that pass while it runs, and shows them from their slot on', async () => {
    let now = nowMs
    const world = open(() => now)
    await world.ensureWallet('solana.default.1', defaultStory())
    const [stake] = world.chain.listOwned(stakeProgram).filter((one) => world.chain.findAccount(one) !== undefined)
    assert.ok(stake)
    const before = world.rewards.listOf(stake).length
    const epoch = epochOf(newestSlot(now))
    now += 2 * 86_400_000
    world.advance()
    const [{ reward } = {}, ...more] = world.rewards.listOf(stake).slice(before)
    assert.ok(reward)
    assert.equal(more.length, 0)
    assert.equal(reward.epoch, epoch)
    assert.equal(world.chain.findAccount(stake)?.lamports, reward.postBalance)
  })
})

describe('the calendar', () => {
  it('puts a second into a slot of that second that has a block', () => {
    for (let second = 1_700_000_000; second < 1_700_000_100; second += 1) {
      const slot = slotAt(second)
      assert.equal(timeOf(slot), second)
      assert.equal(isSkipped(slot), false)
    }
  })

  it('counts blocks, not slots', () => {
    const [from, to] = [500_000_000, 500_000_100]
    const skipped = Array.from({ length: to - from }, (_, index) => from + 1 + index).filter(isSkipped).length
    assert.equal(skipped, 4)
    assert.equal(heightOf(to) - heightOf(from), to - from - skipped)
  })

  it('finalises a slot 32 slots later', () => {
    const slot = newestSlot(nowMs)
    assert.equal(commitmentOf(slot, nowMs), 'processed')
    assert.equal(commitmentOf(slot, nowMs + 1_200), 'confirmed')
    assert.equal(commitmentOf(slot, nowMs + 32 * 400), 'finalized')
    assert.equal(commitmentOf(slot + 2, nowMs), undefined)
  })
})

describe('base58', () => {
  it('writes and reads known addresses', () => {
    // https://datatracker.ietf.org/doc/html/draft-msporny-base58-03, section 5
    assert.equal(toBase58(Buffer.from('Hello World!')), '2NEpo7TZRRrLZSi2U')
    assert.equal(toBase58(Buffer.from('0000287fb4cd', 'hex')), '11233QC4')
    assert.deepEqual(fromBase58('11233QC4'), Buffer.from('0000287fb4cd', 'hex'))
    assert.equal(toBase58(Buffer.alloc(32)), '1'.repeat(32))
    assert.deepEqual(fromBase58('1'.repeat(32)), Buffer.alloc(32))
    assert.equal(fromBase58('0OIl'), undefined)
  })
})
