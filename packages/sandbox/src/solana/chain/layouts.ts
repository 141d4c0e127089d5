/**
 * How accounts are laid out in bytes: what the simulator reads (token and stake accounts) and what it writes itself
 * (mints, a vote account, lookup tables), because these belong to the world before the first story.
 * https://github.com/solana-program/token, …/token-2022, …/stake, …/address-lookup-table; anza-xyz/agave's vote
 * interface; https://developers.metaplex.com/token-metadata (the account "Metadata").
 */
import type { Address, EncodedAccount } from '@solana/kit'
import { bytesOf, toBase58 } from './addresses.ts'
import type { TokenBalance } from '../history.ts'
import { stakeProgram } from './programs.ts'
import { isTokenProgram, type Token } from './tokens.ts'

export const tokenAccountBytes = 165
export const stakeAccountBytes = 200
const mintBytes = 82
const voteAccountBytes = 3_762
const metadataBytes = 607
/** Where Token-2022 says what kind of account has extensions, and the kinds. */
const kindOffset = 165
const kinds = { mint: 1, account: 2 } as const
/** A mint with one extension, which names who may close it. */
export const closableMintBytes = kindOffset + 1 + 4 + 32
export const never = 2n ** 64n - 1n

export interface TokenAccount {
  mint: Address
  owner: Address
  amount: bigint
  delegate: Address | undefined
  state: 'uninitialized' | 'initialized' | 'frozen'
  /** The part of a wrapped SOL account that is rent and not SOL. */
  nativeReserve: bigint | undefined
  delegatedAmount: bigint
  closeAuthority: Address | undefined
  extensions: readonly Extension[]
}

export interface Extension {
  type: number
  data: Buffer
}

export function isTokenAccount({ data, programAddress }: EncodedAccount): boolean {
  if (!isTokenProgram(programAddress)) return false
  return data.length === tokenAccountBytes || (data.length > kindOffset && data[kindOffset] === kinds.account)
}

export function isMint({ data, programAddress }: EncodedAccount): boolean {
  if (!isTokenProgram(programAddress)) return false
  return data.length === mintBytes || (data.length > kindOffset && data[kindOffset] === kinds.mint)
}

export function decodeTokenAccount({ data }: EncodedAccount): TokenAccount {
  const bytes = Buffer.from(data)
  const states = ['uninitialized', 'initialized', 'frozen'] as const
  return {
    mint: addressAt(bytes, 0),
    owner: addressAt(bytes, 32),
    amount: bytes.readBigUInt64LE(64),
    delegate: optionalAddressAt(bytes, 72),
    state: states[bytes.readUInt8(108)] ?? 'uninitialized',
    nativeReserve: bytes.readUInt32LE(109) === 0 ? undefined : bytes.readBigUInt64LE(113),
    delegatedAmount: bytes.readBigUInt64LE(121),
    closeAuthority: optionalAddressAt(bytes, 129),
    extensions: extensionsOf(bytes),
  }
}

export function toTokenBalance(
  account: EncodedAccount,
  accountIndex: number,
  decimalsOf: (mint: Address) => number | undefined,
): TokenBalance | undefined {
  if (!isTokenAccount(account)) return undefined
  const { mint, owner, amount } = decodeTokenAccount(account)
  return { accountIndex, mint, owner, program: account.programAddress, amount, decimals: decimalsOf(mint) }
}

export function extensionsOf(bytes: Buffer): Extension[] {
  const extensions: Extension[] = []
  for (let offset = kindOffset + 1; offset + 4 <= bytes.length;) {
    const type = bytes.readUInt16LE(offset)
    const length = bytes.readUInt16LE(offset + 2)
    if (type === 0) break
    extensions.push({ type, data: bytes.subarray(offset + 4, offset + 4 + length) })
    offset += 4 + length
  }
  return extensions
}

export function encodeMint(token: Token, authority: Address, supply: bigint): Buffer {
  const base = Buffer.concat([
    ...[word(1), bytesOf(authority), number(supply)],
    ...[Buffer.of(token.decimals, 1), word(0), Buffer.alloc(32)],
  ])
  const extensions = [...encodeTransferFee(token, authority), ...encodeName(token, authority)]
  if (extensions.length === 0) return base
  return Buffer.concat([base, Buffer.alloc(kindOffset - mintBytes), Buffer.of(kinds.mint), ...extensions])
}

/** TransferFeeConfig has two authorities, the withheld amount, and the fee before and after an epoch. */
function encodeTransferFee({ transferFeeBasisPoints }: Token, authority: Address): Buffer[] {
  if (transferFeeBasisPoints === undefined) return []
  const points = Buffer.alloc(2)
  points.writeUInt16LE(transferFeeBasisPoints)
  const fee = [number(0n), number(never), points]
  const config = Buffer.concat([bytesOf(authority), bytesOf(authority), number(0n), ...fee, ...fee])
  return encodeExtension(1, config)
}

