/** What the simulated spot exchanges have in common: their accounts, and the provider that answers for them. */
import { createAccounts, type Account, type Accounts } from '../core/accounts.ts'
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import type { Pace } from '../core/clock.ts'
import type { CallContext, Provider } from '../core/serving/provider-server.ts'
import type { Scenario } from '../core/scenario.ts'
import { advanceWorld, buildWorld, withEvent, type Bookkeeping, type World } from './books.ts'
import { createSpotKeys, type KeyShape } from './keys.ts'
import type { Story } from './story.ts'

export type SpotAccount = Account<Story, World>

export interface SpotExchange {
  id: string
  accounts: Accounts<Story, World>
  provider: Provider
  /** What a person would paste, by the names of the control API. */
  credentialsOf(account: SpotAccount): Record<string, string>
  publicIdOf(account: SpotAccount): string
}

export interface SpotOptions {
  seed: string
  pace: Pace
  scenarios: readonly Scenario<Story>[]
  nowMs: () => number
}

export interface Dialect {
  id: string
  bookkeeping: Bookkeeping
  key: KeyShape
  secretOf(account: SpotAccount): Record<string, string>
  /** The account's own number as the exchange reports it, the same for every key of the account. */
  publicIdOf(account: SpotAccount): string
  /** The key of a call, before anything about the call was checked. */
  keyOf(request: WireRequest): string
  answer(request: WireRequest, context: CallContext, caller: SpotAccount | undefined): WireAnswer
  words: Provider['words']
}

export function createSpotExchange(options: SpotOptions, dialect: Dialect): SpotExchange {
  const { id, bookkeeping } = dialect
  const accounts = createAccounts<Story, World>({
    ...options,
    provider: id,
    // Not used: these exchanges count calls of each endpoint, which `limits.ts` does.
    documentedLimit: { max: 1, decayPerSecond: 1 },
    build: (story) => buildWorld(story, bookkeeping, options.nowMs()),
    advance: (world) => advanceWorld(world, options.nowMs()),
  })
  const keys = createSpotKeys(options.seed, id, options.scenarios, dialect.key)

  function findCaller(request: WireRequest): SpotAccount | undefined {
    const accountId = keys.read(dialect.keyOf(request))
    return accountId === undefined ? undefined : accounts.findById(accountId)
  }

  const provider: Provider = {
    id,
    recognise(request) {
      const caller = findCaller(request)
      if (caller === undefined) return undefined
      caller.calls += 1
      return { accountId: caller.id, weather: caller.scenario.weather, call: caller.calls - 1 }
    },
    answer: (request, context) => dialect.answer(request, context, findCaller(request)),
    words: dialect.words,
    insertRow(accountId, lateMs) {
      const of = accounts.findById(accountId)
      const event = { kind: 'deposit', asset: 'USDT', amount: '1', network: 'tron', status: 'done' } as const
      of?.setWorld(withEvent(of.world(), event, Math.floor(options.nowMs() - lateMs)))
    },
  }
  return {
    id,
    accounts,
    provider,
    publicIdOf: (account) => dialect.publicIdOf(account),
    credentialsOf: (account) => ({ api_key: keys.keyOf(account), ...dialect.secretOf(account) }),
  }
}
