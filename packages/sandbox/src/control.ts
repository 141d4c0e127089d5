/**
 * The control API: how the service and tests configure the sandbox. JSON over HTTP on its own listener, so that
 * a test can use it without importing this package.
 *
 *   GET    /control/providers                         what there is, and where
 *   POST   /control/accounts                          { provider_id, scenario, account } → credentials
 *   GET    /control/accounts/{account_id}/state       everything the provider holds, for an independent check
 *   POST   /control/accounts/{account_id}/entries     { entries, refid? } books ledger entries under one reference
 *   POST   /control/accounts/{account_id}/withdrawn   { ids } takes records back, as if they had never been booked
 *   POST   /control/accounts/{account_id}/records     { id, withdrawn?, amount?, status?, type?, time? }: a correction
 *   POST   /control/accounts/{account_id}/key         { permissions?, revoked?, expired?, valid_until? }: all its keys
 *   POST   /control/accounts/{account_id}/keys        { key } → credentials: a further key of the same account
 *   GET    /control/keys?provider_id=                 the API keys that were issued, and the account of each
 *   POST   /control/sign-ins                          { provider_id, token } → the account of a code or token
 *   GET    /control/providers/{provider_id}/faults    POST sets one, DELETE clears all
 *   GET    /control/clock                             POST { offset_ms } moves it forward
 *   GET    /control/log?account_id=                   counts of calls, and of overlaps of one key; DELETE resets
 */
import { z } from 'zod'
import type { KeyChange } from './core/accounts.ts'
import type { Clock } from './core/clock.ts'
import { faultSchema, type Faults } from './core/serving/faults.ts'
import type { KeyList, KeyRecord } from './core/issued-lists.ts'
import type { Journal } from './core/serving/journal.ts'
import type { WireAnswer, WireRequest } from './core/serving/listener.ts'

/** A chain runs beside this process and answers after a moment; the other providers answer at once. */
type Eventually<T> = T | Promise<T>

export interface Minted {
  account_id: string
  credentials: Record<string, string>
}

/** What a provider offers to the control API. */
export interface Controlled {
  providerId: string
  url: string
  scenarios: readonly { name: string; title: string; description: string; expects: string }[]
  mint(scenario: string, account: string): Eventually<Minted | undefined>
  /** A further key of an account, named by a text. Absent where accounts have no keys. */
  addKey?(accountId: string, text: string): Minted | undefined
  /** The account that a person signed in to, by its code or a token. Absent where there are keys only. */
  findSignedIn?(token: string): string | undefined
  state(accountId: string): Eventually<object | undefined>
  /** Throws a RangeError when the entries cannot be booked. `refid`: the reference that all of them get. */
  addEntries(
    accountId: string,
    entries: readonly NewEntry[],
    nowMs: number,
    refid?: string,
  ): Eventually<string[] | undefined>
  /** Withdraws all records or none. Throws a RangeError when an id is unknown or a balance would become negative. */
  withdraw(accountId: string, ids: readonly string[]): Eventually<object | undefined>
  /** Absent where records cannot be changed. Throws a RangeError when the account would become impossible. */
  changeRecord?(accountId: string, change: RecordChange): Eventually<object | undefined>
  changeKey(accountId: string, change: KeyChange): object | undefined
}

const newEntrySchema = z.strictObject({
  type: z.string().min(1).max(60),
  subtype: z.string().max(60).optional(),
  asset: z.string().min(1).max(40),
  amount: z.string().max(80),
  fee: z.string().max(80).optional(),
  /** ISO 8601; now when left out. Entries of one call share a reference. */
  time: z.iso.datetime().optional(),
  /** The hash of a transfer on a chain, where the provider reports one. */
  hash: z.string().max(200).optional(),
  address: z.string().max(200).optional(),
})
export type NewEntry = z.infer<typeof newEntrySchema>

const recordChangeSchema = z.strictObject({
  /** The id on the wire. */
  id: z.string().min(1).max(200),
  /** True: the record is no longer shown and does not count. False: it is back. */
  withdrawn: z.boolean().optional(),
  amount: z.string().max(80).optional(),
  status: z.string().max(60).optional(),
  type: z.string().min(1).max(60).optional(),
  time: z.iso.datetime().optional(),
})
export type RecordChange = z.infer<typeof recordChangeSchema>

