/** Whose a token account was before nodes reported owners. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toAssociatedAddress } from './addresses.ts'
import { friend, rent, usdc, wallet } from './test-node.ts'
import { World, events, payAccount, handOverTokens, readAll, addUp } from './test-world.ts'

describe('a token account in the time before nodes reported owners', () => {
  const year = 365 * 86_400

  /** In order of time, without what the first transaction of the world gave the wallet. */
  async function tell(world: World, edgeMs: number): Promise<string[]> {
    const { drafts, balances } = await readAll(world.observe(), { edgeMs })
    assert.deepEqual(addUp(drafts), balances)
    return drafts
      .toSorted((a, b) => a.occurredAtMs - b.occurredAtMs)
      .slice(1)
      .flatMap(({ type, inputs, outputs, incomplete }) => {
        assert.deepEqual(incomplete, [])
        const moved = [
          ...inputs.map((leg) => ({ sign: '+', ...leg })),
          ...outputs.map((leg) => ({ sign: '-', ...leg })),
        ]
        const tokens = moved.filter(({ symbol }) => symbol === 'USDC')
        return tokens.map(({ sign, amount }) => `${type} ${sign}${amount}`)
      })
  }

  function newWorld(): World {
    const world = new World()
    world.ownersSince = world.atSeconds + year
    return world
  }

  function comeAlone(world: World, amount: bigint, name = 'Usdc 1'): void {
    world.transact([friend, 'FriendUsdc', name], () => world.units('FriendUsdc', -amount) && world.units(name, amount))
  }

  function pay(world: World, amount: bigint, to = 'FriendUsdc'): void {
    world.transact([wallet, 'Usdc 1', to], () => world.units('Usdc 1', -amount) && world.units(to, amount))
  }

  // Everything in one window; a second window with the last months; one with nothing but the first days before it.
  for (const edgeMs of [0, 1_735_000_000_000, 1_700_001_000_000]) {
    describe(`with an edge at ${edgeMs}`, () => {
      it('has its deposits, though strangers signed them and it is not the associated account', async () => {
        const world = newWorld()
        events['tokens came and opened the account']?.(world, 1_000_000n, 1)
        comeAlone(world, 5_000_000n)
        pay(world, 2_000_000n)
        assert.deepEqual(await tell(world, edgeMs), ['receive +1', 'receive +5', 'send -2'])
      })

      it('of a recipient takes no payment out of the history when the recipient hands it over', async () => {
        const world = newWorld()
        events['tokens came and opened the account']?.(world, 9_000_000n, 1)
        world.accounts.set('Payee', { lamports: rent, token: { mint: usdc, owner: friend, units: 0n } })
        pay(world, 6_000_000n, 'Payee')
        world.transact([friend, 'Payee', 'FriendUsdc'], () => {
          return world.units('Payee', -6_000_000n) && world.units('FriendUsdc', 6_000_000n)
        })
        world.atSeconds += year
        handOverTokens(world, 'Payee')
        assert.deepEqual(await tell(world, edgeMs), ['receive +9', 'send -6'])
        // The address is closed, and opened again for the wallet.
        const again = newWorld()
        events['tokens came and opened the account']?.(again, 9_000_000n, 1)
        again.accounts.set('Payee', { lamports: rent, token: { mint: usdc, owner: friend, units: 0n } })
        pay(again, 6_000_000n, 'Payee')
        again.atSeconds += year
        const emptied = { lamports: rent, token: { mint: usdc, owner: wallet, units: 0n } }
        again.transact([friend, 'Payee', 'FriendUsdc'], () => {
          return again.units('FriendUsdc', 6_000_000n) && again.accounts.delete('Payee') && again.lamports(friend, rent)
        })
        again.transact([friend, 'Payee'], () => (again.accounts.set('Payee', emptied), again.lamports(friend, -rent)))
        assert.deepEqual(await tell(again, edgeMs), ['receive +9', 'send -6'])
      })

      it('is the wallet’s before an escrow program of that time took it', async () => {
        const world = newWorld()
        events['tokens came and opened the account']?.(world, 1_000_000n, 1)
        handOverTokens(world, 'Usdc 1')
        // With a further account behind it, nodes name the authority otherwise.
        const info = { account: 'Usdc 1', authorityType: 'accountOwner', multisigAuthority: wallet, signers: [wallet] }
        const parsed = { type: 'setAuthority', info: { ...info, newAuthority: friend } }
        Object.assign(world.node.transactions.at(-1) ?? {}, { instructions: [{ program: 'spl-token', parsed }] })
        world.atSeconds += year
        handOverTokens(world, 'Usdc 1')
        assert.deepEqual(await tell(world, edgeMs), ['receive +1', 'send -1', 'receive +1'])
      })

      it('is the wallet’s before it lay with a program, and after it came back', async () => {
        const world = newWorld()
        events['tokens came and opened the account']?.(world, 1_000_000n, 1)
        comeAlone(world, 2_000_000n)
        world.atSeconds += year
        handOverTokens(world, 'Usdc 1')
        handOverTokens(world, 'Usdc 1')
        comeAlone(world, 4_000_000n)
        assert.deepEqual(await tell(world, edgeMs), ['receive +1', 'receive +2', 'send -3', 'receive +3', 'receive +4'])
      })

      it('counts from the instruction that gave it to the wallet', async () => {
        const world = newWorld()
        world.accounts.set('Gift', { lamports: rent, token: { mint: usdc, owner: friend, units: 0n } })
        comeAlone(world, 5_000_000n, 'Gift')
        handOverTokens(world, 'Gift')
        comeAlone(world, 2_000_000n, 'Gift')
        assert.deepEqual(await tell(world, edgeMs), ['receive +5', 'receive +2'])
      })

      it('that is the associated one counts, though it was closed and opened again', async () => {
        const world = newWorld()
        const name = toAssociatedAddress(wallet, usdc)
        const come = (): void =>
          world.transact([friend, 'FriendUsdc', name], () => {
            return world.open(name, usdc, friend) && world.units('FriendUsdc', -7n) && world.units(name, 7n)
          })
        come()
        world.transact([wallet, name, 'FriendUsdc'], () => {
          return world.units('FriendUsdc', 7n) && world.accounts.delete(name) && world.lamports(wallet, rent)
        })
        world.atSeconds += year
        come()
        assert.deepEqual(await tell(world, edgeMs), ['receive +0.000007', 'send -0.000007', 'receive +0.000007'])
      })
    })
  }

  it('is marked as incomplete, and is not spam, where a transaction that cannot be read may have given it away', async () => {
    const world = newWorld()
    events['tokens came and opened the account']?.(world, 1_000_000n, 1)
    comeAlone(world, 5_000_000n)
    world.atSeconds += year
    payAccount(world, 'Usdc 1', friend, 1n)
    const [newest] = world.node.transactions.slice(-1)
    Object.assign(newest ?? {}, { version: 128 })
    const { drafts } = await readAll(world.observe())
    assert.deepEqual(
      drafts.map(({ inputs, incomplete, spam }) => [inputs.length, incomplete.length, spam]),
      [
        [0, 2, false],
        [1, 0, false],
        [0, 2, false],
      ],
    )
  })
})