/** TokenMetadata: who may change it, the mint, name, symbol, a link, and pairs of texts. */
function encodeName({ mint, name, symbol, namedInMint }: Token, authority: Address): Buffer[] {
  if (namedInMint === undefined) return []
  const text = (value: string): Buffer => Buffer.concat([word(Buffer.byteLength(value)), Buffer.from(value)])
  const pairs = [word(1), text('more'), text('\u0001'.repeat(namedInMint.moreLength))]
  const data = [bytesOf(authority), bytesOf(mint), text(name), text(symbol), text(''), ...pairs]
  return encodeExtension(19, Buffer.concat(data))
}

function encodeExtension(type: number, data: Buffer): Buffer[] {
  const head = Buffer.alloc(4)
  head.writeUInt16LE(type)
  head.writeUInt16LE(data.length, 2)
  return [head, data]
}

/** What Metaplex's program keeps of a token: names are padded with zeros to their greatest length. */
export function encodeMetadata({ mint, name, symbol }: Token, authority: Address): Buffer {
  const padded = (text: string, length: number): Buffer => {
    const bytes = Buffer.alloc(4 + length)
    bytes.writeUInt32LE(length)
    bytes.write(text, 4, 'utf8')
    return bytes
  }
  const head = Buffer.concat([Buffer.of(4), bytesOf(authority), bytesOf(mint)])
  const data = Buffer.concat([head, padded(name, 32), padded(symbol, 10), padded('', 200)])
  // Neither royalties nor creators; sold; can be changed.
  return Buffer.concat([data, Buffer.of(0, 0, 0, 1, 1), Buffer.alloc(metadataBytes - data.length - 5)])
}

export interface StakeAccount {
  address: Address
  rentExemptReserve: bigint
  staker: Address
  withdrawer: Address
  lockup: { unixTimestamp: bigint; epoch: bigint; custodian: Address }
  delegation:
    | { voter: Address; stake: bigint; activationEpoch: bigint; deactivationEpoch: bigint; creditsObserved: bigint }
    | undefined
}

/** Undefined for an account that does not hold stake, or has not been initialised. */
export function decodeStake({ address, data, programAddress }: EncodedAccount): StakeAccount | undefined {
  const bytes = Buffer.from(data)
  const tag = bytes.length === stakeAccountBytes ? bytes.readUInt32LE() : 0
  if (programAddress !== stakeProgram || (tag !== 1 && tag !== 2)) return undefined
  return {
    address,
    rentExemptReserve: bytes.readBigUInt64LE(4),
    staker: addressAt(bytes, 12),
    withdrawer: addressAt(bytes, 44),
    lockup: {
      unixTimestamp: bytes.readBigInt64LE(76),
      epoch: bytes.readBigUInt64LE(84),
      custodian: addressAt(bytes, 92),
    },
    delegation:
      tag === 1
        ? undefined
        : {
            voter: addressAt(bytes, 124),
            stake: bytes.readBigUInt64LE(156),
            activationEpoch: bytes.readBigUInt64LE(164),
            deactivationEpoch: bytes.readBigUInt64LE(172),
            creditsObserved: bytes.readBigUInt64LE(188),
          },
  }
}

/** The same stake account with a reward in it. */
export function withReward(account: EncodedAccount, reward: bigint): Buffer {
  const bytes = Buffer.from(account.data)
  bytes.writeBigUInt64LE(bytes.readBigUInt64LE(156) + reward, 156)
  return bytes
}

/** Enough of a validator for a stake to be delegated to it (version 1.14.11 of the vote state). */
export function encodeVoteAccount(node: Address, commission: number): Buffer {
  const priorVoters = Buffer.concat([Buffer.alloc(32 * 48), number(31n), Buffer.of(1)])
  const state = Buffer.concat([
    ...[word(1), bytesOf(node), bytesOf(node), Buffer.of(commission)],
    // No votes, no root slot; one authorised voter since epoch 0.
    ...[number(0n), Buffer.of(0), number(1n), number(0n), bytesOf(node), priorVoters],
    // Credits of one epoch, and the last vote's slot and time.
    ...[number(1n), number(0n), number(1_000n), number(0n), number(0n), number(0n)],
  ])
  return Buffer.concat([state, Buffer.alloc(voteAccountBytes - state.length)])
}

export function encodeLookupTable(addresses: readonly Address[]): Buffer {
  const head = Buffer.concat([word(1), number(never), number(0n), Buffer.of(0, 0), Buffer.alloc(34)])
  return Buffer.concat([head, ...addresses.map(bytesOf)])
}

function addressAt(bytes: Buffer, offset: number): Address {
  return toBase58(bytes.subarray(offset, offset + 32)) as Address
}

function optionalAddressAt(bytes: Buffer, offset: number): Address | undefined {
  return bytes.readUInt32LE(offset) === 0 ? undefined : addressAt(bytes, offset + 4)
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

export function number(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}
