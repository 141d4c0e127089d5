/**
 * Accounts as a node writes them, in every encoding. Sources: https://solana.com/docs/rpc/http/getaccountinfo and, for
 * `jsonParsed`, anza-xyz/agave, account-decoder/src/parse_{token,token_extension,stake}.rs.
 */
import { zstdCompressSync } from 'node:zlib'
import type { Address, EncodedAccount } from '@solana/kit'
import { toShortText } from '../../core/units.ts'
import { toBase58 } from '../chain/addresses.ts'
import {
  decodeStake,
  decodeTokenAccount,
  extensionsOf,
  isMint,
  isTokenAccount,
  never,
  type Extension,
  type TokenAccount,
} from '../chain/layouts.ts'
import { token2022Program } from '../chain/tokens.ts'
import { RpcError, toFloat } from './wire.ts'

export type AccountEncoding = 'base58' | 'base64' | 'base64+zstd' | 'binary' | 'jsonParsed'

/** More would take a node too long to encode. */
const base58BytesMax = 128

export interface Slice {
  offset: number
  length: number
}

export function describeAccount(
  account: EncodedAccount,
  encoding: AccountEncoding,
  slice: Slice | undefined,
  decimalsOf: (mint: Address) => number | undefined,
): object {
  const parsed = encoding === 'jsonParsed' ? parseAccount(account, decimalsOf) : undefined
  return {
    data: parsed ?? encodeData(account.data, encoding, slice),
    executable: account.executable,
    lamports: account.lamports,
    owner: account.programAddress,
    // Since rent is always paid in advance, no account has an epoch at which it is due.
    rentEpoch: never,
    space: account.data.length,
  }
}

function encodeData(data: EncodedAccount['data'], encoding: AccountEncoding, slice: Slice | undefined): unknown {
  const whole = Buffer.from(data)
  const bytes = slice === undefined ? whole : whole.subarray(slice.offset, slice.offset + slice.length)
  switch (encoding) {
    case 'base58':
      return [requireShort(bytes), 'base58']
    // A request without an encoding gets a bare text, as it did before there were other encodings.
    case 'binary':
      return requireShort(bytes)
    case 'base64+zstd':
      return [zstdCompressSync(bytes).toString('base64'), 'base64+zstd']
    // A node answers base64 for an account that it cannot parse.
    case 'base64':
    case 'jsonParsed':
      return [bytes.toString('base64'), 'base64']
  }
}

function requireShort(bytes: Buffer): string {
  if (bytes.length <= base58BytesMax) return toBase58(bytes)
  const message = `Encoded binary (base 58) data should be less than ${base58BytesMax} bytes, please use Base64 encoding.`
  throw new RpcError(-32600, message)
}

function parseAccount(account: EncodedAccount, decimalsOf: (mint: Address) => number | undefined): object | undefined {
  const space = account.data.length
  const tokenName = account.programAddress === token2022Program ? 'spl-token-2022' : 'spl-token'
  if (isTokenAccount(account)) {
    const token = decodeTokenAccount(account)
    const decimals = decimalsOf(token.mint)
    if (decimals === undefined) return undefined
    return { parsed: { info: describeToken(token, decimals), type: 'account' }, program: tokenName, space }
  }
  if (isMint(account)) return { parsed: { info: parseMint(account), type: 'mint' }, program: tokenName, space }
  const stake = parseStakeAccount(account)
  return stake && { parsed: stake, program: 'stake', space }
}

function describeToken(token: TokenAccount, decimals: number): object {
  return {
    ...(token.closeAuthority && { closeAuthority: token.closeAuthority }),
    ...(token.delegate && {
      delegate: token.delegate,
      delegatedAmount: toUiAmount(token.delegatedAmount, decimals),
    }),
    ...describeExtensions(token.extensions),
    isNative: token.nativeReserve !== undefined,
    mint: token.mint,
    owner: token.owner,
    ...(token.nativeReserve !== undefined && { rentExemptReserve: toUiAmount(token.nativeReserve, decimals) }),
    state: token.state,
    tokenAmount: toUiAmount(token.amount, decimals),
  }
}

