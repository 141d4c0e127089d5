import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { inspect } from 'node:util'
import type { SourceError } from '@assay/core'
import type { AccountFacts, ApiKeyCredentials, Io, Page, AccountReader, Window } from '../kit/connector.ts'
import { connector } from './connector.ts'

const credentials: ApiKeyCredentials = {
  type: 'api_key',
  apiKey: '4/SDrDBcOOPnm3nPlNfEMMJDeRcIVqPz+QhRxIodyZbI9po/aVRiHsgX',
  // The private key of the worked example in Kraken's authentication guide.
  secretKey: 'kQH5HW/8p1uGOVjbgWA7FunAmGO8lsSUXNsu3eow76sz84Q18fWxnyRzBHCd3pd5nE9qa99HAZtuZuj6F1huXg==',
}

interface Received {
  path: string
  headers: IncomingMessage['headers']
  body: string
  params: URLSearchParams
}

// A server that has one answer ready for each request, and keeps what it was asked.
const received: Received[] = []
let answer: (params: URLSearchParams) => string | { status: number; headers?: Record<string, string>; body: string }
const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
  request.on('end', () => {
    const params = new URLSearchParams(body)
    received.push({ path: request.url ?? '', headers: request.headers, body, params })
    const reply = answer(params)
    if (typeof reply === 'string') return response.end(reply)
    response.writeHead(reply.status, reply.headers).end(reply.body)
  })
})

let reader: AccountReader
let nonce = 1_616_492_376_594n

before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
after(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  received.length = 0
  reader = connector.open(credentials, io())
})

function io(): Io {
  return {
    fetch: globalThis.fetch,
    now: () => 1_700_000_000_000,
    nextNonce: () => String((nonce += 1n)),
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  }
}

function refuse(...errors: string[]): void {
  answer = () => JSON.stringify({ error: errors })
}

function fault(expected: string, retryAfterMs?: number): (error: SourceError) => boolean {
  return (error) => {
    assert.deepEqual([error.fault, error.retryAfterMs], [expected, retryAfterMs], error.message)
    assert.doesNotMatch(inspect(error, { depth: 10 }), /4\/SDrDB|kQH5HW/)
    return true
  }
}

const day: Window = { unit: 'ms', start: 1_688_428_800_000, end: 1_688_515_200_000 }

function fetchPage(stream: string, window: Window, pageMark: string | null): Promise<Page> {
  return reader.fetchPage({ stream, partition: '', window, pageMark, lastingMark: null, state: {} })
}

/** A ledger row at a time in seconds, as docs.kraken.com shows it. */
function row(id: number, time: string): string {
  return `"L${id}":{"refid":"T${id}","time":${time},"type":"trade","subtype":"","aclass":"currency","asset":"ZGBP","amount":"-24.5000","fee":"0.0490","balance":"459567.9171"}`
}

const nothingKnown: AccountFacts = { addresses: new Set(), state: {} }

function ledgerPage(rows: readonly string[], count: number): string {
  return `{"error":[],"result":{"ledger":{${rows.join(',')}},"count":${count}}}`
}

