/**
 * What the tokens of the simulated chain are called. A mint has no name: wallets read it from an account of Metaplex's Token
 * Metadata program, whose address follows from the mint. https://developers.metaplex.com/token-metadata
 */
import type { Address } from '@solana/kit'
import { bytesOf } from './addresses.ts'
import { programAddress } from './programs.ts'
import type { TokenCode } from './tokens.ts'

export const metadataProgram = 'metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s' as Address

const names: Readonly<Record<TokenCode, readonly [symbol: string, name: string]>> = {
  USDC: ['USDC', 'USD Coin'],
  USDT: ['USDT', 'USDT'],
  BONK: ['Bonk', 'Bonk'],
  JUP: ['JUP', 'Jupiter'],
  PYUSD: ['PYUSD', 'PayPal USD'],
  WSOL: ['SOL', 'Wrapped SOL'],
  PICTURE: ['PIC', 'Picture of a sandbox'],
  // An advertisement, as spam is.
  SPAM: ['GIFT', 'Claim your gift'],
  POINTS: ['POINTS', 'Loyalty points'],
  FINE: ['FINE', 'Fine grains'],
  TAXED: ['TAXED', 'Taxed token'],
}

export function metadataAddressOf(mint: Address): Address {
  return programAddress([Buffer.from('metadata'), bytesOf(metadataProgram), bytesOf(mint)], metadataProgram)
}

/** Lengths that the program fills each text up to, with zeros. */
const [nameBytes, symbolBytes, uriBytes] = [32, 10, 200]
/** Of an account of this kind, as the program makes it. */
const metadataBytes = 679

/** A kind, the authority, the mint and three texts; what follows says nothing here. */
export function encodeMetadata(code: TokenCode, mint: Address, authority: Address): Buffer {
  const [symbol, name] = names[code]
  const head = Buffer.concat([Buffer.of(4), bytesOf(authority), bytesOf(mint)])
  const data = Buffer.concat([head, toText(name, nameBytes), toText(symbol, symbolBytes), toText('', uriBytes)])
  return Buffer.concat([data, Buffer.alloc(metadataBytes - data.length)])
}

function toText(text: string, length: number): Buffer {
  const bytes = Buffer.alloc(4 + length)
  bytes.writeUInt32LE(length)
  bytes.write(text, 4, 'utf8')
  return bytes
}
