/**
 * The chain's calendar: slots of 400 ms since the first block of the main network, epochs of 432,000 slots, and how far
 * each commitment lags behind the newest slot. https://solana.com/docs/rpc#configuring-state-commitment
 *
 * Every 25th slot is skipped, as slots are whose leader was away: it has no block, so heights are smaller than slots.
 */
export type Commitment = 'processed' | 'confirmed' | 'finalized'

const slotMs = 400
const firstMs = Date.UTC(2020, 2, 16, 14, 29)
export const slotsInEpoch = 432_000
const skippedEvery = 25
/** 31 blocks on top of a block make it final; a supermajority has voted for it long before. */
const lagSlots: Readonly<Record<Commitment, number>> = { processed: 0, confirmed: 2, finalized: 32 }

export function isSkipped(slot: number): boolean {
  return slot % skippedEvery === skippedEvery - 1
}

/** The newest slot that has a block. */
export function newestSlot(nowMs: number, commitment: Commitment = 'processed'): number {
  const slot = Math.floor((nowMs - firstMs) / slotMs) - lagSlots[commitment]
  return isSkipped(slot) ? slot - 1 : slot
}

/** The first slot of this second that has a block. */
export function slotAt(seconds: number): number {
  const slot = Math.ceil((seconds * 1_000 - firstMs) / slotMs)
  return isSkipped(slot) ? slot + 1 : slot
}

/** Seconds since 1970. */
export function timeOf(slot: number): number {
  return Math.floor((firstMs + slot * slotMs) / 1_000)
}

export function heightOf(slot: number): number {
  return slot - Math.floor((slot + 1) / skippedEvery)
}

export function epochOf(slot: number): number {
  return Math.floor(slot / slotsInEpoch)
}

export function firstSlotOf(epoch: number): number {
  return epoch * slotsInEpoch
}

/** The rewards of an epoch are paid in the second block of the next one. */
export function rewardSlotOf(epoch: number): number {
  return firstSlotOf(epoch + 1) + 1
}

/** Undefined for a slot that the node has not seen. */
export function commitmentOf(slot: number, nowMs: number): Commitment | undefined {
  const reached = (['finalized', 'confirmed', 'processed'] as const).find((one) => slot <= newestSlot(nowMs, one))
  return reached
}
