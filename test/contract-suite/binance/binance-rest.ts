/** The parts of the contract that take too long for every run: `node --test test/contract-suite/binance/binance-rest.ts`. */
import { binanceContract } from './binance-contract.ts'
import { describeContract } from '../suite.ts'

describeContract(binanceContract, ['resuming', 'strange_records', 'withdrawn', 'keys'])
