/**
 * A transaction in every encoding. Sources: https://solana.com/docs/rpc/json-structures,
 * https://solana.com/docs/rpc/http/gettransaction; anza-xyz/agave, transaction-status-client-types/src/lib.rs and, for
 * the balances of tokens, svm/src/transaction_balances.rs.
 */
import { toBase58 } from '../chain/addresses.ts'
import type { AccountsHeld, Entry } from '../history.ts'
import { toUiAmount } from './parse-account.ts'
import { parseInstruction } from './parse-instruction.ts'
import { timeOf } from '../chain/slots.ts'
import { isTokenProgram } from '../chain/tokens.ts'
import { RpcError } from './wire.ts'

export type TransactionEncoding = 'base58' | 'base64' | 'binary' | 'json' | 'jsonParsed'

/** `maxVersion`: the newest version that the caller understands; without one, only legacy transactions. */
export function describeTransaction(
  entry: Entry,
  encoding: TransactionEncoding,
  maxVersion: number | undefined,
): object {
  if (maxVersion === undefined && entry.version !== 'legacy') {
    throw new RpcError(
      -32015,
      `Transaction version (${entry.version}) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": ${entry.version}`,
    )
  }
  return {
    blockTime: timeOf(entry.slot),
    meta: describeMeta(entry, encoding === 'jsonParsed'),
    slot: entry.slot,
    transaction: encodeTransaction(entry, encoding, maxVersion),
    ...(maxVersion !== undefined && { version: entry.version }),
  }
}

function describeMeta(entry: Entry, isParsed: boolean): object {
  const { err, keys } = entry
  const loaded = keys.filter(({ source }) => source === 'lookupTable')
  const addresses = (isWritable: boolean): string[] =>
    loaded.filter((key) => key.isWritable === isWritable).map(({ address }) => address)
  return {
    computeUnitsConsumed: entry.units,
    // The cost that a leader computes: signatures, write locks, and compute units.
    costUnits: entry.units + 720n * BigInt(entry.signatures.length) + 300n * BigInt(writableCount(entry)),
    err,
    fee: entry.fee,
    innerInstructions: entry.inner.map(({ index, instructions }) => ({
      index,
      instructions: instructions.map((one) => describeInstruction(entry, one, isParsed)),
    })),
    // Parsed keys name their own source.
    ...(!isParsed && { loadedAddresses: { readonly: addresses(false), writable: addresses(true) } }),
    logMessages: entry.logs,
    postBalances: entry.after.lamports,
    postTokenBalances: listTokenBalances(entry, entry.after),
    preBalances: entry.before.lamports,
    preTokenBalances: listTokenBalances(entry, entry.before),
    rewards: [],
    status: toStatus(err),
  }
}

export function toStatus(err: Entry['err']): object {
  return err === null ? { Ok: null } : { Err: err }
}

function writableCount({ keys }: Entry): number {
  return keys.filter(({ isWritable }) => isWritable).length
}

/**
 * A node looks for token accounts only in a transaction that names a token program, and leaves out those whose mint was
 * closed: a transfer of SOL to a token account shows no tokens on either side.
 */
function listTokenBalances({ keys }: Entry, { tokens }: AccountsHeld): object[] {
  if (!keys.some(({ address }) => isTokenProgram(address))) return []
  return tokens.flatMap(({ accountIndex, mint, owner, program, amount, decimals }) =>
    decimals === undefined
      ? []
      : [{ accountIndex, mint, owner, programId: program, uiTokenAmount: toUiAmount(amount, decimals) }],
  )
}

function encodeTransaction(entry: Entry, encoding: TransactionEncoding, maxVersion: number | undefined): unknown {
  const bytes = Buffer.from(entry.wireBytes)
  switch (encoding) {
    case 'base58':
      return [toBase58(bytes), 'base58']
    case 'binary':
      return toBase58(bytes)
    case 'base64':
      return [bytes.toString('base64'), 'base64']
    case 'json':
    case 'jsonParsed':
      return { message: describeMessage(entry, encoding === 'jsonParsed', maxVersion), signatures: entry.signatures }
  }
}

function describeMessage(entry: Entry, isParsed: boolean, maxVersion: number | undefined): object {
  const { header, keys } = entry
  const own = keys.filter(({ source }) => source === 'transaction')
  const lookups = entry.version === 'legacy' || maxVersion === undefined ? {} : { addressTableLookups: entry.lookups }
  const parsedKeys = keys.map(({ address, isSigner, isWritable, source }) => ({
    ...{ pubkey: address, signer: isSigner, source, writable: isWritable },
  }))
  return {
    accountKeys: isParsed ? parsedKeys : own.map(({ address }) => address),
    ...lookups,
    ...(!isParsed && { header }),
    instructions: entry.instructions.map((one) => describeInstruction(entry, one, isParsed)),
    recentBlockhash: entry.blockhash,
  }
}

function describeInstruction({ keys }: Entry, instruction: Entry['instructions'][number], isParsed: boolean): object {
  if (isParsed) {
    return parseInstruction(
      instruction,
      keys.map(({ address }) => address),
    )
  }
  const { accounts, data, programIndex, stackHeight } = instruction
  return { accounts, data: toBase58(data), programIdIndex: programIndex, stackHeight }
}
