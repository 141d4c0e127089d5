/**
 * Which jobs this worker does not take for now, so that no kind of them takes all its places. graphile-worker skips the
 * jobs that carry one of these flags.
 *
 * - Checks of keys leave a place to everything else: people come before the background, and there can be any number of
 *   people.
 * - The providers and the receivers of webhooks that take long to answer share half of the places. A check that waits for
 *   a provider ends after twenty seconds, and can be asked for again and again. With half of the places each, two such
 *   providers would take all of them.
 * - Webhooks have half of the places, and receivers that take long to answer a quarter: tenants choose their receivers.
 * - The histories and refreshes of one user have three quarters of the places: anyone can connect hundreds of public
 *   wallets, and each of their histories takes a place for twenty seconds at a time. A refresh that waits for the user's
 *   own histories makes one of them end early (make-room.ts).
 * - Mail has half of the places, and counts with the checks: a mail server that hangs leaves places to checks, and both
 *   together leave one to everything else.
 */
const checking = 'check'
const mailing = 'mail'
const webhook = 'webhook'
const slowWebhook = 'slow webhook'
const providerPrefix = 'provider '
const userPrefix = 'user '

/** The flags of a job that checks a key at this provider. */
export const checkFlags = (providerId: string): string[] => [checking, ...readFlags(providerId)]
/** The flags of a job that reads from this provider. */
export const readFlags = (providerId: string): string[] => [`${providerPrefix}${providerId}`]
/** The flags of a job that reads a history, or that a user can ask for at any time. */
export const userFlags = (providerId: string, userKey: string): string[] => [
  ...readFlags(providerId),
  `${userPrefix}${userKey}`,
]
/** Whether a flag is that of a user's own share. */
export const isOfUser = (flag: string): boolean => flag.startsWith(userPrefix)
/** The flags of a job that sends to a receiver. */
export const webhookFlags = (isSlow: boolean): string[] => (isSlow ? [webhook, slowWebhook] : [webhook])
/** The flags of a job that sends mail. */
export const mailFlags = (): string[] => [checking, mailing]

export interface Shares {
  /** A job with these flags begins. */
  take(flags: readonly string[]): void
  /** It has ended. */
  leave(flags: readonly string[]): void
  /** The flags of jobs that have to wait. */
  listFull(): string[]
}

export function createShares(places: number, listSlow: () => readonly string[]): Shares {
  const running = new Map<string, number>()
  const add = (flags: readonly string[], count: 1 | -1): void => {
    for (const flag of flags) {
      const now = (running.get(flag) ?? 0) + count
      if (now === 0) running.delete(flag)
      else running.set(flag, now)
    }
  }
  const half = Math.max(1, Math.floor(places / 2))
  const shareOf = (flag: string): number => {
    if (flag === checking) return Math.max(1, places - 1)
    if (flag === webhook || flag === mailing) return half
    if (isOfUser(flag)) return Math.max(1, Math.floor((places * 3) / 4))
    return flag === slowWebhook ? Math.max(1, Math.floor(places / 4)) : places
  }
  const listSlowFull = (): string[] => {
    const flags = [...listSlow().flatMap(readFlags), slowWebhook]
    const count = flags.reduce((sum, flag) => sum + (running.get(flag) ?? 0), 0)
    return count < half ? [] : flags
  }
  return {
    take: (flags) => add(flags, 1),
    leave: (flags) => add(flags, -1),
    listFull() {
      const full = [...running].filter(([flag, count]) => count >= shareOf(flag)).map(([flag]) => flag)
      return [...new Set([...full, ...listSlowFull()])]
    },
  }
}
