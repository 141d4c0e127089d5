/**
 * A simulated Bitfinex account, on the wire: written from Bitfinex's public documents, never from our own connector.
 * Source: https://docs.bitfinex.com/reference; each endpoint's page names its limit.
 *
 * It has only the endpoints of v2 that read: nothing can trade or withdraw here, whatever a key's permissions say. It
 * has exchange pairs and the wallets exchange and funding, but neither margin nor derivatives.
 */
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import type { CallContext } from '../core/serving/provider-server.ts'
import { createSpotExchange, type SpotAccount, type SpotExchange, type SpotOptions } from '../spot/exchange.ts'
import { uidOf } from '../spot/ids.ts'
import { lettersAndDigits } from '../spot/keys.ts'
import { createCallLimits, limitOf } from '../spot/limits.ts'
import { ledgers, movements, permissions, trades, userInfo, wallets } from './account.ts'
import { checkCall, headerOf, keyLength, secretOf } from './authentication.ts'
import { conf } from './market.ts'
import { BitfinexRefusal, failure, parseBody, success, unavailable, type Asked } from './wire.ts'

interface Endpoint {
  perMinute: number
  /** The scope that the key must be allowed to read. */
  right?: string
  answer(account: SpotAccount): unknown[]
}

const plain: Readonly<Record<string, Endpoint>> = {
  permissions: { perMinute: 90, answer: permissions },
  'info/user': { perMinute: 90, right: 'account', answer: userInfo },
  wallets: { perMinute: 45, right: 'wallets', answer: wallets },
}

interface History {
  perMinute: number
  limitMax: number
  answer(account: SpotAccount, asked: Asked, context: CallContext, of?: string): unknown[]
}

/** Each of them also exists for one currency or symbol, which is part of the path. */
const histories: Readonly<Record<string, History>> = {
  ledgers: { perMinute: 45, limitMax: 2_500, answer: ledgers },
  trades: { perMinute: 90, limitMax: 2_500, answer: trades },
  movements: { perMinute: 45, limitMax: 1_000, answer: movements },
}

const publicPerMinute = 90
const windowMs = 60_000

export function createBitfinex(options: SpotOptions): SpotExchange {
  const limits = createCallLimits(options.pace)
  return createSpotExchange(options, {
    id: 'bitfinex',
    bookkeeping: 'fees apart',
    key: lettersAndDigits(32, keyLength),
    secretOf: (account) => ({ secret_key: secretOf(account) }),
    publicIdOf: ({ id }) => String(uidOf(id)),
    keyOf: (request) => headerOf(request, 'apikey'),
    answer(request, context, caller) {
      try {
        const { path } = request
        if (request.method === 'GET') return success(answerOpen(request))
        if (request.method !== 'POST' || !path.startsWith('/v2/auth/r/')) throw new BitfinexRefusal(404)
        return success(answerSigned(path.slice('/v2/auth/r/'.length), request, context, caller))
      } catch (error) {
        if (!(error instanceof BitfinexRefusal)) throw error
        return failure(error.code, error.message)
      }
    },
    words: {
      rateLimited: (): WireAnswer => failure(11010),
      revoked: (): WireAnswer => failure(10100),
      serviceUnavailable: unavailable,
    },
  })

  function answerOpen({ path, address }: WireRequest): unknown[] {
    const names = /^\/v2\/conf\/(.{1,1000})$/.exec(path)?.[1]
    if (names === undefined && path !== '/v2/platform/status') throw new BitfinexRefusal(404)
    count(address, names === undefined ? path : '/v2/conf', { max: publicPerMinute, windowMs })
    return names === undefined ? [1] : conf(decodeURIComponent(names))
  }

  function answerSigned(
    name: string,
    request: WireRequest,
    context: CallContext,
    caller: SpotAccount | undefined,
  ): unknown[] {
    const simple = Object.hasOwn(plain, name) ? plain[name] : undefined
    if (simple !== undefined) {
      const of = checkCall(caller, request, simple.right, options.nowMs())
      count(of.id, name, limitOf(of.scenario, { max: simple.perMinute, windowMs }))
      return simple.answer(of)
    }
    const [, list = '', part] = /^(ledgers|trades|movements)(?:\/([A-Za-z0-9:]{1,40}))?\/hist$/.exec(name) ?? []
    const history = Object.hasOwn(histories, list) ? histories[list] : undefined
    if (history === undefined) throw new BitfinexRefusal(404)
    const of = checkCall(caller, request, 'history', options.nowMs())
    count(of.id, list, limitOf(of.scenario, { max: history.perMinute, windowMs }))
    return history.answer(of, parseBody(request.body, history.limitMax), context, part)
  }

  function count(subject: string, endpoint: string, limit: ReturnType<typeof limitOf>): void {
    if (limit !== undefined && !limits.take(subject, endpoint, limit, options.nowMs()).accepted) {
      throw new BitfinexRefusal(11010)
    }
  }
}
