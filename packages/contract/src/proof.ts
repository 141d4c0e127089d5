/** Proof: whether what the provider reports is the sum of what was read, asset by asset. */
import { z } from 'zod'
import { decimalText as decimal, time } from './values.ts'

export const proofGrades = ['proved', 'explained', 'unprovable', 'open'] as const

export const ProofGrade = z.enum(proofGrades).meta({
  id: 'ProofGrade',
  description:
    'proved: the sum is exact and nothing is missing. explained: every difference has a known cause. unprovable: there is no observation or no history to compare. open: a difference is unexplained.',
})

export const proofCauses = [
  'coverage_hole',
  'pending',
  'unreadable_record',
  'unknown_type',
  'rounding',
  'accrual',
  'provider_correction',
  'unlisted_credit',
  'unexplained',
] as const

const ProofCause = z
  .object({
    cause: z.enum(proofCauses),
    amount: decimal.meta({ description: 'The part of the difference that it explains.' }),
    start_time: time.meta({ description: 'Included.' }),
    end_time: time.meta({ description: 'Excluded.' }),
    message: z.string().meta({ description: 'In words that may be shown to a person.' }),
  })
  .meta({ id: 'ProofCause' })

export const AssetProof = z
  .object({
    asset_id: z.string(),
    asset_symbol: z.string(),
    grade: ProofGrade,
    opening: decimal.meta({
      description: '0 where the history reaches the start of the account, otherwise the first observation.',
    }),
    posted: decimal.meta({ description: 'What all transactions since then add up to.' }),
    computed: decimal.meta({ description: 'opening + posted.' }),
    observed: decimal.nullable().meta({ description: 'What the provider reported, liquid and staked together.' }),
    observed_at: time.nullable(),
    difference: decimal.nullable().meta({ description: 'observed - computed.' }),
    causes: z.array(ProofCause),
    first_bad: z
      .object({ start_time: time, end_time: time })
      .nullable()
      .meta({ description: 'The interval in which the first fault lies: its start is the last moment that is right.' }),
  })
  .meta({ id: 'AssetProof', description: 'Whether one asset of a connection adds up.' })

export const ProofSummary = z
  .object({
    grade: ProofGrade.meta({
      description: 'The worst of its assets, without spam; unprovable until there is a verdict.',
    }),
    checked_at: time.nullable(),
    proved_since: time.nullable().meta({ description: 'Since when everything adds up; null when something does not.' }),
    assets_by_grade: z.object({ proved: z.int(), explained: z.int(), unprovable: z.int(), open: z.int() }),
  })
  .meta({ id: 'ProofSummary' })

export const ConnectionProof = z
  .object({ grade: ProofGrade, checked_at: time, proved_since: time.nullable() })
  .nullable()
  .meta({ description: 'Whether the balances add up to what was read; null until they were first judged.' })

export const Explanation = z
  .object({
    id: z.string(),
    rule: z.string().meta({ description: 'How it was categorised, and as what.', examples: ['venue: trade'] }),
    connector: z.object({ provider_id: z.string(), version: z.int() }),
    records: z
      .array(
        z.object({
          stream: z.string(),
          partition: z.string(),
          key: z.string().meta({ description: 'The provider’s own id of the record.' }),
          occurred_at: time,
          fetched_at: time,
          body: z.string().meta({ description: 'The provider’s own text, with email addresses masked.' }),
        }),
      )
      .meta({ description: 'What it was derived from, oldest first.' }),
    prices: z.array(
      z.object({
        asset_id: z.string(),
        price_in_usd: decimal,
        method: z.string().meta({ examples: ['market_chart', 'execution'] }),
        source: z.string(),
        at: time,
      }),
    ),
    match: z
      .object({ transaction_id: z.string(), confidence: z.number(), evidence: z.array(z.string()) })
      .nullable()
      .meta({ description: 'The other side of an own transfer, and what speaks for it.' }),
    versions: z
      .array(z.object({ known_from: time, known_to: time.nullable(), reason: z.string() }))
      .meta({ description: 'Oldest first; the last is the present one. The reason says why a version ended.' }),
  })
  .meta({ id: 'TransactionExplanation', description: 'What a transaction was made of.' })
