/** Repeats an event: once for each step from the date `from` until before the date `to`. */
export function every<Event>(
  step: { days: number } | { months: number },
  from: string,
  to: string,
  tell: (date: string, index: number) => Event,
): Event[] {
  const told: Event[] = []
  const start = new Date(`${from}T00:00:00Z`)
  for (let index = 0; index < 5_000; index += 1) {
    const date = new Date(start)
    if ('days' in step) date.setUTCDate(date.getUTCDate() + step.days * index)
    else date.setUTCMonth(date.getUTCMonth() + step.months * index)
    const text = date.toISOString().slice(0, 10)
    if (text >= to) return told
    told.push(tell(text, index))
  }
  throw new RangeError(`a step repeated more than 5,000 times between ${from} and ${to}`)
}
