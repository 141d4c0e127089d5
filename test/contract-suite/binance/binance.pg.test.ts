/**
 * Binance keeps the contract of a provider: what is read, and what each failure is called. A first read is some four
 * hundred calls, and the other parts need many of them: those are in binance-rest.ts.
 */
import { binanceContract } from './binance-contract.ts'
import { describeContract } from '../suite.ts'

describeContract(binanceContract, ['reading', 'faults', 'scenarios'])