describe('a signed call', () => {
  it('carries key and signature, and the signature is right (docs.kraken.com, Spot REST authentication)', async () => {
    answer = () => '{"error":[],"result":{}}'
    await reader.fetchBalances({})
    const [{ path, headers, body, params }] = received as [Received]
    assert.equal(path, '/0/private/BalanceEx')
    assert.equal(headers['api-key'], credentials.apiKey)
    assert.equal(headers['user-agent'], 'assay/0.1')
    const digest = createHash('sha256')
      .update(`${params.get('nonce')}${body}`)
      .digest()
    const key = Buffer.from(credentials.secretKey, 'base64')
    assert.equal(headers['api-sign'], createHmac('sha512', key).update(path).update(digest).digest('base64'))
  })

  it('takes the nonces it is given, in order', async () => {
    answer = () => '{"error":[],"result":{}}'
    for (let call = 0; call < 3; call += 1) await reader.fetchBalances({})
    const nonces = received.map(({ params }) => BigInt(params.get('nonce') ?? 0))
    assert.deepEqual(nonces, [nonce - 2n, nonce - 1n, nonce])
  })

  it('a reader prints no key', () => {
    assert.doesNotMatch(inspect(reader, { depth: 10, showHidden: true }) + JSON.stringify(reader), /SDrDB|kQH5HW/)
  })

  it('keys that cannot be Kraken keys are refused before anything is sent', async () => {
    // The third has bits behind its last byte, as a key has that lost its end.
    const secrets = ['not base64!', '', `${'a'.repeat(86)}==`].map((secretKey) => ({ secretKey }))
    for (const wrong of [...secrets, { apiKey: 'a\r\nb: c' }, { apiKey: '' }]) {
      const opened = connector.open({ ...credentials, ...wrong }, io())
      await assert.rejects(opened.verify(), fault('invalid_credentials'))
    }
    assert.equal(received.length, 0)
  })
})

describe('verify', () => {
  it('reads rights and account from GetApiKeyInfo', async () => {
    answer = () =>
      '{"error":[],"result":{"apiKeyName":"x","permissions":["query-funds","query-ledger","modify-trades"],"iban":"AA88 N84G WOAK NMOI","validUntil":"0","queryFrom":"0","queryTo":"0"}}'
    const account = await reader.verify()
    assert.deepEqual(account.excess, ['Orders and trades - Create & modify orders'])
    assert.deepEqual(account.missing, [])
    assert.equal(received[0]?.path, '/0/private/GetApiKeyInfo')
  })
})

describe("Kraken's refusals come as HTTP 200", () => {
  const refusals: [string, string][] = [
    ['EAPI:Invalid key', 'invalid_credentials'],
    ['EAPI:Invalid signature', 'invalid_credentials'],
    ['EAPI:Invalid nonce', 'clock_skew'],
    ['EGeneral:Permission denied', 'missing_permission'],
    ['EAPI:Rate limit exceeded', 'rate_limited'],
    ['EGeneral:Temporary lockout', 'rate_limited'],
    ['EService:Unavailable', 'venue_down'],
    ['EService:Busy', 'venue_down'],
    ['EGeneral:Internal error', 'venue_down'],
    ['EAuth:Account temporary disabled', 'needs_reauth'],
    ['EBrandNew:Never heard of', 'unreadable_answer'],
  ]
  for (const [error, expected] of refusals) {
    it(`${error} is ${expected}`, async () => {
      refuse(error)
      await assert.rejects(reader.fetchBalances({}), (thrown: SourceError) => {
        assert.equal(thrown.message, `BalanceEx: ${error}`)
        return fault(expected)(thrown)
      })
    })
  }

  it('words in another form are not repeated: they may quote the key, or steer the terminal of an operator', async () => {
    const key = 'kQH5HW8fEXAMPLEEXAMPLEEXAMPLEEXAMPLE'
    for (const words of [
      `EAPI:Invalid key:${key}`,
      'EAPI:\u001b[31mInvalid key',
      `EAPI:Invalid ${'key '.repeat(50)}`,
    ]) {
      refuse(words)
      await assert.rejects(reader.fetchBalances({}), { message: 'BalanceEx: an error of another form' })
    }
  })

  it('throttled until a moment is rate_limited until then', async () => {
    refuse('EService: Throttled: 1700000042')
    await assert.rejects(reader.fetchBalances({}), fault('rate_limited', 42_000))
  })

  it('one failure leaves nothing behind for the next call', async () => {
    refuse('EAPI:Invalid key')
    await assert.rejects(reader.fetchBalances({}), fault('invalid_credentials'))
    answer = () => ({ status: 502, body: '<html>' })
    await assert.rejects(reader.fetchBalances({}), fault('venue_down'))
    answer = () => '{"error":[],"result":{"ZUSD":{"balance":"1"}}}'
    assert.equal((await reader.fetchBalances({})).balances.length, 1)
  })

  it('wrong arguments are our own bug, not a provider fault', async () => {
    refuse('EGeneral:Invalid arguments')
    await assert.rejects(reader.fetchBalances({}), (error: Error) => error.name === 'Error')
  })
})

