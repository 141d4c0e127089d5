/**
 * Kraken's envelope: HTTP 200 whatever happened, `error` a list of words, `result` only on success.
 * Sources: https://docs.kraken.com/exchange/guides/rest/introduction and …/general/errors.
 */
import type { WireAnswer } from '../core/serving/listener.ts'

export type KrakenError =
  | 'EAPI:Invalid key'
  | 'EAPI:Invalid signature'
  | 'EAPI:Invalid nonce'
  | 'EAPI:Rate limit exceeded'
  | 'EGeneral:Permission denied'
  | 'EGeneral:Unknown method'
  | `EGeneral:Invalid arguments${string}`
  | 'EService:Unavailable'
  | 'EQuery:Unknown asset'
  | 'EQuery:Unknown asset pair'
  | 'EFunding:Unknown asset'

/** Thrown wherever a check fails, and answered in one place. */
export class KrakenRefusal extends Error {
  readonly word: KrakenError

  constructor(word: KrakenError) {
    super(word)
    this.name = 'KrakenRefusal'
    this.word = word
  }
}

export function success(result: unknown): WireAnswer {
  return { status: 200, body: JSON.stringify({ error: [], result }) }
}

export function failure(word: KrakenError): WireAnswer {
  return { status: 200, body: JSON.stringify({ error: [word] }), error: word }
}

/** A whole number that was sent as text, or the default. */
export function wholeNumber(parameters: URLSearchParams, name: string, fallback: number): number {
  const text = parameters.get(name)
  if (text === null || text === '') return fallback
  if (!/^\d{1,9}$/.test(text)) throw new KrakenRefusal(`EGeneral:Invalid arguments:${name}`)
  return Number(text)
}

export function isTrue(parameters: URLSearchParams, name: string): boolean {
  return parameters.get(name) === 'true' || parameters.get(name) === '1'
}
