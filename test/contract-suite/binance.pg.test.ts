/**
 * Binance keeps the contract of a provider, as far as reading goes. Binance answers two calls for fiat orders a minute, so a
 * history takes half an hour, and half a minute at the sandbox's pace: the other parts are in binance-rest.ts.
 */
import { binanceContract } from './binance-contract.ts'
import { describeContract } from './suite.ts'

describeContract(binanceContract, ['reading'])