describe('answers that are not JSON of the API', () => {
  const broken: [string, ReturnType<typeof answer>, string, number?][] = [
    ['HTML with 200', '<!DOCTYPE html><title>Just a moment…</title>', 'venue_down'],
    ['truncated JSON', '{"error":[],"result":{"ledger":{"L4UESK', 'unreadable_answer'],
    ['nothing', '', 'unreadable_answer'],
    ['JSON of another shape', '[1,2]', 'unreadable_answer'],
    ['errors that are not texts', '{"error":[{"code":7}]}', 'unreadable_answer'],
    ['errors behind a line break', '\n{"error":["EService:Unavailable"]}', 'unreadable_answer'],
    ['a message of a gateway', '{"message":"Service temporarily unavailable"}', 'unreadable_answer'],
    ['a status', '{"status":"maintenance"}', 'unreadable_answer'],
    ['a code beside an empty ledger', '{"code":503,"result":{"ledger":{},"count":0}}', 'unreadable_answer'],
    ['an empty object', '{}', 'unreadable_answer'],
    ['no list of errors', '{"error":null,"result":{"ledger":{}}}', 'unreadable_answer'],
    ['no result', '{"error":[]}', 'unreadable_answer'],
    ['a result of another shape', '{"error":[],"result":{"ledger":7}}', 'unreadable_answer'],
    ['502', { status: 502, body: 'Bad gateway' }, 'venue_down'],
    ['520', { status: 520, body: '<html>' }, 'venue_down'],
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '9' }, body: '{}' }, 'rate_limited', 9_000],
  ]
  for (const [name, reply, expected, retryAfterMs] of broken) {
    it(`${name} is ${expected}`, async () => {
      answer = () => reply
      await assert.rejects(fetchPage('ledger', day, null), fault(expected, retryAfterMs))
      await assert.rejects(reader.verify(), fault(expected, retryAfterMs))
      // Kraken says so for an account that never held anything.
      if (name === 'no result') return
      await assert.rejects(fetchPage('deposits', day, null), fault(expected, retryAfterMs))
      await assert.rejects(reader.fetchBalances({}), fault(expected, retryAfterMs))
    })
  }

  // github.com/rotki/rotki/issues/946 has the answers of an account that never held anything.
  it('balances, and the lists that only add detail, may come without a result', async () => {
    answer = () => '{"error":[]}'
    assert.deepEqual(await fetchPage('deposits', day, null), { records: [], next: null })
    assert.deepEqual(await reader.fetchBalances({}), { balances: [] })
  })
})

