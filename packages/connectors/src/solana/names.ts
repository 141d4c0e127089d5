/**
 * What the authors of tokens call them. Token-2022 keeps a name in the mint itself (its extension `TokenMetadata`); for
 * the older program it is in an account of Metaplex's Token Metadata program, whose address follows from the mint
 * (developers.metaplex.com/token-metadata; solana.com/docs/core/pda).
 *
 * A name is a courtesy, and any stranger can write one and send its token to any wallet. So the first bytes of an
 * account are requested and not all that its author wrote, for a limited number of tokens, and a token whose name cannot
 * be had is called by its mint.
 */
import { SourceError } from '@assay/core'
import { base58 } from '@scure/base'
import { z } from 'zod'
import { isAddress, toProgramAddress } from './addresses.ts'
import { findKnownToken, isWrappedSol, toTokenName, type TokenName } from './assets.ts'
import { commitment, type Rpc } from './rpc.ts'

/** Returns the tokens that have a name. A mint without a name, and one that the registry knows, is left out. */
export type FetchNames = (mints: Iterable<string>) => Promise<Record<string, TokenName>>

/** The limit of `getMultipleAccounts`. */
export const accountsPerCallMax = 100

/** A reader requests each name once. */
export function createNames(rpc: Rpc): FetchNames {
  const known = new Map<string, TokenName | undefined>()
  return async (mints) => {
    const asked = [...new Set(mints)].filter((mint) => !isWrappedSol(mint) && findKnownToken(mint) === undefined)
    const unknown = asked.filter((mint) => !known.has(mint)).slice(0, mintsPerReadMax)
    for (let at = 0; at < unknown.length; at += mintsPerCall) {
      const some = unknown.slice(at, at + mintsPerCall)
      const names = await findNames(rpc, some)
      if (names === undefined) break
      for (const [index, mint] of some.entries()) known.set(mint, names[index])
    }
    return Object.fromEntries(
      asked.flatMap((mint) => {
        const name = known.get(mint)
        return name === undefined ? [] : [[mint, name]]
      }),
    )
  }
}

/** Each is requested from two accounts. */
const mintsPerCall = accountsPerCallMax / 2
/** Half of the calls of one method that the public node allows at once. A wallet with more tokens has mostly spam. */
const mintsPerReadMax = 20 * mintsPerCall
/**
 * All other extensions of a mint together have 1,200 bytes. A name that does not fit behind them is longer than a
 * person reads.
 */
const dataSlice = { offset: 0, length: 2_048 }

const bytesAccount = z.object({ data: z.tuple([z.string(), z.literal('base64')]) })
const accountsAnswer = z.object({ value: z.array(z.unknown()) })

/**
 * Undefined when the node cannot say: balances and history go on without these names. A limit of requests is passed on,
 * because the node answers later, and the names of a history are requested only once.
 */
async function findNames(rpc: Rpc, mints: readonly string[]): Promise<(TokenName | undefined)[] | undefined> {
  try {
    return await fetchNames(rpc, mints)
  } catch (error) {
    if (error instanceof SourceError && error.fault !== 'rate_limited') return undefined
    throw error
  }
}

async function fetchNames(rpc: Rpc, mints: readonly string[]): Promise<(TokenName | undefined)[]> {
  const accounts = [...mints, ...mints.map(toMetadataAddress)]
  const config = { encoding: 'base64', dataSlice, commitment }
  const { value } = await rpc.call('getMultipleAccounts', [accounts, config], accountsAnswer)
  return mints.map((_, index) => {
    const found = findInMint(toBytes(value[index])) ?? findInMetadata(toBytes(value[mints.length + index]))
    return found && toTokenName(found)
  })
}

function toBytes(account: unknown): Buffer {
  const found = bytesAccount.safeParse(account)
  return Buffer.from(found.success ? found.data.data[0] : '', 'base64')
}

/** A mint with extensions is padded to the length of a token account, and a byte for the kind of account follows. */
const extensionsOffset = 165 + 1
const tokenMetadataKind = 19

/** Each extension has its kind and its length in two bytes each (github.com/solana-program/token-2022, extension/mod.rs). */
function findInMint(bytes: Buffer): TokenName | undefined {
  for (let at = extensionsOffset; at + 4 <= bytes.length; at += 4 + bytes.readUInt16LE(at + 2)) {
    // The authority that may change it, and the mint come first.
    if (bytes.readUInt16LE(at) === tokenMetadataKind) return findName(bytes, at + 4 + 32 + 32)
  }
  return undefined
}

/** A kind, the authority that may change it, and the mint come first. */
function findInMetadata(bytes: Buffer): TokenName | undefined {
  return findName(bytes, 1 + 32 + 32)
}

function findName(bytes: Buffer, start: number): TokenName | undefined {
  const name = findText(bytes, start)
  const symbol = name && findText(bytes, name.end)
  return name && symbol && { symbol: symbol.text, name: name.text }
}

/** A length in four bytes, then the text, padded with zeros. */
function findText(bytes: Buffer, start: number): { text: string; end: number } | undefined {
  if (bytes.length < start + 4) return undefined
  const end = start + 4 + bytes.readUInt32LE(start)
  if (end > bytes.length) return undefined
  return { text: bytes.toString('utf8', start + 4, end).replaceAll('\0', ''), end }
}

const metadataProgram = base58.decode('metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s')

export function toMetadataAddress(mint: string): string {
  if (!isAddress(mint)) throw new SourceError('unreadable_answer', 'a mint is not an address')
  return toProgramAddress(metadataProgram, [Buffer.from('metadata'), metadataProgram, base58.decode(mint)])
}
