/** When a stake account is the wallet's: strangers hand accounts over, and hide how. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { base58 } from '@scure/base'
import { type TransactionDraft } from '@assay/core'
import type { ConnectorState } from '../kit/connector.ts'
import { friend, wallet } from './test-node.ts'
import {
  stakeProgram,
  World,
  events,
  payEpoch,
  stake,
  withdraw,
  handOver,
  split,
  merge,
  tip,
  readAll,
  addUp,
} from './test-world.ts'

describe('a stake account that changes hands', () => {
  const sol = 1_000_000_000n
  const funding = 'receive deposit +50 SOL'

  /** In order of time, without what the first transaction of the world gave the wallet. */
  async function tell(world: World, more: Parameters<typeof readAll>[1] = {}): Promise<string[]> {
    const { drafts, balances } = await readAll(world.observe(), more)
    assert.deepEqual(addUp(drafts), balances)
    const say = (sign: string, legs: TransactionDraft['inputs']): string[] =>
      legs.map(({ amount, place }) => `${sign}${amount} ${place === 'staked' ? 'staked' : 'SOL'}`)
    const lines = drafts
      .toSorted((a, b) => a.occurredAtMs - b.occurredAtMs)
      .map(({ type, category, inputs, outputs }) =>
        [type, category, ...say('+', inputs), ...say('-', outputs)].join(' '),
      )
    assert.equal(lines[0], funding)
    return lines.slice(1)
  }

  function takeOut(world: World, name: string, amount: bigint): void {
    const { withdrawer = '' } = world.accounts.get(name) ?? {}
    world.transact([withdrawer, name], () => world.lamports(name, -amount) && world.lamports(withdrawer, amount), [
      { ...stakeProgram, parsed: { type: 'withdraw', info: { stakeAccount: name, withdrawAuthority: withdrawer } } },
    ])
  }

  /** A stranger's account with a past: SOL that came and went, and the rewards of two epochs. */
  function liveElsewhere(world: World): void {
    stake(world, 'Stake 1', friend, 700n * sol)
    events['an epoch paid']?.(world, 5n * sol, 1)
    tip(world, 'Stake 1', 3n * sol)
    takeOut(world, 'Stake 1', 600n * sol)
    events['an epoch paid']?.(world, 4n * sol, 1)
  }

  for (const edgeMs of [0, 1_700_500_000_000, 1_759_000_000_000]) {
    it(`counts from then on with the balance that it had, whatever its past (since ${edgeMs})`, async () => {
      const world = new World()
      liveElsewhere(world)
      handOver(world, 'Stake 1')
      tip(world, 'Stake 1', sol)
      events['an epoch paid']?.(world, 2n * sol, 1)
      assert.deepEqual(await tell(world, { edgeMs }), [
        'receive deposit +112 staked',
        'input_only staking_reward +1 staked',
        'input_only staking_reward +2 staked',
      ])
    })
  }

  for (const repeated of [1, 3]) {
    it(`counts for as long as it was the wallet’s at a node that lists ${repeated} again on each page`, async () => {
      const world = new World()
      world.node.repeated = repeated
      stake(world, 'Stake 1', wallet, 12n * sol)
      for (let count = 0; count < 25; count += 1) tip(world, 'Stake 1', sol)
      handOver(world, 'Stake 1')
      const lines = await tell(world)
      const tips = lines.slice(1, -1)
      assert.deepEqual(tips, Array(25).fill('input_only staking_reward +1 staked'))
      assert.deepEqual(
        [lines[0], lines.at(-1)],
        ['input_and_output staking_lock +12 staked -12 SOL', 'send withdrawal -37 staked'],
      )
    })
  }

  it('is left out when the one who stakes with it ends it and begins it again without an end', async () => {
    const world = new World()
    stake(world, 'Stake 1', friend, 7n * sol)
    handOver(world, 'Stake 1')
    const bounce = (times: number): void => {
      for (let count = 0; count < times; count += 1) {
        split(world, 'Stake 1', 'Split 1', sol)
        merge(world, 'Stake 1', 'Split 1')
      }
    }
    bounce(3)
    split(world, 'Stake 1', 'Split 1', sol)
    let state: ConnectorState | undefined
    const sizes: number[] = []
    for (const times of [0, 5, 200, 1]) {
      if (times > 0) merge(world, 'Stake 1', 'Split 1')
      bounce(times)
      if (times > 0) split(world, 'Stake 1', 'Split 1', sol)
      const { node } = world
      node.stakes.clear()
      const read = await readAll(world.observe(), state && { given: state })
      state = read.state
      sizes.push(JSON.stringify(state).length)
      const again = await readAll(world.observe(), { given: state })
      assert.deepEqual(addUp(again.drafts), again.balances)
      assert.deepEqual(again.corrected, [], 'what was known of it stays')
    }
    assert.ok(Math.max(...sizes) < 6_000, `${sizes.join()} characters`)
  })

  it('counts when the one who stakes with it ends it often, and is a hole beyond the limit, if the wallet signed for it', async () => {
    const world = new World()
    for (const name of ['Stake 1', 'Stake 2']) stake(world, name, wallet, 7n * sol)
    const bounce = (times: number): void => {
      for (let count = 0; count < times; count += 1) {
        merge(world, 'Stake 2', 'Stake 1')
        split(world, 'Stake 2', 'Stake 1', sol)
      }
    }
    bounce(20)
    const { drafts, balances } = await readAll(world.observe())
    assert.deepEqual(addUp(drafts), balances)
    bounce(40)
    await assert.rejects(readAll(world.observe()), /more often than is remembered/)
  })

  it('counts from then on, though the stranger did everything in one slot', async () => {
    const world = new World()
    const { atSeconds } = world
    for (const act of [
      () => stake(world, 'Stake 1', friend, 700n * sol),
      () => takeOut(world, 'Stake 1', 699n * sol),
      () => handOver(world, 'Stake 1'),
    ]) {
      world.atSeconds = atSeconds
      act()
    }
    assert.deepEqual(await tell(world), ['receive deposit +1 staked'])
  })

  it('counts from then on when it is handed over between two reads', async () => {
    const world = new World()
    liveElsewhere(world)
    const { state } = await readAll(world.observe())
    handOver(world, 'Stake 1')
    assert.deepEqual(await tell(world, { given: state }), ['receive deposit +112 staked'])
  })

  it('counts until the wallet hands it over to another', async () => {
    const world = new World()
    stake(world, 'Stake 1', wallet, 7n * sol)
    events['an epoch paid']?.(world, sol, 1)
    const { state } = await readAll(world.observe())
    handOver(world, 'Stake 1')
    world.node.stakes.clear()
    liveElsewhere(world)
    tip(world, 'Stake 1', 3n * sol)
    events['an epoch paid']?.(world, 9n * sol, 1)
    for (const given of [undefined, state]) {
      assert.deepEqual(await tell(world, given && { given }), [
        'input_and_output staking_lock +7 staked -7 SOL',
        'input_only staking_reward +1 staked',
        'send withdrawal -8 staked',
      ])
    }
  })

  it('is not the wallet’s because a stranger writes the wallet into an instruction as the one who hands it over', async () => {
    const world = new World()
    liveElsewhere(world)
    // The stake program looks for the owner among all signers, wherever they are named.
    const info = { stakeAccount: 'Stake 1', authority: wallet, newAuthority: wallet, authorityType: 'Withdrawer' }
    const held = world.accounts.get('Stake 1')
    assert.ok(held !== undefined)
    world.transact([friend, 'Stake 1', wallet], () => ((held.withdrawer = wallet), true), [
      { ...stakeProgram, parsed: { type: 'authorize', info } },
    ])
    assert.deepEqual(await tell(world), ['receive deposit +112 staked'])
  })

  it('is not the wallet’s because a stranger who withdraws puts the wallet where an older node expects the owner', async () => {
    const world = new World()
    stake(world, 'Stake 1', friend, 800n * sol)
    split(world, 'Stake 1', 'Split 1', 300n * sol)
    payEpoch(world, 'Split 1', 10n * sol)
    // Without sysvars the third account withdraws, and the program does not look at the fifth.
    const [stakeAccount, destination, clockSysvar, stakeHistorySysvar] = ['Split 1', friend, friend, friend]
    const info = { stakeAccount, destination, clockSysvar, stakeHistorySysvar, withdrawAuthority: wallet }
    world.transact(
      [friend, 'Split 1', wallet],
      () => world.accounts.delete('Split 1') && world.lamports(friend, 310n * sol),
      [{ ...stakeProgram, parsed: { type: 'withdraw', info } }],
    )
    // The transaction names the wallet, and changes nothing that it has.
    assert.deepEqual(await tell(world), ['uncategorized other'])
  })

  it('is the wallet’s when its instructions have no sysvars, and an older node does not parse them', async () => {
    const world = new World()
    const unparsed = (accounts: readonly string[], ...data: number[]): object => ({
      ...{ programId: 'Stake11111111111111111111111111111111111111', accounts },
      data: base58.encode(Uint8Array.of(...data)),
    })
    const made = { lamports: 7n * sol, withdrawer: wallet }
    world.transact(
      [wallet, 'Stake 1'],
      () => (world.accounts.set('Stake 1', made), world.lamports(wallet, -7n * sol)),
      [unparsed(['Stake 1', friend, wallet], 9, 0, 0, 0)],
    )
    payEpoch(world, 'Stake 1', sol)
    world.transact([wallet, 'Stake 1'], () => world.accounts.delete('Stake 1') && world.lamports(wallet, 8n * sol), [
      unparsed(['Stake 1', wallet, wallet], 4, 0, 0, 0, ...Buffer.alloc(8)),
    ])
    assert.deepEqual(await tell(world), [
      'input_and_output staking_lock +7 staked -7 SOL',
      'input_only staking_reward +1 staked',
      'input_and_output staking_unlock +8 SOL -8 staked',
    ])
  })

  it('gives the account that is split off it to its owner at that time', async () => {
    const world = new World()
    stake(world, 'Stake 1', friend, 9n * sol)
    split(world, 'Stake 1', 'Split 1', 4n * sol)
    merge(world, 'Stake 1', 'Split 1')
    handOver(world, 'Stake 1')
    split(world, 'Stake 1', 'Split 1', 2n * sol)
    merge(world, 'Stake 1', 'Split 1')
    const lines = await tell(world)
    assert.equal(lines[0], 'receive deposit +9 staked')
    // The owner took no part in the others, and has as much as before.
    assert.deepEqual(lines.slice(1), ['uncategorized other', 'uncategorized other'])
  })

  it('is a hole when the node does not have the beginning of its history', async () => {
    const world = new World()
    liveElsewhere(world)
    handOver(world, 'Stake 1')
    world.node.transactions = world.node.transactions.filter(({ instructions }) => {
      const [first] = (instructions ?? []) as { parsed: { type: string } }[]
      return first?.parsed.type !== 'initialize'
    })
    await assert.rejects(readAll(world.observe()), { fault: 'data_hole' })
  })

  describe('in a transaction that does not show it', () => {
    function hide(world: World): void {
      stake(world, 'Stake 1', friend, 7n * sol)
      handOver(world, 'Stake 1')
      Object.assign(world.node.transactions.at(-1) ?? {}, { instructions: [] })
      tip(world, 'Stake 1', sol)
    }

    it('is in neither the balance nor the history, also when the wallet withdraws from it', async () => {
      const world = new World()
      hide(world)
      const { state } = await readAll(world.observe())
      assert.deepEqual(await tell(world, { given: state }), [])
      takeOut(world, 'Stake 1', 2n * sol)
      assert.deepEqual(await tell(world, { given: state }), ['receive deposit +2 SOL'])
    })

    it('is left out, too, when it is split off, or begins in a transaction that cannot be read', async () => {
      const world = new World()
      hide(world)
      split(world, 'Stake 1', 'Split 1', sol)
      world.accounts.set('Stake 2', { lamports: 7n * sol, withdrawer: wallet })
      tip(world, 'Stake 2', 0n)
      Object.assign(world.node.transactions.at(-1) ?? {}, { version: 128 })
      const { state } = await readAll(world.observe())
      assert.deepEqual(await tell(world, { given: state }), ['receive deposit +1 staked'])
    })

    it('is counted when the node has listed that transaction, and no longer asked for after a day', async () => {
      const world = new World()
      hide(world)
      const node = world.observe()
      const { state } = await readAll(node)
      const later = new World()
      stake(later, 'Stake 1', friend, 7n * sol)
      handOver(later, 'Stake 1')
      const { state: known, corrected } = await readAll(later.observe(), { given: state })
      assert.deepEqual(corrected, ['Stake 1'], 'windows that are covered lack it')
      assert.deepEqual((await readAll(later.observe(), { given: known })).corrected, [])
      assert.deepEqual(await tell(later, { given: known }), ['receive deposit +7 staked'])
      node.nowMs += 86_400_001
      const { state: confirmed } = await readAll(node, { given: state })
      node.asked.length = 0
      await readAll(node, { given: confirmed })
      assert.deepEqual(
        node.asked.filter(({ params }) => params[0] === 'Stake 1'),
        [],
      )
    })

    it('is left out when it had an earlier life, which stays in the history', async () => {
      for (const isReadBetween of [true, false]) {
        const world = new World()
        for (const [name, amount] of [
          ['Stake 1', 2n * sol],
          ['Stake 2', 3n * sol],
        ] as const) {
          stake(world, name, friend, amount)
          handOver(world, name)
        }
        const before = isReadBetween ? (await readAll(world.observe())).state : undefined
        merge(world, 'Stake 2', 'Stake 1')
        const hidden = { lamports: 7n * sol, withdrawer: wallet }
        world.transact(
          [friend, 'Stake 1'],
          () => world.accounts.set('Stake 1', hidden) && world.lamports(friend, -7n * sol),
        )
        const { state } = await readAll(world.observe(), before && { given: before })
        const lines = await tell(world, { given: state })
        assert.deepEqual(lines, ['receive deposit +2 staked', 'receive deposit +3 staked', 'uncategorized other'])
      }
    })

    it('is left out when it was another’s, and was read before', async () => {
      const world = new World()
      stake(world, 'Stake 1', friend, 2n * sol)
      handOver(world, 'Stake 1')
      stake(world, 'Stake 2', friend, 3n * sol)
      handOver(world, 'Stake 2')
      merge(world, 'Stake 2', 'Stake 1')
      stake(world, 'Stake 1', friend, 7n * sol)
      const { state: before } = await readAll(world.observe())
      handOver(world, 'Stake 1')
      Object.assign(world.node.transactions.at(-1) ?? {}, { instructions: [] })
      const { state } = await readAll(world.observe(), { given: before })
      assert.deepEqual(await tell(world, { given: state }), [
        'receive deposit +2 staked',
        'receive deposit +3 staked',
        'uncategorized other',
      ])
    })

    it('keeps several lives before it, however often it is looked at', async () => {
      const world = new World()
      const live = (amount: bigint): void => {
        stake(world, 'Stake 1', friend, amount)
        handOver(world, 'Stake 1')
      }
      stake(world, 'Stake 2', friend, 3n * sol)
      handOver(world, 'Stake 2')
      live(2n * sol)
      let { state } = await readAll(world.observe())
      merge(world, 'Stake 2', 'Stake 1')
      live(5n * sol)
      merge(world, 'Stake 2', 'Stake 1')
      const hidden = { lamports: 7n * sol, withdrawer: wallet }
      world.transact(
        [friend, 'Stake 1'],
        () => world.accounts.set('Stake 1', hidden) && world.lamports(friend, -7n * sol),
      )
      for (let runs = 0; runs < 3; runs += 1) ({ state } = await readAll(world.observe(), { given: state }))
      const lines = await tell(world, { given: state })
      assert.deepEqual(lines, [
        'receive deposit +3 staked',
        'receive deposit +2 staked',
        'uncategorized other',
        'receive deposit +5 staked',
        'uncategorized other',
      ])
    })

    it('is left out when it is given and taken in one transaction', async () => {
      const world = new World()
      const info = { stakeAccount: 'Stake 1', authorized: { staker: friend, withdrawer: wallet } }
      world.transact(
        [friend, 'Stake 1', wallet],
        () => {
          world.accounts.set('Stake 1', { lamports: sol, withdrawer: friend })
          return world.lamports(friend, -sol)
        },
        [{ ...stakeProgram, parsed: { type: 'initialize', info } }],
      )
      const given = { address: wallet, stakes: ['Stake 1'] }
      const { state } = await readAll(world.observe(), { given })
      assert.deepEqual(await tell(world, { given: state }), ['uncategorized other'])
    })

    describe('after a life of which the wallet has read', () => {
      const initialize = (withdrawer: string): object => ({
        ...stakeProgram,
        parsed: { type: 'initialize', info: { stakeAccount: 'Stake 1', authorized: { staker: friend, withdrawer } } },
      })
      const from = { stakeAccount: 'Stake 1', newSplitAccount: 'Split 1', stakeAuthority: friend }
      const splitAll = { ...stakeProgram, parsed: { type: 'split', info: from } }
      const into = { source: 'Stake 1', destination: 'Stake 2', stakeAuthority: friend }
      const mergeAll = { ...stakeProgram, parsed: { type: 'merge', info: into } }
      const close = (world: World): void => {
        world.accounts.delete('Stake 1')
        world.node.stakes.delete('Stake 1')
        world.node.accounts.delete('Stake 1')
      }
      /** The stranger may stake with the account, so all of it can be split off or merged without its owner. */
      const splitOff = (world: World): void => {
        world.accounts.set('Split 1', { lamports: 2n * sol, withdrawer: wallet })
        close(world)
      }
      const mergeInto = (world: World): void => {
        world.lamports('Stake 2', 2n * sol)
        close(world)
      }
      const begin = (world: World, withdrawer: string): boolean => {
        world.accounts.set('Stake 1', { lamports: sol, withdrawer })
        return world.lamports(friend, -sol)
      }
      const named = [friend, 'Stake 1', 'Stake 2', 'Split 1', wallet]
      const live = (world: World): void => {
        for (const name of ['Stake 1', 'Stake 2']) {
          stake(world, name, friend, 2n * sol)
          handOver(world, name)
        }
      }

      for (const [end, empty, shown] of [
        ['split off', splitOff, [splitAll]],
        ['split off in an instruction that is hidden', splitOff, []],
        ['merged into another', mergeInto, [mergeAll]],
      ] as const) {
        for (const [then, owner, instructions] of [
          ['given to the wallet again', wallet, [initialize(wallet)]],
          ['given to another', friend, [initialize(friend)]],
          ['given to another in an instruction that is hidden', friend, []],
        ] as const) {
          for (const isReadBetween of [true, false]) {
            it(`is no hole when it is ${end} and ${then} at once${isReadBetween ? '' : ', and all is read at once'}`, async () => {
              const world = new World()
              live(world)
              let state: ConnectorState | undefined
              const read = async (): Promise<void> => {
                ;({ state } = await readAll(world.observe(), state && { given: state }))
              }
              if (isReadBetween) await read()
              world.transact(named, () => (empty(world), begin(world, owner)), [...shown, ...instructions])
              for (let runs = 0; runs < 2; runs += 1) await read()
              assert.ok((await tell(world, state && { given: state })).includes('receive deposit +2 staked'))
            })
          }
        }
      }

      it('is no hole when the wallet has withdrawn all of it, and it is made again, given and taken at once', async () => {
        const world = new World()
        live(world)
        let { state } = await readAll(world.observe())
        withdraw(world, 'Stake 1')
        close(world)
        ;({ state } = await readAll(world.observe(), { given: state }))
        world.transact(named, () => begin(world, friend), [initialize(wallet)])
        ;({ state } = await readAll(world.observe(), { given: state }))
        assert.ok((await tell(world, { given: state })).includes('input_and_output staking_unlock +2 SOL -2 staked'))
      })

      it('ends where the wallet hands it over, though a node shows the new owner before that transaction', async () => {
        const world = new World()
        live(world)
        let { state } = await readAll(world.observe())
        split(world, 'Stake 1', 'Split 1', sol)
        handOver(world, 'Stake 1')
        world.node.stakes.delete('Stake 1')
        const late = world.node.transactions.pop()
        ;({ state } = await readAll(world.observe(), { given: state }))
        if (late !== undefined) world.node.transactions.push(late)
        ;({ state } = await readAll(world.observe(), { given: state }))
        const lines = await tell(world, { given: state })
        assert.equal(lines.at(-1), 'send withdrawal -1 staked')
      })
    })

    it('is a hole where the wallet signed for it', async () => {
      const world = new World()
      hide(world)
      const given = { address: wallet, stakes: ['Stake 1'], signedStakes: ['Stake 1'] }
      await assert.rejects(readAll(world.observe(), { given }), { fault: 'data_hole' })
    })
  })

  it('is read on behind a transaction that cannot be read', async () => {
    const world = new World()
    stake(world, 'Stake 1', wallet, 7n * sol)
    tip(world, 'Stake 1', 0n)
    Object.assign(world.node.transactions.at(-1) ?? {}, { version: 128 })
    tip(world, 'Stake 1', sol)
    assert.deepEqual(await tell(world), [
      'input_and_output staking_lock +7 staked -7 SOL',
      'input_only staking_reward +1 staked',
    ])
  })
})