describe('pages of the ledger', () => {
  it('records are kept as Kraken wrote them, every digit', async () => {
    const written = row(1, '1688464484.1787').replace('-24.5000', '-0.000000000000000001')
    answer = () => ledgerPage([written], 1)
    const { records } = await fetchPage('ledger', day, null)
    assert.deepEqual(records, [
      { key: 'L1', occurredAtMs: 1_688_464_484_178, body: written.slice(written.indexOf('{')) },
    ])
  })

  it('are walked by offset until a page has nothing new', async () => {
    const all = Array.from({ length: 120 }, (_, id) => row(id, `16884644${String(99 - (id % 100)).padStart(2, '0')}`))
    answer = (params) => {
      const offset = Number(params.get('ofs'))
      return ledgerPage(all.slice(offset, offset + 50), all.length)
    }
    assert.equal((await walkLedger()).size, 120)
    // Each page begins with the last row of the one before, and the last page shows nothing else.
    assert.deepEqual(
      received.map(({ params }) => params.get('ofs')),
      ['0', '49', '98', '119'],
    )
    assert.equal(new Set(received.map(({ params }) => `${params.get('start')} ${params.get('end')}`)).size, 1)
  })

  async function walkLedger(): Promise<Set<string>> {
    const keys = new Set<string>()
    let pageMark: string | null = null
    do {
      const page = await fetchPage('ledger', day, pageMark)
      for (const { key } of page.records) keys.add(key)
      pageMark = page.next
    } while (pageMark !== null)
    return keys
  }

  const shifts: [string, (rows: string[], page: number) => string[]][] = [
    ['a row is booked into the past', (rows, page) => (page === 1 ? [row(900, '1688464499'), ...rows] : rows)],
    ['rows disappear', (rows, page) => (page === 1 ? rows.slice(5) : rows)],
    ['more rows disappear than a page has', (rows, page) => (page === 2 ? rows.slice(70) : rows)],
  ]
  for (const [what, shift] of shifts) {
    it(`no row is skipped when ${what} between two pages`, async () => {
      let all = Array.from({ length: 200 }, (_, id) => row(id, '1688464484'))
      let page = 0
      answer = (params) => {
        all = shift(all, page)
        page += 1
        const offset = Number(params.get('ofs'))
        return ledgerPage(all.slice(offset, offset + 50), all.length)
      }
      const keys = await walkLedger()
      for (let id = 0; id < 200; id += 1)
        if (id >= 70 || what !== 'more rows disappear than a page has') assert.ok(keys.has(`L${id}`), `L${id}`)
    })
  }

  it('a row booked late, where we have been, is found by a second walk', async () => {
    let all = Array.from({ length: 200 }, (_, id) => row(id, '1688464484'))
    answer = (params) => {
      const offset = Number(params.get('ofs'))
      if (offset === 98) all = [row(900, '1688464499'), ...all]
      return ledgerPage(all.slice(offset, offset + 50), all.length)
    }
    assert.ok((await walkLedger()).has('L900'))
  })

  it('a count that keeps growing is followed for at most two walks', async () => {
    const all = Array.from({ length: 60 }, (_, id) => row(id, '1688464484'))
    let promised = all.length
    answer = (params) => {
      const offset = Number(params.get('ofs'))
      return ledgerPage(all.slice(offset, offset + 50), promised++)
    }
    assert.equal((await walkLedger()).size, 60)
    assert.equal(received.filter(({ params }) => params.get('ofs') === '0').length, 2)
  })

  it('no row is skipped when a page repeats rows of the one before', async () => {
    const all = Array.from({ length: 200 }, (_, id) => row(id, '1688464484'))
    answer = (params) => {
      const offset = Math.max(0, Number(params.get('ofs')) - 3)
      return ledgerPage(all.slice(offset, offset + 53), all.length)
    }
    assert.equal((await walkLedger()).size, 200)
  })

  it('neighbouring windows lose nothing and share nothing at their edge', async () => {
    // Kraken: start exclusive, end inclusive, and these times lie around a border in the middle of a second.
    const times = ['1688464483.9999', '1688464484', '1688464484.4999', '1688464484.5', '1688464484.5001', '1688464485']
    answer = (params) => {
      const [start, end] = [Number(params.get('start')), Number(params.get('end'))]
      assert.ok(Number.isInteger(start) && Number.isInteger(end))
      const rows = times.flatMap((time, id) => (Number(time) > start && Number(time) <= end ? [row(id, time)] : []))
      return ledgerPage(rows, rows.length)
    }
    const border = 1_688_464_484_500
    const older = await fetchPage('ledger', { ...day, end: border }, null)
    const newer = await fetchPage('ledger', { ...day, start: border }, null)
    assert.deepEqual(
      older.records.map((record) => record.key),
      ['L0', 'L1', 'L2'],
    )
    assert.deepEqual(
      newer.records.map((record) => record.key),
      ['L3', 'L4', 'L5'],
    )
  })

  it('a window of one millisecond still finds its row', async () => {
    answer = (params) => {
      const hit = Number(params.get('start')) < 1_688_464_484 && 1_688_464_484 <= Number(params.get('end'))
      return ledgerPage(hit ? [row(1, '1688464484')] : [], hit ? 1 : 0)
    }
    const window: Window = { unit: 'ms', start: 1_688_464_484_000, end: 1_688_464_484_001 }
    assert.equal((await fetchPage('ledger', window, null)).records.length, 1)
  })

  for (const count of [0, 7, 99, 10_000]) {
    it(`a reported count of ${count} does not end a walk of 120 rows, and does not prolong it`, async () => {
      const all = Array.from({ length: 120 }, (_, id) => row(id, '1688464484'))
      answer = (params) => {
        const offset = Number(params.get('ofs'))
        return ledgerPage(all.slice(offset, offset + 50), count)
      }
      assert.equal((await walkLedger()).size, 120)
      assert.equal(received.length, 4)
    })
  }

  it('are walked by cursor where Kraken gives one, until it gives no more', async () => {
    const all = Array.from({ length: 120 }, (_, id) => row(id, '1688464484'))
    answer = (params) => {
      assert.equal(params.get('with_cursor'), 'true')
      const at = Number(params.get('cursor') ?? '0')
      const next = at + 50 < all.length ? `,"next_cursor":"${at + 50}"` : ''
      return `{"error":[],"result":{"ledger":{${all.slice(at, at + 50).join(',')}},"count":3${next}}}`
    }
    assert.equal((await walkLedger()).size, 120)
    assert.deepEqual(
      received.map(({ params }) => [params.get('ofs'), params.get('cursor')]),
      [
        ['0', null],
        [null, '50'],
        [null, '100'],
      ],
    )
  })

  it('a cursor that does not move ends the walk', async () => {
    answer = () => `{"error":[],"result":{"ledger":{${row(1, '1688464484')}},"cursor":"same"}}`
    assert.equal((await walkLedger()).size, 1)
    assert.equal(received.length, 2)
  })

  it('the last page of a walk says that the window was shown completely, and no page before it does', async () => {
    const all = Array.from({ length: 60 }, (_, id) => row(id, '1688464484'))
    answer = (params) => {
      const offset = Number(params.get('ofs'))
      return ledgerPage(all.slice(offset, offset + 50), all.length)
    }
    const first = await fetchPage('ledger', day, null)
    const second = await fetchPage('ledger', day, first.next)
    const third = await fetchPage('ledger', day, second.next)
    assert.deepEqual(
      [first, second, third].map(({ next, complete }) => [next === null, complete]),
      [
        [false, undefined],
        [false, undefined],
        [true, day],
      ],
    )
  })

  it('an empty account has one empty page', async () => {
    for (const text of [ledgerPage([], 0), '{"error":[],"result":{"ledger":{}}}']) {
      answer = () => text
      assert.deepEqual(await fetchPage('ledger', day, null), { records: [], next: null, complete: day })
    }
  })

  it('a row that cannot be read is kept apart from the others', async () => {
    answer = () => ledgerPage([row(1, '1688464484'), '"L2":{"refid":"T1","time":"yesterday"}'], 2)
    const { records } = await fetchPage('ledger', day, null)
    assert.deepEqual(
      records.map(({ key, unreadable }) => [key, unreadable === undefined]),
      [
        ['L1', true],
        ['L2', false],
      ],
    )
    assert.throws(() => connector.toTransactions([{ ...records[1], stream: 'ledger' } as never], nothingKnown))
  })

  for (const time of ['0', '1688464.484', '1999999999']) {
    it(`a row whose time cannot be right is kept as unreadable, and does not vanish: ${time}`, async () => {
      answer = () => ledgerPage([row(1, '1688464484'), row(2, time)], 2)
      const { records } = await fetchPage('ledger', day, null)
      assert.deepEqual(
        records.map(({ key, unreadable }) => [key, unreadable]),
        [
          ['L1', undefined],
          ['L2', 'the time is out of range'],
        ],
      )
    })
  }
})

