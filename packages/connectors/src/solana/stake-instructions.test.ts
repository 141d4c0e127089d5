/** What stake instructions prove, by how a node shows them. The program's rules: github.com/solana-program/stake. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { base58 } from '@scure/base'
import { listStakeFacts, type StakeFact } from './stake-instructions.ts'
import { toMetadataAddress } from './names.ts'
import { usdc } from './test-node.ts'

const wallet = '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU'
const stranger = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM'
/** The address of a program, as that of a wallet that several people share. */
const vault = toMetadataAddress(usdc)
const clock = 'SysvarC1ock11111111111111111111111111111111'
const rent = 'SysvarRent111111111111111111111111111111111'
const history = 'SysvarStakeHistory1111111111111111111111111'

const withdrawer = [1, 0, 0, 0]
const withSeed = [...withdrawer, ...Buffer.alloc(8), ...Buffer.alloc(32)]
const bytesOf = (address: string): number[] => [...base58.decode(address)]

/** How a node without knowledge of the layout without sysvars names accounts, and the data. */
const kinds = {
  withdraw: {
    names: ['stakeAccount', 'destination', 'clockSysvar', 'stakeHistorySysvar', 'withdrawAuthority'],
    data: [4, 0, 0, 0, ...Buffer.alloc(8)],
  },
  initializeChecked: { names: ['stakeAccount', 'rentSysvar', 'staker', 'withdrawer'], data: [9, 0, 0, 0] },
  authorizeChecked: {
    names: ['stakeAccount', 'clockSysvar', 'authority', 'newAuthority'],
    data: [10, 0, 0, 0, ...withdrawer],
  },
  authorizeCheckedWithSeed: {
    names: ['stakeAccount', 'authorityBase', 'clockSysvar', 'newAuthorized'],
    data: [11, 0, 0, 0, ...withSeed],
  },
} as const
type Kind = keyof typeof kinds

function named(names: readonly string[], accounts: readonly string[]): object {
  return Object.fromEntries(names.map((name, place) => [name, accounts[place]]))
}

function parsed(type: string, info: object): object {
  return { program: 'stake', parsed: { type, info: { authorityType: 'Withdrawer', ...info } } }
}

/** An older node: accounts by their places; an instruction with too few of them is not parsed. */
function shownByOlderNode(kind: Kind, accounts: readonly string[]): object {
  const { names, data } = kinds[kind]
  return accounts.length < names.length ? unparsed(accounts, data) : parsed(kind, named(names, accounts))
}

function unparsed(accounts: readonly string[], data: readonly number[]): object {
  return {
    programId: 'Stake11111111111111111111111111111111111111',
    ...{ accounts, data: base58.encode(Uint8Array.from(data)) },
  }
}

function shownByNewerNode(kind: Kind, accounts: readonly string[]): object {
  const names = kinds[kind].names.filter((name) => !name.endsWith('Sysvar'))
  return parsed(kind, named(names, accounts))
}

function read(instruction: object, signers: readonly string[], owner = wallet, isCall = false): StakeFact[] {
  const instructions = [isCall ? { programId: 'Caller', accounts: [], data: '3Bxs' } : instruction]
  const accountKeys = [wallet, stranger, vault].map((pubkey) => ({ pubkey, signer: signers.includes(pubkey) }))
  const meta = { err: null, innerInstructions: isCall ? [{ index: '0', instructions: [instruction] }] : [] }
  return listStakeFacts({ transaction: { message: { accountKeys, instructions } }, meta }, owner)
}

type OwnerFact = Extract<StakeFact, { kind: 'owner' }>

function owned(wasOwn: boolean | undefined, isOwn: boolean | undefined, more: Partial<OwnerFact> = {}): StakeFact[] {
  return [{ kind: 'owner', account: 'Stake', wasOwn, isOwn, isClaimed: false, isChange: true, ...more }]
}

const withdrawn = { isClaimed: true, isChange: false }

/** Accounts of instructions by which `owner` has the stake account, and what they prove to that owner. */
const cases: Readonly<
  Record<Kind, { withSysvars(owner: string): string[]; without(owner: string): string[]; proves: StakeFact[] }>
