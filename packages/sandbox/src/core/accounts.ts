/**
 * The accounts of one provider. None is stored: an account is computed from its key or id when it is first needed,
 * and what changes afterwards (nonce, counter, revocation, rows added by a test) lasts as long as the process.
 */
import { createKeyMaker, accountNumberOf, scenarioTagOf, type Credentials, type KeyMaker } from './keys.ts'
import { createMeter, type Meter, type MeterLimit } from './serving/meter.ts'
import { speedOf, type Pace } from './clock.ts'
import type { Scenario } from './scenario.ts'

// Far more than any test needs. Beyond it, the account that was idle longest is dropped and rebuilt when needed.
const accountsMax = 10_000

/**
 * An account as one of its keys sees it: the keys of an account share its records and limits, and each has its own
 * state.
 */
export interface Account<Story, World> {
  id: string
  number: string
  /** What the key carries: the account's number for its first key, another for each further one. */
  keyNumber: string
  scenario: Scenario<Story>
  credentials: Credentials
  key: KeyState
  /** Undefined: not metered. */
  meter: Meter | undefined
  /** Calls that reached the provider so far, whatever their result. */
  calls: number
  world(): World
  setWorld(world: World): void
}

interface KeyState {
  permissions: readonly string[]
  revoked: boolean
  expired: boolean
  /** The end that the key was given; undefined for none. */
  validUntilMs: number | undefined
  nonce: bigint
  acceptedCalls: number
  firstAcceptedMs: number | undefined
}

export interface Accounts<Story, World> {
  /** The same scenario and text give the same account. Undefined for an unknown scenario. */
  mint(scenario: string, text: string): Account<Story, World> | undefined
  findByKey(apiKey: string): Account<Story, World> | undefined
  /** With its first key, or with the key that has the number of this id. */
  findById(id: string): Account<Story, World> | undefined
  /** A further key of an account: the same text gives the same key. Undefined for an unknown account. */
  addKey(id: string, text: string): Account<Story, World> | undefined
  /** The account with each of its keys, the first one first; empty for an unknown account. */
  listKeys(id: string): readonly Account<Story, World>[]
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
  /** The same world at this moment, for stories that go on; the world itself if nothing has happened since. */
  advance?: (world: World) => World
}

interface AccountMaker<Story, World> {
  keys: KeyMaker
  build(scenario: Scenario<Story>, number: string, id: string): Account<Story, World>
  /** The same account as another of its keys sees it. */
  withKey(account: Account<Story, World>, keyNumber: string): Account<Story, World>
}

function createAccountMaker<Story, World>(options: AccountsOptions<Story, World>): AccountMaker<Story, World> {
  const keys = createKeyMaker(options.seed, options.provider)
  const advance = options.advance ?? ((world: World) => world)
  const beginnings = new Map<string, World>()

  function beginningOf(scenario: Scenario<Story>): World {
    const known = beginnings.get(scenario.name)
    const world = known === undefined ? options.build(scenario.story()) : advance(known)
    if (world !== known) beginnings.set(scenario.name, world)
    return world
  }

  return {
    keys,
    build(scenario, number, id) {
      let changed: World | undefined
      return {
        id,
        number,
        keyNumber: number,
        scenario,
        credentials: keys.credentialsOf(scenario.name, number),
        key: newKeyState(scenario),
        meter: meterOf(scenario, options),
        calls: 0,
        world() {
          if (changed === undefined) return beginningOf(scenario)
          changed = advance(changed)
          return changed
        },
        setWorld: (world) => {
          changed = world
        },
      }
    },
    withKey(account, keyNumber) {
      const { scenario } = account
      const credentials = keys.credentialsOf(scenario.name, keyNumber)
      return { ...account, keyNumber, credentials, key: newKeyState(scenario), calls: 0 }
    },
  }
}

export function createAccounts<Story, World>(options: AccountsOptions<Story, World>): Accounts<Story, World> {
  const { provider, scenarios } = options
  const { keys, build, withKey } = createAccountMaker(options)
  const live = new Map<string, Account<Story, World>>()
  /**
   * By account id, the numbers of its further keys; and by the id that such a key carries, the account that it opens.
   */
  const furtherKeys = new Map<string, Set<string>>()
  const openedBy = new Map<string, string>()

  function open(scenario: Scenario<Story>, number: string): Account<Story, World> {
    const id = `${provider}.${scenario.name}.${number}`
    const known = live.get(id)
    if (known !== undefined) {
      live.delete(id)
      live.set(id, known)
      return known
    }
    const owner = findOpenedBy(id)
    const account = owner === undefined ? build(scenario, number, id) : withKey(owner, number)
    live.set(id, account)
    const [idle] = live.keys()
    if (live.size > accountsMax && idle !== undefined) live.delete(idle)
    return account
  }

  function findOpenedBy(id: string): Account<Story, World> | undefined {
    const ownerId = openedBy.get(id)
    return ownerId === undefined ? undefined : findById(ownerId)
  }

  function findById(id: string): Account<Story, World> | undefined {
    const [ofProvider, name, number] = id.split('.')
    const scenario = scenarios.find((candidate) => candidate.name === name)
    if (ofProvider !== provider || !scenario || !number || !/^[0-9a-f]{24}$/.test(number)) return undefined
    return open(scenario, number)
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
    findById,
    addKey(id, text) {
      const account = findById(id)
      if (account === undefined) return undefined
      const number = accountNumberOf(`key\n${text}`)
      furtherKeys.set(account.id, (furtherKeys.get(account.id) ?? new Set()).add(number))
      openedBy.set(`${provider}.${account.scenario.name}.${number}`, account.id)
      return open(account.scenario, number)
    },
    listKeys(id) {
      const account = findById(id)
      if (account === undefined) return []
      const further = [...(furtherKeys.get(account.id) ?? [])]
      return [account, ...further.map((number) => open(account.scenario, number))]
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

export interface KeyChange {
  permissions?: readonly string[] | undefined
  revoked?: boolean | undefined
  expired?: boolean | undefined
  /** ISO 8601: the end that the key reports; from then on the key is unknown. */
  valid_until?: string | undefined
}

/** Changes every key that the account has; a key that is added later starts as the scenario says. */
export function changeKeys(all: readonly Account<unknown, unknown>[], change: KeyChange): object | undefined {
  for (const { key } of all) {
    key.permissions = change.permissions ?? key.permissions
    key.revoked = change.revoked ?? key.revoked
    key.expired = change.expired ?? key.expired
    if (change.valid_until !== undefined) key.validUntilMs = Date.parse(change.valid_until)
  }
  const [first] = all
  return first && describeKey(first)
}

export function describeKey({ key }: Account<unknown, unknown>): object {
  return { permissions: key.permissions, revoked: key.revoked, expired: key.expired }
}
