/** Asset positions. The six fields of v1 are the reference's, to the letter. */
import { z } from 'zod'
import { connectionId, CryptoSourceId, decimalText, exactNumber, iconUrl, ProviderId, time } from './values.ts'
import { ProofGrade } from './proof.ts'

const assetSymbol = z.string().meta({
  description:
    'Ticker-like; case is significant and mixed. A token of a wallet that is not a known asset, but takes the symbol ' +
    'or name of one, has its address beside it: USDC (0xdead…beef).',
  examples: ['BTC'],
})

const quantities = {
  asset_holdings: exactNumber.meta({ description: 'Liquid quantity, written with every digit.' }),
  staked_holdings: exactNumber.meta({ description: 'Staked quantity; the position is the sum of both.' }),
  price_in_usd: exactNumber.nullable().meta({ description: 'Null when no price is known.' }),
  time_fetched: time,
}

export const AssetPositionV1 = z
  .strictObject({ crypto_source_id: CryptoSourceId, asset_symbol: assetSymbol, ...quantities })
  .meta({ id: 'v1/AssetPosition', description: 'What one crypto source holds of one asset.' })

export const AssetPosition = z
  .object({
    provider_id: ProviderId,
    connection_id: connectionId,
    asset_id: z
      .string()
      .meta({ description: 'Distinguishes assets with the same symbol.', examples: ['crypto:bitcoin'] }),
    asset_symbol: assetSymbol,
    asset_name: z.string(),
    icon_url: iconUrl,
    ...quantities,
    value_in_usd: decimalText.nullable().meta({ description: 'Price times the position; null without a price.' }),
    spam: z.boolean(),
    exact: z
      .object({
        asset_holdings: decimalText,
        staked_holdings: decimalText,
        total_holdings: decimalText,
        price_in_usd: decimalText.nullable(),
      })
      .meta({ description: 'The same quantities as text, for readers whose numbers are binary floats.' }),
    method: z.enum(['observed', 'derived']).optional().meta({
      description:
        'Only with as_of. observed: a reading of the balances covers that moment. derived: from the nearest reading and the transactions in between.',
    }),
    grade: ProofGrade.optional().meta({
      description:
        'Only with as_of: how well this asset is proved at that moment; unprovable until there is a verdict, and for a time from before anything could be compared.',
    }),
  })
  .meta({ id: 'AssetPosition', description: 'What one connection holds of one asset.' })

export const AssetHistoryPoint = z
  .object({
    date: z.iso.date().meta({ description: 'UTC.', examples: ['2026-03-02'] }),
    value_in_usd: decimalText.meta({
      description: 'Value of the priced assets at the end of the day; for today, the value now.',
    }),
    method: z.enum(['observed', 'derived']),
    incomplete: z
      .array(z.enum(['price', 'coverage']))
      .meta({ description: 'price: something held has none that day. coverage: transactions do not explain it.' }),
  })
  .meta({ id: 'AssetHistoryPoint' })