> = {
  withdraw: {
    withSysvars: (owner) => ['Stake', stranger, clock, history, owner],
    without: (owner) => ['Stake', stranger, owner],
    proves: owned(true, true, withdrawn),
  },
  initializeChecked: {
    withSysvars: (owner) => ['Stake', rent, stranger, owner],
    without: (owner) => ['Stake', stranger, owner],
    proves: owned(false, true),
  },
  authorizeChecked: {
    withSysvars: (owner) => ['Stake', clock, stranger, owner],
    without: (owner) => ['Stake', stranger, owner],
    proves: owned(undefined, true),
  },
  authorizeCheckedWithSeed: {
    withSysvars: (owner) => ['Stake', stranger, clock, owner],
    without: (owner) => ['Stake', stranger, owner],
    proves: owned(undefined, true),
  },
}

describe('stake instructions', () => {
  for (const [kind, { withSysvars, without, proves }] of Object.entries(cases) as [Kind, (typeof cases)[Kind]][]) {
    it(`${kind}: an owner that has to sign is believed with and without sysvars, however the node shows it`, () => {
      const both = [wallet, stranger]
      assert.deepEqual(read(shownByOlderNode(kind, withSysvars(wallet)), both), proves)
      assert.deepEqual(read(shownByOlderNode(kind, without(wallet)), both), proves)
      // With more accounts, an older node takes this for the layout with sysvars.
      assert.deepEqual(read(shownByOlderNode(kind, [...without(wallet), wallet, wallet]), both), proves)
      assert.deepEqual(read(shownByNewerNode(kind, without(wallet)), both), proves)
    })

    it(`${kind}: a wallet behind the accounts that the program looks at is not the owner, signed or not`, () => {
      const { names } = kinds[kind]
      const padding = Array.from({ length: names.length - 1 }, () => stranger)
      const accounts = [...without(stranger), ...padding].slice(0, names.length - 1)
      const instruction = shownByOlderNode(kind, [...accounts, wallet])
      assert.match(JSON.stringify(instruction), new RegExp(`"${names.at(-1)}":"${wallet}"`))
      for (const signers of [[stranger], [stranger, wallet]]) {
        const [fact] = read(instruction, signers)
        assert.equal(fact?.kind === 'owner' && fact.isOwn, false)
        assert.notEqual(fact?.kind === 'owner' && fact.wasOwn, true)
      }
    })

    it(`${kind}: an owner that has to sign and did not is not believed`, () => {
      for (const isCall of [false, true]) {
        const [fact] = read(shownByOlderNode(kind, withSysvars(wallet)), [stranger], wallet, isCall)
        assert.equal(fact?.kind === 'owner' && fact.isOwn, undefined)
        assert.notEqual(fact?.kind === 'owner' && fact.wasOwn, true)
      }
    })

    it(`${kind}: a program can sign for an address of its own, in an instruction that it calls`, () => {
      const instruction = shownByOlderNode(kind, withSysvars(vault))
      assert.deepEqual(read(instruction, [stranger], vault, true), proves)
      assert.notDeepEqual(read(instruction, [stranger], vault, false), proves)
    })
  }

  it('an owner that the program writes into the account need not sign', () => {
    const authorized = { staker: stranger, withdrawer: wallet }
    for (const instruction of [
      parsed('initialize', { stakeAccount: 'Stake', rentSysvar: rent, authorized }),
      parsed('initialize', { stakeAccount: 'Stake', authorized }),
      unparsed(['Stake'], [0, 0, 0, 0, ...bytesOf(stranger), ...bytesOf(wallet), ...Buffer.alloc(48)]),
    ]) {
      assert.deepEqual(read(instruction, [stranger]), owned(false, true))
      assert.deepEqual(read(instruction, [stranger], stranger), owned(false, false))
    }
    const info = { stakeAccount: 'Stake', authority: stranger }
    for (const instruction of [
      parsed('authorize', { ...info, clockSysvar: clock, newAuthority: wallet }),
      parsed('authorize', { ...info, newAuthority: wallet }),
      unparsed(['Stake', stranger], [1, 0, 0, 0, ...bytesOf(wallet), ...withdrawer]),
      // The third is the one who may lift a lock-up.
      parsed('authorize', { ...info, clockSysvar: stranger, authority: vault, newAuthority: wallet }),
    ]) {
      assert.deepEqual(read(instruction, [stranger]), owned(undefined, true))
      assert.deepEqual(read(instruction, [stranger], stranger), owned(true, false, { isClaimed: true }))
    }
    for (const instruction of [
      parsed('authorizeWithSeed', { stakeAccount: 'Stake', authorityBase: stranger, newAuthorized: wallet }),
      unparsed(['Stake', stranger], [8, 0, 0, 0, ...bytesOf(wallet), ...withSeed]),
    ]) {
      assert.deepEqual(read(instruction, [stranger]), owned(undefined, true))
    }
  })

  it('of several signers any may be the owner: the wallet has signed, but that does not prove that the account is its own', () => {
    const both = [wallet, stranger]
    const authority = wallet
    const handedOver = parsed('authorize', {
      stakeAccount: 'Stake',
      clockSysvar: clock,
      authority,
      newAuthority: vault,
    })
    assert.deepEqual(read(handedOver, both), owned(undefined, false, { isClaimed: true }))
    assert.deepEqual(read(handedOver, [wallet], wallet, true), owned(undefined, false, { isClaimed: true }))
    for (const [owner, custodian] of [
      [wallet, stranger],
      [stranger, wallet],
    ] as const) {
      for (const accounts of [
        ['Stake', stranger, clock, history, owner, custodian],
        ['Stake', stranger, owner, custodian],
        ['Stake', stranger, owner, custodian, vault],
      ]) {
        const { names, data } = kinds.withdraw
        const instruction =
          accounts.length < names.length
            ? unparsed(accounts, data)
            : parsed('withdraw', named([...names, 'custodian'], accounts))
        assert.deepEqual(read(instruction, both), owned(undefined, undefined, withdrawn))
      }
    }
  })

  it('a new staker is not an owner, and other instructions prove nothing', () => {
    const info = { stakeAccount: 'Stake', authority: wallet, newAuthority: wallet, authorityType: 'Staker' }
    for (const instruction of [
      parsed('authorize', info),
      parsed('authorizeChecked', info),
      unparsed(['Stake', wallet, wallet], [10, 0, 0, 0, 0, 0, 0, 0]),
      parsed('setLockup', { stakeAccount: 'Stake', custodian: wallet }),
      parsed('moveStake', { source: 'Stake', destination: 'Other', stakeAuthority: wallet }),
      parsed('moveLamports', { source: 'Stake', destination: 'Other', stakeAuthority: wallet }),
      unparsed(['Stake', wallet], [5, 0, 0, 0]),
      unparsed(['Stake', wallet], [4]),
      { ...unparsed(['Stake', stranger, wallet], kinds.withdraw.data), programId: 'Other' },
      { programId: 'Stake11111111111111111111111111111111111111', accounts: ['Stake'], data: 'not base 58' },
    ]) {
      assert.deepEqual(read(instruction, [wallet]), [])
    }
  })

  it('a split and a merge connect two accounts, with or without the one who may stake', () => {
    const split = [{ kind: 'split', from: 'Stake', account: 'New' }]
    const info = { stakeAccount: 'Stake', newSplitAccount: 'New' }
    assert.deepEqual(read(parsed('split', info), [stranger]), split)
    assert.deepEqual(read(unparsed(['Stake', 'New'], [3, 0, 0, 0, ...Buffer.alloc(8)]), [stranger]), split)
    const merge = [{ kind: 'merge', accounts: ['Source', 'Stake'] }]
    assert.deepEqual(read(parsed('merge', { destination: 'Stake', source: 'Source' }), [stranger]), merge)
    assert.deepEqual(read(unparsed(['Stake', 'Source', stranger], [7, 0, 0, 0]), [stranger]), merge)
  })
})
