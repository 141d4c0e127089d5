/**
 * What the authors of tokens call them. Token-2022 keeps a name in the mint itself (its extension `tokenMetadata`); for
 * the older program it is in an account of Metaplex's Token Metadata program, whose address follows from the mint
 * (developers.metaplex.com/token-metadata; solana.com/docs/core/pda).
 */
import { createHash } from 'node:crypto'
import { SourceError } from '@assay/core'
import { ed25519 } from '@noble/curves/ed25519.js'
import { base58 } from '@scure/base'
import { z } from 'zod'
import { findKnownToken, nativeMint, toTokenName, type TokenName } from './assets.ts'
import { commitment, type Rpc } from './rpc.ts'

/** Returns the tokens that have a name. A mint without a name, and one that the registry knows, is left out. */
export type FetchNames = (mints: Iterable<string>) => Promise<Record<string, TokenName>>

/** The limit of `getMultipleAccounts`. */
export const accountsPerCallMax = 100

/** A reader requests each name once. */
export function createNames(rpc: Rpc): FetchNames {
  const known = new Map<string, TokenName | undefined>()
  return async (mints) => {
    const asked = [...new Set(mints)].filter((mint) => mint !== nativeMint && findKnownToken(mint) === undefined)
    const unknown = asked.filter((mint) => !known.has(mint))
    for (let at = 0; at < unknown.length; at += mintsPerCall) {
      const some = unknown.slice(at, at + mintsPerCall)
      const names = await fetchNames(rpc, some)
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

const mintAccount = z.object({
  data: z.object({
    parsed: z.object({
      info: z.object({
        extensions: z.array(z.object({ extension: z.string(), state: z.unknown() })).default([]),
      }),
    }),
  }),
})
const extensionState = z.object({ name: z.string(), symbol: z.string() })
const bytesAccount = z.object({ data: z.tuple([z.string(), z.string()]) })
const accountsAnswer = z.object({ value: z.array(z.unknown()) })

async function fetchNames(rpc: Rpc, mints: readonly string[]): Promise<(TokenName | undefined)[]> {
  const accounts = [...mints, ...mints.map(toMetadataAddress)]
  const { value } = await rpc.call(
    'getMultipleAccounts',
    [accounts, { encoding: 'jsonParsed', commitment }],
    accountsAnswer,
  )
  return mints.map((_, index) => {
    const found = findInMint(value[index]) ?? findInMetadata(value[mints.length + index])
    return found && toTokenName(found)
  })
}

function findInMint(account: unknown): TokenName | undefined {
  const mint = mintAccount.safeParse(account)
  if (!mint.success) return undefined
  const { extensions } = mint.data.data.parsed.info
  const found = extensionState.safeParse(extensions.find(({ extension }) => extension === 'tokenMetadata')?.state)
  return found.success ? { symbol: found.data.symbol, name: found.data.name } : undefined
}

/** `jsonParsed` gives accounts of programs that a node cannot parse as base64. */
function findInMetadata(account: unknown): TokenName | undefined {
  const found = bytesAccount.safeParse(account)
  if (!found.success || found.data.data[1] !== 'base64') return undefined
  const bytes = Buffer.from(found.data.data[0], 'base64')
  // A kind, the authority that may change it, and the mint come first.
  const name = findText(bytes, 1 + 32 + 32)
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

/**
 * The address of a program account is a hash that is not a public key: the first number from 255 down that gives one
 * counts.
 */
export function toMetadataAddress(mint: string): string {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(mint))
    throw new SourceError('unreadable_answer', 'a mint is not an address')
  const seeds = [Buffer.from('metadata'), metadataProgram, base58.decode(mint)]
  for (let bump = 255; bump >= 0; bump -= 1) {
    const hash = createHash('sha256')
    for (const part of [...seeds, [bump], metadataProgram, Buffer.from('ProgramDerivedAddress')]) {
      hash.update(Uint8Array.from(part))
    }
    const address = hash.digest()
    if (!isPublicKey(address)) return base58.encode(address)
  }
  throw new RangeError('no address of a program follows from this mint')
}

function isPublicKey(bytes: Uint8Array): boolean {
  try {
    ed25519.Point.fromBytes(bytes)
    return true
  } catch {
    return false
  }
}