const keyChangeSchema = z.strictObject({
  permissions: z.array(z.string().max(60)).max(40).optional(),
  revoked: z.boolean().optional(),
  expired: z.boolean().optional(),
  /** ISO 8601: the end that the key reports; from then on the key is unknown. */
  valid_until: z.iso.datetime().optional(),
})

const signInSchema = z.strictObject({ provider_id: z.string(), token: z.string().min(1).max(4_000) })
const furtherKeySchema = z.strictObject({ key: z.string().min(1).max(500) })
const mintSchema = z.strictObject({
  provider_id: z.string(),
  scenario: z.string().default('default'),
  account: z.string().min(1).max(500),
})
const entriesSchema = z.strictObject({
  entries: z.array(newEntrySchema).min(1).max(1_000),
  /** The exact reference, for providers that write one into their entries: an existing one, or "Unknown". */
  refid: z.string().min(1).max(60).optional(),
})
const withdrawnSchema = z.strictObject({ ids: z.array(z.string().max(200)).min(1).max(1_000) })
const clockSchema = z.strictObject({ offset_ms: z.int().min(0).max(3_153_600_000_000) })

export interface ControlDeps {
  clock: Clock
  journal: Journal
  providers: readonly Controlled[]
  pricesUrl: string
  keys: KeyList
  /** By provider id; the price API has faults too. */
  faults: ReadonlyMap<string, Faults>
}

class ControlRefusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

type Route = (request: WireRequest, deps: ControlDeps, id: string) => unknown

const routes: Readonly<Record<string, Route>> = {
  'GET providers': (_, { providers, pricesUrl }) => ({
    providers: providers.map(({ providerId, url, scenarios }) => ({
      provider_id: providerId,
      url,
      scenarios: scenarios.map(({ name, title, description, expects }) => ({ name, title, description, expects })),
    })),
    prices_url: pricesUrl,
  }),
  'POST accounts': mintAccount,
  'GET accounts/:id/state': async (_, deps, id) => found(await ofAccount(deps, id).state(id)),
  'POST accounts/:id/entries': async (request, deps, id) => {
    const { entries, refid } = parse(entriesSchema, request)
    return { ids: found(await ofAccount(deps, id).addEntries(id, entries, deps.clock.nowMs(), refid)) }
  },
  'POST accounts/:id/withdrawn': async (request, deps, id) =>
    found(await ofAccount(deps, id).withdraw(id, parse(withdrawnSchema, request).ids)),
  'POST accounts/:id/records': async (request, deps, id) => {
    const provider = ofAccount(deps, id)
    if (provider.changeRecord === undefined) throw new ControlRefusal(404, `${provider.providerId} keeps its records`)
    return found(await provider.changeRecord(id, parse(recordChangeSchema, request)))
  },
  'POST accounts/:id/key': (request, deps, id) =>
    found(ofAccount(deps, id).changeKey(id, parse(keyChangeSchema, request))),
  'POST accounts/:id/keys': addKey,
  'GET keys': listKeys,
  'POST sign-ins': (request, deps) => {
    const { provider_id, token } = parse(signInSchema, request)
    const provider = found(deps.providers.find((one) => one.providerId === provider_id))
    return { account_id: found(provider.findSignedIn?.(token)) }
  },
  'GET providers/:id/faults': (_, deps, id) => ({ faults: faultsOf(deps, id).list() }),
  'POST providers/:id/faults': (request, deps, id) => {
    const faults = faultsOf(deps, id)
    faults.arm(parse(faultSchema, request), deps.clock.nowMs())
    return { faults: faults.list() }
  },
  'DELETE providers/:id/faults': (_, deps, id) => {
    faultsOf(deps, id).clear()
    return { faults: [] }
  },
  'GET clock': (_, { clock }) => clockState(clock),
  'POST clock': (request, { clock }) => {
    clock.moveTo(parse(clockSchema, request).offset_ms)
    return clockState(clock)
  },
  'GET log': (request, { journal }) => {
    const accountId = request.query.get('account_id') ?? undefined
    return { requests: journal.list(accountId), overlaps: journal.overlaps(accountId) }
  },
  'DELETE log': (_, { journal }) => {
    journal.clear()
    return { requests: [] }
  },
}

