/** `assay prices correct`: sets what an asset was worth on a day. */
import { findDecimal } from '@assay/core'
import { UsageError, writeLine } from '../console.ts'
import { usage } from '../usage.ts'
import { withAdmin } from '../with-admin.ts'

export async function prices([command, ...words]: string[]): Promise<void> {
  const [assetId, day, price, ...more] = words
  const amount = findDecimal(price ?? '')
  if (command !== 'correct' || assetId === undefined || amount === undefined || more.length > 0 || !isDay(day)) {
    throw new UsageError(usage.prices)
  }
  await withAdmin((admin) => admin.correctPrice(assetId, day, amount))
  writeLine(`${assetId} was worth ${amount} US dollars on ${day}. Its transactions of that day are priced again now.`)
}

function isDay(text: string | undefined): text is string {
  if (text === undefined || !/^\d{4}-\d\d-\d\d$/.test(text)) return false
  const ms = Date.parse(text)
  // JavaScript would read 31 February as 3 March, and has a year 0, which PostgreSQL has not.
  return text >= '0001' && !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text)
}
