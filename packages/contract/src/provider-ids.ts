/** The name of a provider: ProviderId in v2, CryptoSourceId in v1. One value, two names. */
import { z } from 'zod'
import { text } from './values.ts'

const description = 'The exchange, wallet or chain, by its name in the catalogue.'

export const ProviderId = text(64).meta({ id: 'ProviderId', description, examples: ['kraken'] })
export const CryptoSourceId = text(64).meta({ id: 'CryptoSourceId', description, examples: ['kraken'] })

export const connectionId = z.string().meta({ description: 'One link of one user to one account at a provider.' })
