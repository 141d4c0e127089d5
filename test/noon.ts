/**
 * Tests of days begin at noon: twelve hours from the end of the day, of its hour and of its month, whenever they are
 * run. The sandbox clock only goes forward, hence the next noon.
 */
import { dayMs } from '@assay/core'

export function msUntilNoon(nowMs: number): number {
  return (((dayMs / 2 - nowMs) % dayMs) + dayMs) % dayMs
}
