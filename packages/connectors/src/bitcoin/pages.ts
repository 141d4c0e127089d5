/**
 * The walk over a wallet's transactions, in this order:
 *
 *   poll        the addresses are queried, unless a round has ended since the window did
 *   confirmed   of the transactions in blocks that may still be replaced, the newest is requested by its id. While it
 *               lies in the same block, all blocks below are the same; otherwise each of them may have changed
 *   unsettled   each transaction that may have changed is requested by its id. One that the chain no longer knows (a
 *               mempool entry that was dropped or replaced, a block that was replaced) is withdrawn
 *   addresses   of each address that changed, the newest transactions down to those that are known. What was read has
 *               to agree with the count and the sums that the server states for the address
 *   rest        of each address with older transactions that are unread, the next ones
 *
 * Esplora's lists go from newest to oldest and cannot start at a given time, so an address is read from the top. The
 * state remembers down to where (`below`), and moves with each page. In the first read of a wallet the rest waits for
 * its window: the first one covers the last weeks, and the one that reaches back to the first block comes after it.
 * From then on no window is about that time again, so the rest is read in every window. An address may be found late:
 * behind a gap that closes, or because the server was behind.
 *
 * A window ends only when nothing of it is left. Otherwise it is a `data_hole`, which is reported and read again.
 *
 * The state says what is unread and unsettled, and is committed together with each page. So a walk can resume at every
 * page mark, and reading a page twice adds nothing.
 */
import type { Page, PageRequest } from '../kit/connector.ts'
import { isRestDue, isUnread, readNewest, readRest } from './address-lists.ts'
import type { Esplora } from './esplora.ts'
import { pollBatch } from './poll.ts'
import { filterUnsettled, findNewestConfirmed, readState } from './state.ts'
import { checkBlocks, lookAgain } from './unsettled.ts'
import { endWalk, isReplaceable, pageMarkSchema, type PageMark, type Step, type Walk } from './walk.ts'
import type { Wallet } from './wallet.ts'

export async function fetchPage(wallet: Wallet, esplora: Esplora, request: PageRequest, nowMs: number): Promise<Page> {
  const { window, pageMark } = request
  const state = readState(request.state)
  const before = JSON.stringify(state)
  const walk = { wallet, esplora, window, state, nowMs }
  const mark = pageMark === null ? undefined : pageMarkSchema.parse(JSON.parse(pageMark))
  const step = await takeStep(walk, mark)
  return {
    records: step.records,
    next: step.next === undefined ? null : JSON.stringify(step.next),
    ...(step.withdrawn === undefined ? {} : { withdrawn: step.withdrawn }),
    ...(JSON.stringify(state) === before ? {} : { state }),
  }
}

async function takeStep(walk: Walk, mark: PageMark | undefined): Promise<Step> {
  const { wallet, esplora, state, window, nowMs } = walk
  if (mark !== undefined && mark.at !== 'poll') return readOn(walk, mark)
  if (state.polledAtMs < Math.min(window.end, nowMs)) {
    await pollBatch(wallet, esplora, state, nowMs)
    // Continues even after the last batch, because the next step must start with the state that this page commits.
    return { records: [], next: { at: 'poll' } }
  }
  const isIdle =
    Object.keys(state.unsettled).length === 0 && !state.addresses.some((one) => isUnread(one) || isRestDue(walk, one))
  return isIdle ? endWalk(walk) : readOn(walk, undefined)
}

async function readOn(walk: Walk, mark: Exclude<PageMark, { at: 'poll' }> | undefined): Promise<Step> {
  const tipHeight = mark?.tipHeight ?? (await walk.esplora.fetchTipHeight())
  if (mark?.at === 'addresses') return readNewest(walk, mark)
  if (mark?.at === 'rest') return readRest(walk, mark)
  if (mark === undefined) {
    filterUnsettled(walk.state, (_, { block }) => block === undefined || isReplaceable(block, tipHeight))
    const [newest] = findNewestConfirmed(walk.state) ?? []
    if (newest !== undefined) return checkBlocks(walk, newest, tipHeight)
  }
  const after = mark?.after ?? ''
  const [txid] = Object.entries(walk.state.unsettled)
    .flatMap(([one, { block }]) => (block === undefined && one > after ? [one] : []))
    .toSorted()
  if (txid !== undefined) return lookAgain(walk, txid, tipHeight)
  return readNewest(walk, { at: 'addresses', tipHeight, address: '', from: null, isCut: false })
}
