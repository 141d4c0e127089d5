/**
 * What stake accounts earn: once an epoch, by the chain itself, without a transaction. The amount is added to the
 * account and to its delegation. https://solana.com/docs/rpc/http/getinflationreward
 */
import { lamports as toLamports, type Address } from '@solana/kit'
import type { Chain } from './chain.ts'
import { decodeStake, withReward } from './layouts.ts'
import { stakeProgram } from './programs.ts'
import { rewardSlotOf } from './slots.ts'

export interface Reward {
  epoch: number
  effectiveSlot: number
  amount: bigint
  postBalance: bigint
  commission: number
}

export interface PaidReward {
  reward: Reward
  /** Who could withdraw it when it was paid. */
  owner: Address
}

/** Percent of a reward that the validator keeps. */
export const commission = 5

export interface Rewards {
  /** Pays the accounts of these wallets what they have earned by this slot. */
  pay(slot: number, isDue: (withdrawer: Address) => boolean): void
  find(address: Address, epoch: number): Reward | undefined
  /** Oldest first. */
  listOf(address: Address): readonly PaidReward[]
}

export function createRewards(chain: Chain): Rewards {
  const paid = new Map<Address, PaidReward[]>()

  function payAccount(address: Address, slot: number, isDue: (withdrawer: Address) => boolean): void {
    const found = chain.findAccount(address)
    const { delegation, withdrawer } = (found && decodeStake(found)) ?? {}
    if (delegation === undefined || withdrawer === undefined || !isDue(withdrawer)) return
    const rewards = paid.get(address) ?? []
    paid.set(address, rewards)
    const start = Math.max(Number(delegation.activationEpoch) + 1, (rewards.at(-1)?.reward.epoch ?? 0) + 1)
    for (let epoch = start; rewardSlotOf(epoch) <= slot && epoch <= delegation.deactivationEpoch; epoch += 1) {
      const account = chain.findAccount(address)
      const stake = account && decodeStake(account)?.delegation?.stake
      if (account === undefined || stake === undefined) return
      // Between 0.033 and 0.037 percent: some six percent a year.
      const amount = (stake * (33n + BigInt(epoch % 5))) / 100_000n
      const effectiveSlot = rewardSlotOf(epoch)
      const postBalance = account.lamports + amount
      chain.write({ ...account, data: withReward(account, amount), lamports: toLamports(postBalance) }, effectiveSlot)
      rewards.push({ reward: { epoch, effectiveSlot, amount, postBalance, commission }, owner: withdrawer })
    }
  }

  return {
    pay(slot, isDue) {
      for (const address of chain.listOwned(stakeProgram)) payAccount(address, slot, isDue)
    },
    find: (address, epoch) => paid.get(address)?.find(({ reward }) => reward.epoch === epoch)?.reward,
    listOf: (address) => paid.get(address) ?? [],
  }
}
