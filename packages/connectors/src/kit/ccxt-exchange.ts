/**
 * Loads one exchange of ccxt. Importing ccxt itself loads all of them, which takes 0.5 s and 100 MB; one exchange and
 * what all share take 0.2 s and 30 MB. The files are part of the package, but it names no path to them, so they are
 * found beside its entry point. The version is pinned, and a test loads every exchange of the catalogue.
 */
import type * as ccxtModule from 'ccxt'
import type { Exchange } from 'ccxt'

export type ExchangeClass = new (config: object) => Exchange
/** The classes of ccxt's errors, by name. */
export type CcxtErrors = Pick<
  typeof ccxtModule,
  'AccountSuspended' | 'AuthenticationError' | 'DDoSProtection' | 'ExchangeError' | 'PermissionDenied'
>

export async function loadExchange(id: string): Promise<ExchangeClass> {
  if (!/^[a-z0-9]+$/.test(id)) throw new RangeError(`ccxt has no exchange ${JSON.stringify(id)}`)
  const { default: exchangeClass } = await load<{ default: ExchangeClass }>(`src/${id}.js`)
  return exchangeClass
}

export function loadErrors(): Promise<CcxtErrors> {
  return load<CcxtErrors>('src/base/errors.js')
}

async function load<Module>(file: string): Promise<Module> {
  return (await import(new URL(file, import.meta.resolve('ccxt')).href)) as Module
}
