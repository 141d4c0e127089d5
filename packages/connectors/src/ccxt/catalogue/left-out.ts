/** Exchanges that ccxt supports and this connector does not offer, each with the reason. */

const privateKey = 'asks for the private key of a wallet, which can spend'
const ownConnector = 'has a connector of its own'
const oneSecret = 'has a single secret, and a connection by API key consists of a key and a secret'

export const leftOut: Readonly<Record<string, string>> = {
  binance: ownConnector,
  coinbase: ownConnector,
  kraken: ownConnector,
  aster: privateKey,
  derive: privateKey,
  extended: privateKey,
  grvt: privateKey,
  hibachi: privateKey,
  lighter: privateKey,
  paradex: privateKey,
  blockchaincom: oneSecret,
  mudrex: oneSecret,
  onetrading: oneSecret,
  bullish: 'asks for the number of a trading account beside key and secret, and signs with a private key',
  ndax: 'asks for five credentials, among them the password of the account',
}
