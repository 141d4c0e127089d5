/** The content of a signed transaction, with the addresses that lookup tables stand for. */
import { getCompiledTransactionMessageDecoder, type Address, type Transaction } from '@solana/kit'
import type { AccountKey, CompiledInstruction, Entry, TableLookup } from '../history.ts'
import { memoProgram, memoProgramV1 } from './programs.ts'

type Message = Pick<Entry, 'version' | 'header' | 'blockhash' | 'keys' | 'lookups' | 'instructions' | 'memo'>

export function readMessage(
  transaction: Transaction,
  table: { address: Address; addresses: readonly Address[] } | undefined,
): Message {
  const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
  if (message.version !== 'legacy' && message.version !== 0)
    throw new Error('only legacy and version 0 are written here')
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = message.header
  const writableSigners = numSignerAccounts - numReadonlySignerAccounts
  const writableEnd = message.staticAccounts.length - numReadonlyNonSignerAccounts
  const own = message.staticAccounts.map((address, index): AccountKey => ({
    address,
    isSigner: index < numSignerAccounts,
    isWritable: index < writableSigners || (index >= numSignerAccounts && index < writableEnd),
    source: 'transaction',
  }))
  const lookups = ('addressTableLookups' in message ? (message.addressTableLookups ?? []) : []).map(
    ({ lookupTableAddress, writableIndexes, readonlyIndexes }): TableLookup => ({
      accountKey: lookupTableAddress,
      writableIndexes: [...writableIndexes],
      readonlyIndexes: [...readonlyIndexes],
    }),
  )
  const instructions = message.instructions.map(({ programAddressIndex, accountIndices = [], data }) => ({
    programIndex: programAddressIndex,
    accounts: [...accountIndices],
    data: new Uint8Array(data ?? []),
    stackHeight: 1,
  }))
  const keys = [...own, ...loadedKeys(lookups, table?.addresses ?? [])]
  return {
    version: message.version,
    header: {
      numRequiredSignatures: numSignerAccounts,
      numReadonlySignedAccounts: numReadonlySignerAccounts,
      numReadonlyUnsignedAccounts: numReadonlyNonSignerAccounts,
    },
    blockhash: message.lifetimeToken,
    ...{ keys, lookups, instructions, memo: memoOf(instructions, keys) },
  }
}

function loadedKeys(lookups: readonly TableLookup[], addresses: readonly Address[]): AccountKey[] {
  const load = (indexes: readonly number[], isWritable: boolean): AccountKey[] =>
    indexes.map((index) => {
      const address = addresses[index]
      if (address === undefined) throw new Error(`the lookup table has no entry ${index}`)
      return { address, isSigner: false, isWritable, source: 'lookupTable' }
    })
  return [
    ...lookups.flatMap(({ writableIndexes }) => load(writableIndexes, true)),
    ...lookups.flatMap(({ readonlyIndexes }) => load(readonlyIndexes, false)),
  ]
}

/** The memo as lists of signatures show it: the length in bytes, then the text. */
function memoOf(instructions: readonly CompiledInstruction[], keys: readonly AccountKey[]): string | null {
  const memos = instructions
    .filter(({ programIndex }) => {
      const program = keys[programIndex]?.address
      return program === memoProgram || program === memoProgramV1
    })
    .map(({ data }) => `[${data.length}] ${Buffer.from(data).toString('utf8')}`)
  return memos.length === 0 ? null : memos.join('; ')
}
