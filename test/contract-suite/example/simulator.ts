/** Tidepool itself: an HTTP server that keeps accounts in memory. It shares nothing with the connector. */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Entry {
  id: string
  event: string
  wallet: string
  timeMs: number
  kind: string
  asset: string
  amount: string
  fee: string
}

interface Account {
  id: string
  key: string
  secret: string
  rights: readonly string[]
  wallets: readonly string[]
  entries: Entry[]
  lastNonce: bigint
  calls: number
}

interface ArmedFault {
  kind: string
  after?: number
  times?: number
  endpoint?: string
}

interface Armed extends ArmedFault {
  account: Account
  seen: number
}

const pageSize = 20
const decimals = 18

/** A decimal text as a whole number of 10⁻¹⁸, and back. */
function toUnits(text: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,18}))?$/.exec(text) ?? []
  return BigInt(`${sign}${whole}${fraction.padEnd(decimals, '0')}`)
}

function toText(units: bigint): string {
  const digits = (units < 0n ? -units : units).toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(-decimals).replace(/0+$/, '')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`
}

/** Two trades a day, each an entry in two wallets, behind a deposit; a third wallet never held anything. */
function tellHistory(nowMs: number): Entry[] {
  const entries: Entry[] = []
  const book = (event: number, wallet: string, kind: string, asset: string, amount: string, fee = '0'): void => {
    const timeMs = nowMs - 90 * 86_400_000 + event * 43_200_000
    const id = `e${String(entries.length).padStart(6, '0')}`
    entries.push({ id, event: `ev${event}`, wallet, timeMs, kind, asset, amount, fee })
  }
  book(0, 'cash', 'deposit', 'EUR', '1000000')
  for (let event = 1; event < 80; event += 1) {
    book(event, 'cash', 'trade', 'EUR', `-${event}.25`, '0.01')
    book(event, 'coins', 'trade', 'BTC', `0.0000000000000000${10 + event}`)
  }
  book(80, 'coins', 'withdrawal', 'BTC', '-0.000000000000000001')
  return entries
}

interface Answer {
  status: number
  body: string
}

const answers: Readonly<Record<string, Answer>> = {
  down: { status: 503, body: '<html>Service unavailable</html>' },
  busy: { status: 429, body: '{}' },
  garbage: { status: 200, body: '{"balances":[{"asset":' },
  revoked: { status: 401, body: '{}' },
}

export async function startTidepool() {
  const accounts = new Map<string, Account>()
  let armed: Armed[] = []
  let offsetMs = 0
  const now = (): number => Date.now() + offsetMs
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { status, body } = judge(request)
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(status === 429 ? { 'retry-after': '1' } : {}),
    })
    response.end(body)
  }

  function judge(request: IncomingMessage): Answer {
    const path = request.url ?? ''
    const account = accounts.get(String(request.headers['x-key']))
    if (account === undefined) return { status: 401, body: '{}' }
    account.calls += 1
    const fault = takeFault(account, path)
    if (fault !== undefined) return fault
    const nonce = String(request.headers['x-nonce'])
    const expected = createHmac('sha256', account.secret).update(`${nonce}\n${path}`).digest()
    const given = Buffer.from(String(request.headers['x-signature']), 'hex')
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return { status: 401, body: '{}' }
    if (BigInt(nonce) <= account.lastNonce) return { status: 409, body: '{}' }
    account.lastNonce = BigInt(nonce)
    return serve(account, new URL(path, 'http://tidepool'))
  }

  function takeFault(account: Account, path: string): Answer | undefined {
    for (const fault of armed) {
      if (fault.account !== account || !new URL(path, 'http://x').pathname.endsWith(fault.endpoint ?? '')) continue
      fault.seen += 1
      const from = fault.after ?? 0
      if (fault.seen > from && fault.seen <= from + (fault.times ?? Infinity)) return answers[fault.kind]
    }
    return undefined
  }

  function serve(account: Account, url: URL): Answer {
    const [, , resource = '', wallet = ''] = url.pathname.split('/')
    if (resource === 'account') return ok({ id: account.id, rights: account.rights })
    if (!account.rights.includes('Read')) return { status: 403, body: '{}' }
    if (resource === 'balances')
      return ok({ balances: balancesOf(account).map(([asset, amount]) => ({ asset, amount })) })
    if (resource === 'wallets' && wallet === '') return ok({ wallets: account.wallets.map((id) => ({ id })) })
    if (resource === 'wallets') return ok(pageOf(account, wallet, url.searchParams))
    return { status: 404, body: '{}' }
  }

  async function newAccount(kind: string) {
    const account: Account = {
      ...{
        id: randomUUID(),
        key: `tp_${randomUUID()}`,
        secret: randomUUID(),
        rights: ['Read'],
        lastNonce: 0n,
        calls: 0,
      },
      wallets: ['cash', 'coins', 'forgotten'],
      entries: kind === 'default' ? tellHistory(now()) : [],
    }
    accounts.set(account.key, account)
    return controlOf(account)
  }

  function controlOf(account: Account) {
    return {
      authorize: async () => ({ type: 'api_key' as const, apiKey: account.key, secretKey: account.secret }),
      hold: async () => ({
        records: account.entries.map(({ wallet, id, asset: code, amount, fee }) => ({
          ...{ stream: 'entries', partition: wallet, key: id },
          changes: [{ code, amount: toText(toUnits(amount) - toUnits(fee)) }],
        })),
        balances: balancesOf(account).map(([code, amount]) => ({ code, amount })),
      }),
      async book(booking: {
        time?: string
        entries: readonly { type: string; code: string; amount: string; fee?: string }[]
      }) {
        const timeMs = booking.time === undefined ? now() : Date.parse(booking.time)
        const event = randomUUID()
        const booked = booking.entries.map(({ type: kind, code: asset, amount, fee = '0' }): Entry => {
          return { id: randomUUID(), event, wallet: 'cash', timeMs, kind, asset, amount, fee }
        })
        account.entries.push(...booked)
        return booked.map(({ id }) => id)
      },
      async withdraw(keys: readonly string[]) {
        account.entries = account.entries.filter(({ id }) => !keys.includes(id))
      },
      async setRights(rights: 'read_only' | 'excess' | 'missing') {
        account.rights = { read_only: ['Read'], excess: ['Read', 'Trade'], missing: [] }[rights]
      },
      async arm(fault: ArmedFault) {
        armed.push({ ...fault, account, seen: 0 })
      },
      countCalls: async () => ({ calls: account.calls, overlaps: 0 }),
    }
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    newAccount,
    async clearFaults() {
      armed = []
    },
    async setClock(ms: number) {
      offsetMs = ms
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function ok(body: object): Answer {
  return { status: 200, body: JSON.stringify(body) }
}

function balancesOf({ entries }: Account): [asset: string, amount: string][] {
  const sums = new Map<string, bigint>()
  for (const { asset, amount, fee } of entries) {
    sums.set(asset, (sums.get(asset) ?? 0n) + toUnits(amount) - toUnits(fee))
  }
  return [...sums].map(([asset, units]) => [asset, toText(units)])
}

/** Oldest first; `after` is the id of the last entry of the page before. */
function pageOf({ entries }: Account, wallet: string, query: URLSearchParams): object {
  const [from, to] = [Number(query.get('from')), Number(query.get('to'))]
  const listed = entries
    .filter((entry) => entry.wallet === wallet && from <= entry.timeMs && entry.timeMs < to)
    .toSorted((a, b) => a.timeMs - b.timeMs || (a.id < b.id ? -1 : 1))
  const at = listed.findIndex(({ id }) => id === query.get('after')) + 1
  const page = listed.slice(at, at + pageSize)
  const shown = page.map(({ id, event, timeMs, kind, asset, amount, fee }) => {
    return { id, event, time: String(timeMs), kind, asset, amount, fee }
  })
  return { entries: shown, next: at + pageSize < listed.length ? (page.at(-1)?.id ?? null) : null }
}
