/** Who may scrape. Metrics tell how busy an installation is and which providers its users have, so they need a token. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { Refusal } from '@assay/core'

/** `token` is what the scraper must send; without one, /metrics does not exist unless it is `open` (sandbox mode). */
export type MetricsAccess = { token: string } | 'open' | 'closed'

export function checkMetricsAccess(access: MetricsAccess, authorization: string | undefined): void {
  if (access === 'open') return
  if (access === 'closed') throw new Refusal('not_found', 'not found')
  if (!isSame(authorization ?? '', `Bearer ${access.token}`)) {
    throw new Refusal('invalid_token', 'send the metrics token as a Bearer token')
  }
}

function isSame(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
