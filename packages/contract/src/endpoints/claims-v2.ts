/** Claims: a signed yes or no about what a user holds, without rows. */
import { findDecimal, isPositive } from '@assay/core'
import { z } from 'zod'
import { defineEndpoint } from '../endpoint.ts'
import { successErrors } from '../errors.ts'
import { ProofGrade } from '../proof.ts'
import { isoTimeParameter, line, parameter, text, time } from '../values.ts'
import { claimStatement, errorsNone } from './examples.ts'

const amount = (description: string) =>
  parameter(
    { type: 'string', pattern: '^\\d{1,30}(\\.\\d{1,18})?$', description, examples: ['10000'] },
    'must be a decimal above 0 with at most 30 digits before the point and 18 after it, as text ("10000.5")',
    (given) => {
      const found = /^\d{1,30}(\.\d{1,18})?$/.test(given) ? findDecimal(given) : undefined
      return found !== undefined && isPositive(found) ? found : undefined
    },
  )

const common = {
  as_of: isoTimeParameter(
    'About this moment, or the newest one up to which all accounts were read if that is earlier, which is also the default. Accounts that were not read for a day before it do not count.',
  ).optional(),
  grades: z
    .array(ProofGrade)
    .min(1)
    .max(4)
    .optional()
    .meta({ description: 'How well the data has to be proved; by default proved or explained.' }),
  audience: line(255)
    .optional()
    .meta({ description: 'The intended recipient of the statement; by default this client.' }),
}

export const claimBody = z
  .discriminatedUnion('claim', [
    z.strictObject({
      claim: z.literal('value_at_least'),
      amount_in_usd: amount('The value of everything that the user holds is at least this.'),
      ...common,
    }),
    z.strictObject({
      claim: z.literal('holds_at_least'),
      asset_id: text(200).meta({ examples: ['crypto:bitcoin'] }),
      amount: amount('The user holds at least this much of the asset.'),
      ...common,
    }),
  ])
  .meta({ id: 'ClaimRequest' })

export const makeClaim = defineEndpoint({
  id: 'makeClaim',
  family: 'accounts_v2',
  method: 'POST',
  path: '/accounts/v2/claims',
  scope: 'claims:read',
  body: claimBody,
  response: z.object({
    data: z.object({
      holds: z.boolean().nullable().meta({ description: 'Null when the data is too weak; errors then says why.' }),
      grade: ProofGrade,
      as_of: time.meta({ description: 'The one moment at which all accounts were counted.' }),
      statement: z.string().nullable().meta({
        description:
          'A compact JWS (ES256), to be verified with the keys of /.well-known/jwks.json; valid for 30 days.',
      }),
    }),
    errors: successErrors,
  }),
  summary: 'Claim that the user holds at least an amount',
  description:
    'Answers yes or no and signs it, without showing what the user holds. Only connections by API key or OAuth2 count: a pasted address proves no ownership. Of the exchanges, Binance, Bitfinex, Bybit, Coinbase, Kraken and OKX count. Accounts are counted at one moment. Those that were not read up to it or for a day are left out, those whose provider does not list every movement also if they were not read within five minutes of it, and of several accounts at one exchange one counts, unless all their movements are known. If what was left out could change a no, `holds` is null. At most three different claims a day can be made with one consent, and one that could not be answered counts; the user’s own page lists them. An asset that the service has never seen is one that the user does not hold.',
  errors: ['rate_limited'],
  example: {
    body: { claim: 'value_at_least', amount_in_usd: '10000', audience: 'https://lender.example' },
    response: {
      data: { holds: true, grade: 'proved', as_of: '2026-03-02T10:11:12.345Z', statement: claimStatement },
      ...errorsNone,
    },
  },
})
