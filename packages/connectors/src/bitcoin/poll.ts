/**
 * Queries the addresses of a wallet in batches: what the chain has for each, and where the wallet ends. One small
 * response per address gives its balance and says whether there is anything to read, so the cost of a run grows with
 * what the wallet holds and does, and not with the length of its history.
 *
 *   funded and unused addresses   in every round
 *   emptied addresses             once a day: wallets do not reuse them, but people may send to them
 *   unused kinds of address       once a day, after a key of unknown kind was used with another kind
 */
import { dayMs, hourMs, SourceError } from '@assay/core'
import { gapLimit } from './definition.ts'
import type { AddressStats, Esplora } from './esplora.ts'
import { isEmptied, type KnownAddress, type WalletState } from './state.ts'
import type { Branch, Wallet } from './wallet.ts'

/** Addresses per batch. The budget charges this many calls. */
export const batchSize = 20
const parallelMax = 5
/**
 * A round continues, however long it takes, unless it has stood still for longer than this. If it started over while it
 * was still making progress, it might never end: wallets share the calls that a public server allows, so a round may take
 * a day, with hours between two batches. Its sum is then not that of one moment: coins that moved meanwhile may count
 * twice, or not at all, until the next round.
 */
const pauseMaxMs = 6 * hourMs
/** The state may have 1 MiB, and an address takes up to 434 bytes. */
const addressesMax = 2_400

type Round = NonNullable<WalletState['round']>

/** Changes `state`. Returns true when the round has ended and everything due was queried. */
export async function pollBatch(wallet: Wallet, esplora: Esplora, state: WalletState, nowMs: number): Promise<boolean> {
  const round = startOrContinue(state, nowMs)
  const due = await askInOrder(listDue(wallet, state, round), esplora, state)
  round.index = (due.at(-1)?.index ?? -1) + 1
  round.askedAtMs = nowMs
  const known = new Set(state.addresses)
  state.addresses.push(...due.filter((entry) => !known.has(entry)))
  if (state.addresses.length > addressesMax) {
    throw new SourceError('data_hole', `a wallet with more than ${addressesMax} addresses`)
  }
  if (listDue(wallet, state, round).length > 0) return false
  state.polledAtMs = nowMs
  if (round.isWhole) state.polledWholeAtMs = round.startedAtMs
  delete state.round
  return true
}

function startOrContinue(state: WalletState, nowMs: number): Round {
  const { round } = state
  if (round !== undefined && nowMs - round.askedAtMs < pauseMaxMs) return round
  const isWhole = nowMs - state.polledWholeAtMs >= dayMs
  return (state.round = { startedAtMs: nowMs, askedAtMs: nowMs, isWhole, branch: 0, index: 0 })
}

/** The next addresses of one branch. Its end is known only after they were queried. `round` skips what is not due. */
function listDue({ branches }: Wallet, state: WalletState, round: Round): KnownAddress[] {
  for (; round.branch < branches.length; round.branch += 1, round.index = 0) {
    const branch = branches[round.branch]
    if (branch === undefined) break
    const known = new Map(state.addresses.filter((one) => one.branch === branch.id).map((one) => [one.index, one]))
    const lastUsed = Math.max(-1, ...[...known.values()].flatMap(({ stats, index }) => (stats ? [index] : [])))
    if (lastUsed === -1 && !round.isWhole && isOtherKindUsed(state, branch)) continue
    const end = branch.length ?? lastUsed + 1 + gapLimit
    const due: KnownAddress[] = []
    for (let { index } = round; index < end && due.length < batchSize; index += 1) {
      const entry = known.get(index)
      if (entry === undefined || round.isWhole || !isEmptied(entry)) {
        due.push(entry ?? { branch: branch.id, index, address: branch.addressAt(index) })
      }
    }
    if (due.length > 0) return due
  }
  return []
}

/** A key is used with one kind of address. The change branch of that kind is queried even while it is unused. */
function isOtherKindUsed({ addresses }: WalletState, { id }: Branch): boolean {
  const kindOf = (branch: string): string | undefined => branch.split('/')[0]
  const used = new Set(addresses.flatMap(({ stats, branch }) => (stats === undefined ? [] : [kindOf(branch)])))
  return used.size > 0 && !used.has(kindOf(id))
}

function note(
  state: WalletState,
  entry: KnownAddress,
  { chain_stats: chain, mempool_stats: mempool }: AddressStats,
): void {
  const waiting =
    mempool.tx_count === '0' ? '' : `${mempool.tx_count}/${mempool.funded_txo_sum}/${mempool.spent_txo_sum}`
  const stats = { count: chain.tx_count, funded: chain.funded_txo_sum, spent: chain.spent_txo_sum, waiting }
  const isUsed = chain.tx_count !== '0' || waiting !== ''
  if (isUsed && JSON.stringify(entry.stats) === JSON.stringify(stats)) return
  if (!isUsed && entry.stats !== undefined) askForLost(state, entry)
  delete entry.isRead
  delete entry.stats
  if (isUsed) entry.stats = stats
}

/** The list of an address without transactions is not read, so those that it had are requested by their ids. */
function askForLost({ unsettled }: WalletState, { address }: KnownAddress): void {
  for (const one of Object.values(unsettled)) if (one.addresses.includes(address)) delete one.block
}

/**
 * Returns the addresses up to the first one without an answer. On a bad connection a batch rarely succeeds as a whole,
 * and a wallet would never be read if one failure discarded all other answers. A rate limit ends the batch with its
 * fault.
 */
async function askInOrder(
  batch: readonly KnownAddress[],
  esplora: Esplora,
  state: WalletState,
): Promise<KnownAddress[]> {
  const answered: KnownAddress[] = []
  for (let start = 0; start < batch.length; start += parallelMax) {
    const part = batch.slice(start, start + parallelMax)
    const answers = await Promise.allSettled(part.map(({ address }) => esplora.fetchStats(address)))
    for (const [index, entry] of part.entries()) {
      const answer = answers[index]
      if (answer?.status !== 'fulfilled') {
        const error: unknown = answer?.reason
        const isPassing = error instanceof SourceError && ['venue_down', 'unreadable_answer'].includes(error.fault)
        if (answered.length > 0 && isPassing) return answered
        throw error
      }
      note(state, entry, answer.value)
      answered.push(entry)
    }
  }
  return answered
}
