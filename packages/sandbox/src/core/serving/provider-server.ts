/**
 * What every simulated provider has in common: a call is named, faults are taken, the provider answers, the answer may
 * be mangled, and the journal counts it. A provider knows its own protocol, and supplies only the error texts of
 * faults.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { actsOnRows, type Call, type Fault, type FaultKind, type Faults } from './faults.ts'
import type { Journal } from './journal.ts'
import type { WireAnswer, WireRequest } from './listener.ts'
import type { Weather } from '../scenario.ts'
import type { View } from '../timeline.ts'

export interface CallContext {
  /** The provider's clock, with its skew. */
  nowMs: number
  /** Every list goes through here, so endpoints do not have to handle faults on rows. */
  cutPage<R>(view: View<R>, offset: number, size: number): R[]
  /** The number of rows that the provider reports: the true one, unless a fault changes it. */
  tellCount(count: number): number
}

export interface Provider {
  id: string
  /** The account of the call, before anything was checked, and its faults. */
  recognise(request: WireRequest): { accountId: string; weather: Weather; call: number } | undefined
  answer(request: WireRequest, context: CallContext): WireAnswer | Promise<WireAnswer>
  words: Record<'rateLimited' | 'revoked' | 'serviceUnavailable', (request: WireRequest) => WireAnswer>
  /** Adds a row to an account, as if an event of that time had only been booked now. */
  insertRow(accountId: string, lateMs: number): void | Promise<void>
}

export function createProviderServer(
  provider: Provider,
  deps: { clock: Clock; faults: Faults; journal: Journal },
): (request: WireRequest) => Promise<WireAnswer> {
  return async (request) => {
    const caller = provider.recognise(request)
    const end = deps.journal.beginRequest(caller?.accountId)
    try {
      return await answerRequest(request, caller)
    } finally {
      end()
    }
  }

  async function answerRequest(request: WireRequest, caller: ReturnType<Provider['recognise']>): Promise<WireAnswer> {
    const call: Call = { accountId: caller?.accountId, path: request.path, nowMs: deps.clock.nowMs() }
    const weather = weatherFault(caller)
    const hits = deps.faults.take(call)
    if (weather !== undefined && !actsOnRows(weather.kind)) hits.push(weather)

    await holdBack(hits, request.signal)
    const answer = standIn(hits, provider, request) ?? mangle(hits, await answerCall(hits))
    const { status, error = null } = answer
    deps.journal.note({
      provider_id: provider.id,
      account_id: caller?.accountId ?? null,
      endpoint: request.path,
      status,
      error,
    })
    return answer

    async function answerCall(effects: readonly Fault[]): Promise<WireAnswer> {
      const onRows = weather !== undefined && actsOnRows(weather.kind) ? [weather] : []
      let shifting: Fault | undefined
      const context: CallContext = {
        nowMs: deps.clock.nowMs() + skewOf(effects),
        tellCount(count) {
          const wrong = effects.find((fault) => fault.kind === 'wrong_count')
          return wrong === undefined ? count : (wrong.count ?? 0)
        },
        cutPage(view, offset, size) {
          const faults = [...deps.faults.takeForPage(call), ...onRows]
          shifting = faults.find((fault) => fault.kind === 'shifting_page')
          const repeated = faults.find((fault) => fault.kind === 'duplicate_rows')
          const back = Math.min(offset, repeated === undefined ? 0 : (repeated.rows ?? 3))
          return view.cut(offset - back, size + back)
        },
      }
      const given = await provider.answer(request, context)
      if (shifting !== undefined && caller !== undefined) {
        await provider.insertRow(caller.accountId, shifting.late_ms ?? 0)
      }
      return given
    }
  }
}

function weatherFault(caller: { weather: Weather; call: number } | undefined): Fault | undefined {
  if (caller === undefined || caller.weather === 'calm') return undefined
  const { weather, call } = caller
  if ('always' in weather) return { kind: weather.always }
  if (call < weather.calmCalls) return undefined
  const fault = weather.cycle[(call - weather.calmCalls) % weather.cycle.length]
  if (fault === undefined || fault === 'calm') return undefined
  return typeof fault === 'string' ? { kind: fault } : fault
}

async function holdBack(hits: readonly Fault[], signal: AbortSignal): Promise<void> {
  let ms = 0
  for (const fault of hits) {
    if (fault.kind === 'latency_ms') ms += fault.latency_ms ?? 50
    if (fault.kind === 'stall') ms += fault.duration_ms ?? 60_000
  }
  // A caller that hung up ends the wait; the response no longer reaches it.
  if (ms > 0) await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
}

function skewOf(hits: readonly Fault[]): number {
  const skewed = hits.find((fault) => fault.kind === 'clock_skew')
  return skewed === undefined ? 0 : (skewed.skew_ms ?? 600_000)
}

/** Answers before the call reaches an endpoint: from a gateway, or in the provider's own words. */
function standIn(hits: readonly Fault[], provider: Provider, request: WireRequest): WireAnswer | undefined {
  for (const fault of hits) {
    const answer = inPlaceOf(fault, provider, request)
    if (answer !== undefined) return { error: fault.kind, ...answer }
  }
  return undefined
}

function inPlaceOf(fault: Fault, provider: Provider, request: WireRequest): WireAnswer | undefined {
  const retryAfter = { 'retry-after': String(fault.retry_after_s ?? 1) }
  const answers: Partial<Record<FaultKind, () => WireAnswer>> = {
    http_429: () => gatewayPage(429, 'Too Many Requests'),
    http_429_retry_after: () => gatewayPage(429, 'Too Many Requests', retryAfter),
    http_418: () => gatewayPage(418, "I'm a teapot", retryAfter),
    http_5xx: () => gatewayPage(fault.status ?? 503, 'Bad gateway'),
    down: () => gatewayPage(503, 'Service Temporarily Unavailable'),
    html: () => gatewayPage(200, 'Just a moment...'),
    rate_limited: () => provider.words.rateLimited(request),
    revoked: () => provider.words.revoked(request),
    service_unavailable: () => provider.words.serviceUnavailable(request),
  }
  return answers[fault.kind]?.()
}

/** The page that a content delivery network shows for an exchange that is down or suspicious of the caller. */
function gatewayPage(status: number, title: string, headers: Record<string, string> = {}): WireAnswer {
  const body = `<!DOCTYPE html>\n<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>\n`
  return { status, headers: { 'content-type': 'text/html; charset=UTF-8', ...headers }, body }
}

function mangle(hits: readonly Fault[], answer: WireAnswer): WireAnswer {
  if (hits.some((fault) => fault.kind === 'reset')) return { ...answer, cut: true, error: 'reset' }
  if (hits.some((fault) => fault.kind === 'truncated_json')) {
    return { ...answer, body: answer.body.slice(0, Math.ceil(answer.body.length * 0.6)), error: 'truncated_json' }
  }
  return answer
}
