import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SourceError, type Fault } from '@assay/core'
import * as ccxt from 'ccxt'
import { toSourceError } from './ccxt.ts'

describe("ccxt's error classes", () => {
  const expected: [new (message: string) => Error, Fault][] = [
    [ccxt.AuthenticationError, 'invalid_credentials'],
    [ccxt.PermissionDenied, 'missing_permission'],
    [ccxt.AccountNotEnabled, 'missing_permission'],
    [ccxt.AccountSuspended, 'needs_reauth'],
    [ccxt.DDoSProtection, 'rate_limited'],
    [ccxt.RateLimitExceeded, 'rate_limited'],
    [ccxt.InvalidNonce, 'clock_skew'],
    [ccxt.ExchangeNotAvailable, 'venue_down'],
    [ccxt.OnMaintenance, 'venue_down'],
    [ccxt.RequestTimeout, 'venue_down'],
    [ccxt.NetworkError, 'venue_down'],
    [ccxt.BadResponse, 'unreadable_answer'],
    [ccxt.NullResponse, 'unreadable_answer'],
    [ccxt.ExchangeError, 'unreadable_answer'],
    [ccxt.InvalidOrder, 'unreadable_answer'],
  ]
  for (const [ErrorClass, fault] of expected) {
    it(`${ErrorClass.name} is ${fault}`, () => {
      const error = toSourceError(new ErrorClass('kraken {"apiKey":"hunter2"}'), 'Ledgers: failed')
      assert.ok(error instanceof SourceError)
      assert.deepEqual([error.fault, error.message, error.cause], [fault, 'Ledgers: failed', undefined])
    })
  }

  it('wrong arguments are our own bug, not a provider fault', () => {
    for (const ErrorClass of [ccxt.BadRequest, ccxt.BadSymbol, ccxt.ArgumentsRequired]) {
      assert.ok(!(toSourceError(new ErrorClass('x'), 'Ledgers: failed') instanceof SourceError))
    }
  })

  it('an existing SourceError stays as it is, and other errors are not hidden', () => {
    const fault = new SourceError('clock_skew', 'known')
    assert.equal(toSourceError(fault, 'x'), fault)
    const bug = new TypeError('bug')
    assert.equal(toSourceError(bug, 'x'), bug)
  })
})
