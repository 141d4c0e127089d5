/**
 * Finds the primary among several hosts, and follows it when another host takes over.
 *
 * node-postgres connects to one host, so a client of ours asks all of them which one takes writes before its first
 * connection and after every lost one. Between two losses the answer is remembered. Every new connection is asked
 * again, because a primary that failed may come back as a standby, whose data is old.
 *
 * `transaction_read_only` is what libpq looks at for target_session_attrs=read-write: it is on while a server is in
 * recovery, and also where default_transaction_read_only fences a former primary off.
 */
import pg from 'pg'
import { isDatabaseAway } from '../away.ts'
import { errorCodeOf } from '../error-code.ts'

export interface HostState {
  /** Host and port. */
  host: string
  /** Undefined when it did not answer. */
  takesWrites: boolean | undefined
}

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void)

interface Host {
  host: string
  port: number
}

/** A host that disappeared silently must not delay the others for long. */
const answerMaxMsDefault = 2_000
/** The doctor has time, and must not call a slow host a dead one. */
const examineMaxMs = 20_000
/** "read_only_sql_transaction": what a standby itself would say to the first write. */
const readOnlyCode = '25006'
/** "sqlclient_unable_to_establish_sqlconnection" */
const unreachableCode = '08001'

/** A client class for `pg.Pool`. It calls `onFound` when the primary has changed. */
export function createPrimaryClient(
  urls: readonly string[],
  onFound: (host: string) => void,
  answerMaxMs = answerMaxMsDefault,
): typeof pg.Client {
  let found: Promise<Host> | undefined
  let last: string | undefined

  async function find(): Promise<Host> {
    const primary = await findPrimary(urls, answerMaxMs)
    if (last !== describe(primary)) onFound((last = describe(primary)))
    return primary
  }

  return class PrimaryClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ connectionTimeoutMillis: answerMaxMs, ...config })
    }

    // pg.Pool calls it with a callback.
    override connect(): Promise<pg.Client>
    override connect(callback: Connected): void
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const connected = this.connectToPrimary()
      if (callback === undefined) return connected
      // @types/pg names two kinds of callback; node-postgres calls either with an error or with nothing.
      const done = callback as (error?: unknown) => void
      connected.then(() => done(), done)
      return undefined
    }

    private async connectToPrimary(): Promise<pg.Client> {
      const asked = (found ??= find())
      // Clients that wait for the same answer must not make each other forget a newer one.
      const forget = (): void => void (found === asked && (found = undefined))
      this.on('error', forget)
      try {
        const { host, port } = await asked
        Object.assign(this, { host, port })
        await super.connect()
        await requireWrites(this, answerMaxMs)
        return this
      } catch (error) {
        forget()
        void this.end().catch(() => undefined)
        throw error
      }
    }
  }
}

/** For the doctor: every host, in the order given. */
export function examineHosts(urls: readonly string[]): Promise<HostState[]> {
  return Promise.all(
    urls.map(async (url) => {
      const client = toClient(url, examineMaxMs)
      const state = { host: describe(client), takesWrites: true }
      return ask(client, examineMaxMs).then(
        () => state,
        (error: unknown) => ({ ...state, takesWrites: errorCodeOf(error) === readOnlyCode ? false : undefined }),
      )
    }),
  )
}

/**
 * All hosts are asked at once, and the first one in their order that takes writes is the primary. If two of them took
 * writes, every process would choose the same one.
 */
async function findPrimary(urls: readonly string[], answerMaxMs: number): Promise<Host> {
  const clients = urls.map((url) => toClient(url, answerMaxMs))
  const answers = clients.map((client) => ask(client, answerMaxMs))
  for (const answer of answers) answer.catch(() => undefined)
  const failures: Error[] = []
  for (const answer of answers) {
    try {
      return await answer
    } catch (error) {
      failures.push(error instanceof Error ? error : new Error(String(error)))
    }
  }
  // A wrong password is a mistake in the address. It does not pass by itself, and must not be mistaken for a failover.
  const mistake = failures.find((error) => !isDatabaseAway(error))
  if (mistake !== undefined) throw mistake
  const states = clients.map((client, index) => `${describe(client)}: ${messageOf(failures[index])}`)
  // An answer from a server says more than a network error: a standby that answers will become the primary.
  const code = failures.map(errorCodeOf).find((candidate) => /^\d/.test(candidate ?? '')) ?? unreachableCode
  throw toError(`No host of the database takes writes (${states.join('; ')}).`, code)
}

function toClient(url: string, answerMaxMs: number): pg.Client {
  return new pg.Client({ connectionString: url, application_name: 'assay', connectionTimeoutMillis: answerMaxMs })
}

async function ask(client: pg.Client, answerMaxMs: number): Promise<Host> {
  client.on('error', () => undefined)
  try {
    await client.connect()
    await requireWrites(client, answerMaxMs)
    return { host: client.host, port: client.port }
  } finally {
    void client.end().catch(() => undefined)
  }
}

async function requireWrites(client: pg.Client, answerMaxMs: number): Promise<void> {
  const limited = { text: 'show transaction_read_only', query_timeout: answerMaxMs }
  const { rows } = await client.query<{ transaction_read_only: string }>(limited)
  if (rows[0]?.transaction_read_only !== 'off') throw toError('it is a standby, or read-only', readOnlyCode)
}

function toError(message: string, code: string): Error {
  return Object.assign(new Error(message), { code })
}

function describe({ host, port }: Host): string {
  return host.startsWith('/') ? host : `${host}:${port}`
}

/** A name with several addresses fails with one error for each, and without a message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}