describe('pages of deposits and withdrawals', () => {
  const deposit =
    '{"method":"Bitcoin","aclass":"currency","asset":"XXBT","refid":"FTQcuak-V6Za8qrWnhzTx67yYHz8Tg","txid":"6544b4","info":"bc1q","amount":"0.78125000","fee":"0.0000000000","time":1688464484,"status":"Success","status-prop":null}'

  it('are walked by cursor', async () => {
    answer = (params) =>
      params.get('cursor') === 'true'
        ? `{"error":[],"result":{"deposit":[${deposit}],"next_cursor":"HgAA=="}}`
        : `{"error":[],"result":{"deposit":[],"next_cursor":null}}`
    const first = await fetchPage('deposits', day, null)
    assert.deepEqual(first, {
      records: [
        {
          key: 'FTQcuak-V6Za8qrWnhzTx67yYHz8Tg',
          occurredAtMs: 1_688_464_484_000,
          body: deposit,
        },
      ],
      next: 'HgAA==',
    })
    assert.equal((await fetchPage('deposits', day, first.next)).next, null)
    assert.deepEqual(
      received.map(({ path, params }) => [path, params.get('cursor')]),
      [
        ['/0/private/DepositStatus', 'true'],
        ['/0/private/DepositStatus', 'HgAA=='],
      ],
    )
  })

  it('every documented shape of the list is read', async () => {
    const shapes = [`[${deposit}]`, `{"withdrawals":[${deposit}],"next_cursor":""}`, `{"withdrawal":${deposit}}`]
    for (const result of shapes) {
      answer = () => `{"error":[],"result":${result}}`
      const page = await fetchPage('withdrawals', day, null)
      assert.deepEqual([page.records.length, page.next], [1, null], result)
    }
    assert.equal(received[0]?.path, '/0/private/WithdrawStatus')
  })

  it('every shape of a list without rows is read', async () => {
    for (const result of ['[]', '{}', '{"deposit":[],"next_cursor":null}', '{"deposit":null}', '{"next_cursor":""}']) {
      answer = () => `{"error":[],"result":${result}}`
      assert.deepEqual(await fetchPage('deposits', day, null), { records: [], next: null }, result)
    }
  })

  it('a list of another shape is not an empty list', async () => {
    for (const result of ['7', '"x"', 'null', '{"next_cursor":7}', '{"message":"busy"}']) {
      answer = () => `{"error":[],"result":${result}}`
      await assert.rejects(fetchPage('deposits', day, null), fault('unreadable_answer'))
    }
  })

  it('a record that may still change is marked, however long ago it was made', async () => {
    const held = deposit.replace('"status-prop":null', '"status-prop":"on-hold"')
    for (const [body, pending] of [
      [deposit, undefined],
      [held, true],
      [deposit.replace('Success', 'Pending'), true],
      [deposit.replace('Success', 'Failure'), undefined],
    ] as const) {
      answer = () => `{"error":[],"result":[${body}]}`
      const { records } = await fetchPage('withdrawals', day, null)
      assert.equal(records[0]?.pending, pending, body)
    }
  })

  it('never claim to be complete: Kraken drops old ones', async () => {
    answer = () => `{"error":[],"result":[${deposit}]}`
    assert.equal((await fetchPage('deposits', day, null)).complete, undefined)
  })

  it('rows beyond the window are dropped', async () => {
    answer = () => `{"error":[],"result":[${deposit},${deposit.replace('1688464484', '1500000000')}]}`
    assert.equal((await fetchPage('deposits', day, null)).records.length, 1)
  })

  it('a stream that Kraken does not have is a bug', async () => {
    await assert.rejects(fetchPage('candles', day, null), RangeError)
  })
})
