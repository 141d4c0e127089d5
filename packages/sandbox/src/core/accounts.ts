/**
 * The accounts of one provider. None is stored: an account is worked out from its key or its id whenever it is first
 * needed, and what changes afterwards (nonce, counter, revocation, rows added by a test) lives as long as the process.
 */
import { createKeyMaker, accountNumberOf, scenarioTagOf, type Credentials } from './keys.ts'
import { createMeter, type Meter, type MeterLimit } from './meter.ts'
import { speedOf, type Pace } from './pace.ts'
import type { Scenario } from './scenario.ts'

// Far above any test; reached, the account that was idle longest is forgotten and rebuilt when it comes back.
const accountsMax = 10_000

export interface Account<Story, World> {
  id: string
  number: string
  scenario: Scenario<Story>
  credentials: Credentials
  key: KeyState
  /** Undefined: not metered. */
  meter: Meter | undefined
  /** Calls that reached the provider so far, whatever came of them. */
  calls: number
  world(): World
  setWorld(world: World): void
}

interface KeyState {
  permissions: readonly string[]
  revoked: boolean
  expired: boolean
  /** The end the key was given; undefined for none. */
  validUntilMs: number | undefined
  nonce: bigint
  acceptedCalls: number
  firstAcceptedMs: number | undefined
}

export interface Accounts<Story, World> {
  /** Same scenario and text, same account. Undefined when there is no such scenario. */
  mint(scenario: string, text: string): Account<Story, World> | undefined
  findByKey(apiKey: string): Account<Story, World> | undefined
  findById(id: string): Account<Story, World> | undefined
  scenarios: readonly Scenario<Story>[]
}

export interface AccountsOptions<Story, World> {
  seed: string
  pace: Pace
  provider: string
  scenarios: readonly Scenario<Story>[]
  documentedLimit: MeterLimit
  /** Builds what every account of a scenario begins with; called once for each scenario, and the result is shared. */
  build: (story: Story) => World
}

export function createAccounts<Story, World>(options: AccountsOptions<Story, World>): Accounts<Story, World> {
  const { provider, scenarios } = options
  const keys = createKeyMaker(options.seed, provider)
  const live = new Map<string, Account<Story, World>>()
  const beginnings = new Map<string, World>()

  function beginningOf(scenario: Scenario<Story>): World {
    const known = beginnings.get(scenario.name)
    if (known !== undefined) return known
    const built = options.build(scenario.story())
    beginnings.set(scenario.name, built)
    return built
  }

  function open(scenario: Scenario<Story>, number: string): Account<Story, World> {
    const id = `${provider}.${scenario.name}.${number}`
    const known = live.get(id)
    if (known !== undefined) {
      live.delete(id)
      live.set(id, known)
      return known
    }
    let changed: World | undefined
    const account: Account<Story, World> = {
      id,
      number,
      scenario,
      credentials: keys.credentialsOf(scenario.name, number),
      key: newKeyState(scenario),
      meter: meterOf(scenario, options),
      calls: 0,
      world: () => changed ?? beginningOf(scenario),
      setWorld: (world) => {
        changed = world
      },
    }
    live.set(id, account)
    const [idle] = live.keys()
    if (live.size > accountsMax && idle !== undefined) live.delete(idle)
    return account
  }

  return {
    scenarios,
    mint(name, text) {
      const scenario = scenarios.find((candidate) => candidate.name === name)
      return scenario && open(scenario, accountNumberOf(text))
    },
    findByKey(apiKey) {
      const read = keys.read(apiKey)
      const scenario = read && scenarios.find((candidate) => scenarioTagOf(candidate.name) === read.scenarioTag)
      return scenario && open(scenario, read.accountNumber)
    },
    findById(id) {
      const [ofProvider, name, number] = id.split('.')
      const scenario = scenarios.find((candidate) => candidate.name === name)
      if (ofProvider !== provider || !scenario || !number || !/^[0-9a-f]{24}$/.test(number)) return undefined
      return open(scenario, number)
    },
  }
}

function newKeyState(scenario: Scenario<unknown>): KeyState {
  return {
    permissions: scenario.key.permissions,
    revoked: scenario.key.refused ?? false,
    expired: false,
    validUntilMs: undefined,
    nonce: -1n,
    acceptedCalls: 0,
    firstAcceptedMs: undefined,
  }
}

function meterOf<Story, World>(scenario: Scenario<Story>, options: AccountsOptions<Story, World>): Meter | undefined {
  if (scenario.limit === 'none') return undefined
  const limit = scenario.limit === 'documented' ? options.documentedLimit : scenario.limit
  return createMeter({ max: limit.max, decayPerSecond: limit.decayPerSecond * speedOf(options.pace) })
}

/** Whether the provider still knows the key; counts the call when it does. */
export function acceptKey(account: Account<unknown, unknown>, nowMs: number): boolean {
  const { key } = account
  const revocation = account.scenario.key.revoked
  if (revocation !== undefined && key.firstAcceptedMs !== undefined) {
    const worn = key.acceptedCalls >= revocation.afterCalls || nowMs - key.firstAcceptedMs >= revocation.afterMs
    if (worn) key.revoked = true
  }
  if (key.validUntilMs !== undefined && nowMs >= key.validUntilMs) key.expired = true
  if (key.revoked || key.expired) return false
  key.firstAcceptedMs ??= nowMs
  key.acceptedCalls += 1
  return true
}
