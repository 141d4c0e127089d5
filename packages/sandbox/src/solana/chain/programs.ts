/** The addresses of programs and sysvars, and of accounts that follow from others. */
import { createHash } from 'node:crypto'
import { isOffCurveAddress, type Address } from '@solana/kit'
import { bytesOf, toBase58 } from './addresses.ts'

export const systemProgram = '11111111111111111111111111111111' as Address
export const associatedTokenProgram = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL' as Address
export const memoProgram = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr' as Address
export const memoProgramV1 = 'Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo' as Address
export const stakeProgram = 'Stake11111111111111111111111111111111111111' as Address
export const voteProgram = 'Vote111111111111111111111111111111111111111' as Address
export const computeBudgetProgram = 'ComputeBudget111111111111111111111111111111' as Address
export const metadataProgram = 'metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s' as Address
export const lookupTableProgram = 'AddressLookupTab1e1111111111111111111111111' as Address
export const sysvars = {
  clock: 'SysvarC1ock11111111111111111111111111111111' as Address,
  rent: 'SysvarRent111111111111111111111111111111111' as Address,
  stakeHistory: 'SysvarStakeHistory1111111111111111111111111' as Address,
  /** No program reads it anymore; wallets still name it when they delegate. */
  stakeConfig: 'StakeConfig11111111111111111111111111111111' as Address,
} as const

/** https://solana.com/docs/core/pda: the first bump from 255 down whose hash is not a public key. */
export function programAddress(seeds: readonly Uint8Array[], program: Address): Address {
  for (let bump = 255; bump >= 0; bump -= 1) {
    const hash = createHash('sha256')
    for (const seed of seeds) hash.update(seed)
    const parts = [Buffer.of(bump), bytesOf(program), Buffer.from('ProgramDerivedAddress')]
    const address = toBase58(hash.update(Buffer.concat(parts)).digest()) as Address
    if (isOffCurveAddress(address)) return address
  }
  throw new Error('every bump gave a public key')
}

// Finding one takes about a millisecond, and a story asks for the same few again and again.
const associated = new Map<string, Address>()
const associatedMax = 10_000

/** The account in which a wallet holds a token unless it chose another. */
export function associatedAddress(owner: Address, { mint, program }: { mint: Address; program: Address }): Address {
  const name = `${owner} ${mint} ${program}`
  const known = associated.get(name)
  if (known !== undefined) return known
  const found = programAddress([bytesOf(owner), bytesOf(program), bytesOf(mint)], associatedTokenProgram)
  if (associated.size >= associatedMax) associated.clear()
  associated.set(name, found)
  return found
}

/** Where Metaplex's program keeps a token's name and symbol. */
export function metadataAddress(mint: Address): Address {
  return programAddress([Buffer.from('metadata'), bytesOf(metadataProgram), bytesOf(mint)], metadataProgram)
}

export function addressWithSeed(base: Address, seed: string, owner: Address): Address {
  const hash = createHash('sha256').update(bytesOf(base)).update(seed).update(bytesOf(owner))
  return toBase58(hash.digest()) as Address
}

/** An address of this sandbox's own, for what has no keys. */
export function placeOf(name: string): Address {
  return toBase58(createHash('sha256').update(`sandbox account\n${name}`).digest()) as Address
}
