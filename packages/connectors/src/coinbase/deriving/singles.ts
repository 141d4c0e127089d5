/** Events with a single row: transfers on and off Coinbase, rewards, payments. Type and sign decide what they mean. */
import { isNegative, isPositive, type TransactionDraft } from '@assay/core'
import { toDraft, toLegs, toUnknownDraft, withIncludedFee, type Entry, type Kind } from './draft.ts'

const deposit: Kind = { type: 'receive', category: 'deposit' }
const withdrawal: Kind = { type: 'send', category: 'withdrawal' }
const transfer = { in: { type: 'receive', category: 'transfer' }, out: { type: 'send', category: 'transfer' } } as const
const reward: Kind = { type: 'input_only', category: 'staking_reward' }
const gift: Kind = { type: 'input_only', category: 'gift' }
const credit: Kind = { type: 'input_only', category: 'other' }
const takenBack: Kind = { type: 'output_only', category: 'other' }
const payment: Kind = { type: 'output_only', category: 'payment' }

const kinds: ReadonlyMap<string, { in?: Kind; out?: Kind }> = new Map(
  Object.entries({
    send: { in: deposit, out: withdrawal },
    receive: { in: deposit },
    fiat_deposit: { in: deposit },
    fiat_withdrawal: { out: withdrawal },
    unsupported_asset_recovery: { in: deposit },
    request: { in: { type: 'receive', category: 'payment' }, out: { type: 'send', category: 'payment' } },
    // Other products of Coinbase: Pro and Exchange, the International Exchange, futures.
    exchange_deposit: transfer,
    exchange_withdrawal: transfer,
    pro_deposit: transfer,
    pro_withdrawal: transfer,
    intx_deposit: transfer,
    intx_withdrawal: transfer,
    derivatives_settlement: transfer,
    staking_reward: { in: reward },
    inflation_reward: { in: reward },
    interest: { in: { type: 'input_only', category: 'interest' } },
    earn_payout: { in: gift },
    incentives_rewards_payout: { in: gift },
    subscription_rebate: { in: credit },
    clawback: { out: takenBack },
    incentives_shared_clawback: { out: takenBack },
    subscription: { out: payment },
    // Undocumented; rotki and others have seen these.
    cardspend: { out: payment },
    cardbuyback: { in: credit },
    retail_simple_price_improvement: { in: credit },
  } satisfies Record<string, { in?: Kind; out?: Kind }>),
)

export function toSingleDraft(entry: Entry): TransactionDraft {
  const special = { naturalKey: `tx:${entry.id}` }
  const kind = findKind(entry)
  if (kind === undefined) return toUnknownDraft([entry], special)
  const isTransfer = kind.type === 'send' || kind.type === 'receive'
  // The amount of a send includes the network fee (rotki: "fee is deducted from withdrawal amount").
  const legs = isNegative(entry.amount)
    ? withIncludedFee(toLegs([entry]), entry.networkFee, 'network')
    : toLegs([entry])
  return toDraft([entry], legs, kind, {
    ...special,
    description: isTransfer ? null : entry.type,
    ...(isDebited(entry) ? { isDebited: true } : {}),
    ...(isTransfer ? detailsOf(entry) : {}),
  })
}

/** Coinbase debits a send from the wallet when it is requested, not when the chain has confirmed it. */
function isDebited({ status, amount, type }: Entry): boolean {
  return status === 'pending' && isNegative(amount) && type !== 'request'
}

function findKind({ type, amount, counterparty }: Entry): Kind | undefined {
  const direction = isPositive(amount) ? 'in' : isNegative(amount) ? 'out' : undefined
  if (direction === undefined) return undefined
  // A transfer to or from another account of the same user, for example at Pro.
  if (type === 'send' && counterparty === 'account') return transfer[direction]
  return kinds.get(type)?.[direction]
}

type Details = Pick<TransactionDraft, 'network' | 'hash' | 'fromAddress' | 'toAddress' | 'incomplete'>

/** Transfers inside Coinbase and bank transfers have no hash, so nothing is missing there. */
function detailsOf(entry: Entry): Details {
  const { network, hash, fromAddress, toAddress, asset } = entry
  const mayBeOnChain = entry.isOnChain || (['send', 'receive'].includes(entry.type) && network === null)
  if (asset.kind === 'fiat' || !mayBeOnChain) {
    return { network: null, hash: null, fromAddress: null, toAddress: null, incomplete: [] }
  }
  const members = { network, hash, from_address: fromAddress, to_address: toAddress }
  const incomplete = Object.entries(members).flatMap(([name, value]) => (value === null ? [name] : []))
  return { network, hash, fromAddress, toAddress, incomplete }
}
