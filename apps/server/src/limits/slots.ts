/**
 * How many long answers (streams, exports) may run at once. A slot is taken when an answer begins and left when it
 * ends. Processes that share a port share the slots, too: the parent counts, and its children ask.
 */
export interface Slots {
  /** False when `max` of them are taken. A promise where another process counts. */
  take(key: string, max: number): boolean | Promise<boolean>
  leave(key: string): void
}

export interface WantedSlot {
  key: string
  max: number
  /** What has at most so many, for the refusal. */
  what: string
}

/** Takes all of them, or none. Gives what frees them again. */
export async function takeSlots<Wanted extends WantedSlot>(
  slots: Slots,
  wanted: readonly Wanted[],
): Promise<{ leave: () => void } | { full: Wanted }> {
  const taken: string[] = []
  const leave = (): void => {
    for (const key of taken) slots.leave(key)
  }
  for (const one of wanted) {
    if (!(await slots.take(one.key, one.max))) {
      leave()
      return { full: one }
    }
    taken.push(one.key)
  }
  return { leave }
}

/** `holder` is the process that asks: all its slots are free when it ends. */
export interface CountedSlots extends Slots {
  take(key: string, max: number, holder?: number): boolean
  leave(key: string, holder?: number): void
  leaveAll(holder: number): void
}

const thisProcess = 0

export function createSlots(): CountedSlots {
  const taken = new Map<string, number>()
  const held = new Map<number, Map<string, number>>()

  function add(counts: Map<string, number>, key: string, by: number): void {
    const left = (counts.get(key) ?? 0) + by
    if (left > 0) counts.set(key, left)
    else counts.delete(key)
  }

  return {
    take(key, max, holder = thisProcess) {
      if ((taken.get(key) ?? 0) >= max) return false
      const own = held.get(holder) ?? new Map<string, number>()
      held.set(holder, own)
      add(own, key, 1)
      add(taken, key, 1)
      return true
    },
    leave(key, holder = thisProcess) {
      const own = held.get(holder)
      if (own?.has(key) !== true) return
      add(own, key, -1)
      add(taken, key, -1)
    },
    leaveAll(holder) {
      for (const [key, count] of held.get(holder) ?? []) add(taken, key, -count)
      held.delete(holder)
    },
  }
}
