/**
 * An account that traded delisted symbols. Binance still tells the trades of one although it no longer lists the symbol;
 * the other answers −1121 to everything, so that no reader can explain all of the balances.
 */
import { buy, deposit, sell, type Story } from '../../binance/story.ts'

export function delistedStory(): Story {
  return {
    events: [
      deposit('2021-03-01 09:00:00.000', '1000 USDT', 'TRX'),
      buy('2021-03-02 09:00:00.000', 'LENDUSDT', { qty: '300', price: '0.35' }),
      sell('2021-03-09 09:00:00.000', 'LENDUSDT', { qty: '299', price: '0.41' }),
      buy('2021-04-02 09:00:00.000', 'BUSDUSDT', { qty: '200', price: '1.0001' }),
      sell('2023-11-30 09:00:00.000', 'BUSDUSDT', { qty: '150', price: '0.9995' }),
      buy('2022-01-05 09:00:00.000', 'MATICUSDT', { spend: '50' }),
    ],
  }
}