export async function answerControl(request: WireRequest, deps: ControlDeps): Promise<WireAnswer> {
  const [, root, collection = '', id, ...rest] = request.path.split('/')
  const shape = [collection, ...(id === undefined ? [] : [':id']), ...rest].join('/')
  const key = `${request.method} ${shape}`
  const route = root === 'control' && Object.hasOwn(routes, key) ? routes[key] : undefined
  try {
    // Browsers send the origin of the page; programs do not. Web pages may not use this API.
    if (request.headers.origin !== undefined) throw new ControlRefusal(403, 'not for web pages')
    if (route === undefined) throw new ControlRefusal(404, 'no such control endpoint')
    return { status: 200, body: JSON.stringify(await route(request, deps, decodeURIComponent(id ?? ''))) }
  } catch (error) {
    const status = error instanceof ControlRefusal ? error.status : error instanceof RangeError ? 400 : undefined
    if (status === undefined) throw error
    return { status, body: JSON.stringify({ error: (error as Error).message }) }
  }
}

async function mintAccount(request: WireRequest, deps: ControlDeps): Promise<unknown> {
  const { provider_id, scenario, account } = parse(mintSchema, request)
  const provider = deps.providers.find((one) => one.providerId === provider_id)
  if (provider === undefined) throw new ControlRefusal(404, `no simulated provider ${provider_id}`)
  const minted = await provider.mint(scenario, account)
  if (minted !== undefined) {
    if (minted.credentials['api_key'] !== undefined) deps.keys.add({ provider_id, scenario, name: account })
    return minted
  }
  const names = provider.scenarios.map((one) => one.name).join(', ')
  throw new ControlRefusal(404, `${provider_id} has no scenario ${scenario}; there are ${names}`)
}

function addKey(request: WireRequest, deps: ControlDeps, id: string): unknown {
  const provider = ofAccount(deps, id)
  const { key: name } = parse(furtherKeySchema, request)
  if (provider.addKey === undefined)
    throw new ControlRefusal(404, `the accounts of ${provider.providerId} have no keys`)
  const minted = found(provider.addKey(id, name))
  const [, scenario = ''] = minted.account_id.split('.')
  deps.keys.add({ provider_id: provider.providerId, scenario, name, further_key_of: minted.account_id })
  return minted
}

/** The newest first. */
async function listKeys(request: WireRequest, deps: ControlDeps): Promise<unknown> {
  const provider = found(deps.providers.find((one) => one.providerId === request.query.get('provider_id')))
  const keys: object[] = []
  for (const record of deps.keys.list().toReversed()) {
    const minted = record.provider_id === provider.providerId ? await mintAgain(provider, record) : undefined
    if (minted === undefined) continue
    const { api_key, secret_key } = minted.credentials
    keys.push({ account_id: minted.account_id, api_key, secret_key })
  }
  return { keys }
}

/** The same record gives the same key, because only what a key is made from is stored. */
export function mintAgain(provider: Controlled, record: KeyRecord): Eventually<Minted | undefined> {
  const { scenario, name, further_key_of: owner } = record
  return owner === undefined ? provider.mint(scenario, name) : provider.addKey?.(owner, name)
}

function faultsOf({ faults }: ControlDeps, providerId: string): Faults {
  const own = faults.get(providerId)
  if (own !== undefined) return own
  throw new ControlRefusal(404, `no simulated provider ${providerId}; there are ${[...faults.keys()].join(', ')}`)
}

function ofAccount(deps: ControlDeps, accountId: string): Controlled {
  return found(deps.providers.find((one) => accountId.startsWith(`${one.providerId}.`)))
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new ControlRefusal(404, 'no provider, account or key has that id')
  return value
}

function clockState(clock: Clock): object {
  return { offset_ms: clock.offsetMs(), now: new Date(clock.nowMs()).toISOString() }
}

function parse<T>(schema: z.ZodType<T>, request: WireRequest): T {
  let sent: unknown
  try {
    sent = JSON.parse(request.body)
  } catch {
    throw new ControlRefusal(400, 'the body must be JSON')
  }
  const parsed = schema.safeParse(sent)
  if (!parsed.success) throw new ControlRefusal(400, parsed.error.issues.map(toSentence).join('; '))
  return parsed.data
}

/** The words become the `detail` of a problem document, which is one line. */
function toSentence(issue: z.core.$ZodIssue): string {
  const name = issue.path.length === 0 ? 'the body' : issue.path.join('.')
  if (issue.code === 'invalid_value') return `${name} must be one of: ${issue.values.map(String).join(', ')}`
  return `${name}: ${issue.message}`
}
