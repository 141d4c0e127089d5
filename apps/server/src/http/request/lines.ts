/**
 * Where a request waits until it is worked on: in the line of its caller, and behind that in the line of its tenant. A
 * tenant may have thousands of users, each with turns of their own; without a line of the tenant they would take every
 * connection to the database from the other tenants.
 */
import { Refusal } from '@assay/core'
import { toNetwork } from '../../limits/index.ts'
import type { AccessToken, Caller } from '../../oauth/index.ts'
import type { Turns } from './turns.ts'

export interface LineDependencies {
  /** Throws Refusal invalid_token. No cache in front of it: a revocation holds at the very next request. */
  authenticate: (authorization: string | undefined) => Promise<Caller>
  /** How many requests of one caller are worked on at once. */
  turns?: Turns
  /** The same for all callers of one tenant. */
  tenantTurns?: Turns
}

interface Line {
  caller: string
  /** Where the caller is a user: the application. */
  application: string
  tenant: string
}

/**
 * All requests for a user's data are one caller's, whichever application sends them. An application can make tokens by
 * the dozen, so those that wait are counted for each application, and each of them has its turn.
 */
export function toLine({ userKey, clientId, tenantId }: Caller): Line {
  return { caller: userKey ?? clientId, application: clientId, tenant: tenantId }
}

/** Where a request comes from, and the token as it was sent. */
interface Sender {
  ip: string
  headers: { authorization?: string | undefined }
}

export interface Lines {
  /** For a statement that also checks the token. */
  readInTurn<Found extends { caller: Caller }>(
    token: AccessToken,
    sender: Sender,
    read: () => Promise<Found | undefined>,
  ): Promise<Found | undefined>
  inTurn<T>(line: Line, work: () => Promise<T>): Promise<T>
  /** For checking a token alone. */
  checkInTurn(
    this: void,
    token: AccessToken | undefined,
    sender: Pick<Sender, 'ip'>,
    check: () => Promise<Caller | undefined>,
  ): Promise<Caller | undefined>
}

/** More than the tokens that a process sees in the 15 minutes that one lives; about 25 MB. */
const linesKnownMax = 100_000
/** All callers whose tenant is not known yet share one line behind those of their addresses. An id is never empty. */
const unknownTenant = ''

/**
 * A token that was not seen before may be made up, and every caller can make up any number of them: so it waits in the
 * line of its address, and leaves room to users of other addresses. That a user's token begins with the user's key
 * proves nothing, because every application that the user ever connected knows that key. Once the token was valid, its
 * line is remembered until it is refused.
 *
 * A client can have any number of tokens, which all share its line: so the client of a new token is looked up first.
 */
export function createLines({ authenticate, turns, tenantTurns }: LineDependencies): Lines {
  const known = new Map<string, Line>()
  const keyOf = ({ tokenHash }: AccessToken): string => tokenHash.toString('latin1')

  function note(key: string, caller: Caller | undefined): void {
    if (caller === undefined) return void known.delete(key)
    const [oldest] = known.keys()
    if (known.size >= linesKnownMax && oldest !== undefined && !known.has(key)) known.delete(oldest)
    known.set(key, toLine(caller))
  }

  const inTurn: Lines['inTurn'] = (line, work) => {
    const { caller, application, tenant } = line
    const workInTurn = (): ReturnType<typeof work> => tenantTurns?.take(tenant, work, caller) ?? work()
    return turns?.take(caller, workInTurn, application) ?? workInTurn()
  }

  const checkInTurn: Lines['checkInTurn'] = async (token, { ip }, check) => {
    if (token === undefined) return check()
    const key = keyOf(token)
    // A user's own requests would otherwise fill the line of the tenant, and leave no place to its other users.
    try {
      const caller = await inTurn(known.get(key) ?? unknownLine(ip), check)
      note(key, caller)
      return caller
    } catch (error) {
      if (isInvalidToken(error)) note(key, undefined)
      throw error
    }
  }

  /** The line of a token that was not checked yet. */
  async function lineOf(token: AccessToken, sender: Sender): Promise<Line> {
    const found = known.get(keyOf(token))
    if (found !== undefined) return found
    if (token.kind === 'user') return unknownLine(sender.ip)
    const caller = await checkInTurn(token, sender, () => findCaller(authenticate, sender.headers.authorization))
    return caller === undefined ? unknownLine(sender.ip) : toLine(caller)
  }

  return {
    inTurn,
    checkInTurn,
    async readInTurn(token, sender, read) {
      const found = await inTurn(await lineOf(token, sender), read)
      note(keyOf(token), found?.caller)
      return found
    },
  }
}

function unknownLine(ip: string): Line {
  return { caller: toNetwork(ip), application: '', tenant: unknownTenant }
}

/** On a public path a token only identifies the caller; a wrong one counts as none. */
export async function findCaller(
  authenticate: LineDependencies['authenticate'],
  authorization: string | undefined,
): Promise<Caller | undefined> {
  if (authorization === undefined) return undefined
  try {
    return await authenticate(authorization)
  } catch (error) {
    if (isInvalidToken(error)) return undefined
    throw error
  }
}

function isInvalidToken(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'invalid_token'
}