function parseMint({ data }: EncodedAccount): object {
  const bytes = Buffer.from(data)
  const authorityAt = (offset: number): string | null =>
    bytes.readUInt32LE(offset) === 0 ? null : toBase58(bytes.subarray(offset + 4, offset + 36))
  return {
    decimals: bytes.readUInt8(44),
    ...describeExtensions(extensionsOf(bytes)),
    freezeAuthority: authorityAt(46),
    isInitialized: bytes.readUInt8(45) === 1,
    mintAuthority: authorityAt(0),
    supply: bytes.readBigUInt64LE(36).toString(),
  }
}

function describeExtensions(extensions: readonly Extension[]): { extensions?: object[] } {
  return extensions.length === 0 ? {} : { extensions: extensions.map(describeExtension) }
}

function describeExtension({ type, data }: Extension): object {
  switch (type) {
    case 1: {
      const feeAt = (offset: number): object => ({
        epoch: data.readBigUInt64LE(offset),
        maximumFee: data.readBigUInt64LE(offset + 8),
        transferFeeBasisPoints: data.readUInt16LE(offset + 16),
      })
      const state = {
        newerTransferFee: feeAt(90),
        olderTransferFee: feeAt(72),
        transferFeeConfigAuthority: toBase58(data.subarray(0, 32)),
        withdrawWithheldAuthority: toBase58(data.subarray(32, 64)),
        withheldAmount: data.readBigUInt64LE(64),
      }
      return { extension: 'transferFeeConfig', state }
    }
    case 2:
      return { extension: 'transferFeeAmount', state: { withheldAmount: data.readBigUInt64LE(0) } }
    case 3:
      return { extension: 'mintCloseAuthority', state: { closeAuthority: toBase58(data) } }
    case 7:
      return { extension: 'immutableOwner' }
    case 19:
      return { extension: 'tokenMetadata', state: parseTokenMetadata(data) }
    default:
      return { extension: 'unparseableExtension' }
  }
}

function parseTokenMetadata(data: Buffer): object {
  let at = 64
  const takeNumber = (): number => {
    at += 4
    return data.readUInt32LE(at - 4)
  }
  const takeText = (): string => {
    const length = takeNumber()
    at += length
    return data.toString('utf8', at - length, at)
  }
  const [name, symbol, uri] = [takeText(), takeText(), takeText()]
  const additionalMetadata = Array.from({ length: takeNumber() }, () => [takeText(), takeText()])
  const [updateAuthority, mint] = [toBase58(data.subarray(0, 32)), toBase58(data.subarray(32, 64))]
  return { additionalMetadata, mint, name, symbol, updateAuthority, uri }
}

function parseStakeAccount(account: EncodedAccount): object | undefined {
  const stake = decodeStake(account)
  if (stake === undefined) return undefined
  const { delegation, lockup, rentExemptReserve, staker, withdrawer } = stake
  const meta = { authorized: { staker, withdrawer }, lockup, rentExemptReserve: rentExemptReserve.toString() }
  if (delegation === undefined) return { info: { meta, stake: null }, type: 'initialized' }
  const delegated = {
    activationEpoch: delegation.activationEpoch.toString(),
    deactivationEpoch: delegation.deactivationEpoch.toString(),
    stake: delegation.stake.toString(),
    voter: delegation.voter,
    warmupCooldownRate: toFloat(0.25),
  }
  const { creditsObserved } = delegation
  return { info: { meta, stake: { creditsObserved, delegation: delegated } }, type: 'delegated' }
}

/** The float is rounded; the texts are exact. It is null when the power of ten does not fit 64 bits. */
export function toUiAmount(amount: bigint, decimals: number): object {
  const uiAmountString = toShortText(amount, decimals)
  const uiAmount = decimals > 19 ? null : toFloat(Number(uiAmountString))
  return { amount: amount.toString(), decimals, uiAmount, uiAmountString }
}
