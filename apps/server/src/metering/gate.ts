/** How many acts of one kind are under way at the same time. */
export type Gate = <T>(act: () => Promise<T>) => Promise<T>

/** Lets at most `max` acts be under way. The others wait, and begin in the order in which they came. */
export function createGate(max: number): Gate {
  let underWay = 0
  const waiting: (() => void)[] = []
  return async (act) => {
    if (underWay < max) underWay += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await act()
    } finally {
      // The place goes to the next one directly: an act that comes at this moment does not overtake those that wait.
      const next = waiting.shift()
      if (next === undefined) underWay -= 1
      else next()
    }
  }
}

/** Lets one act after another through until it is open, and from then on all of them at once. */
export function createEntrance(isOpen: () => boolean): Gate {
  let underWay: Promise<void> | undefined
  return async (act) => {
    while (underWay !== undefined && !isOpen()) await underWay
    const acting = act()
    const end = (): void => void (underWay = undefined)
    if (!isOpen()) underWay = acting.then(end, end)
    return acting
  }
}
