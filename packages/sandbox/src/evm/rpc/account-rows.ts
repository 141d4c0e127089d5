/** Rows of the account API, field by field; `account-api.ts` names the documents. Every value is text. */
import { functionNameOf } from '../calls.ts'
import type { Chain } from '../chain/chain.ts'
import type { IndexedTransaction, InternalTransfer, TokenTransfer, Withdrawal } from '../chain/chain-index.ts'
import type { TokenWords } from '../chain/token-facts.ts'

/** https://docs.etherscan.io/api-reference/endpoint/txlist */
export function describeTransaction(chain: Chain, transaction: IndexedTransaction): object {
  const { block, input, isSuccess } = transaction
  return {
    blockNumber: String(block.number),
    blockHash: block.hash,
    timeStamp: String(block.timeS),
    hash: transaction.hash,
    nonce: String(transaction.nonce),
    transactionIndex: String(transaction.position),
    from: transaction.from,
    to: transaction.to ?? '',
    value: String(transaction.value),
    gas: String(transaction.gas),
    gasPrice: String(transaction.gasPrice),
    input,
    ...methodOf(input),
    contractAddress: transaction.createdContract ?? '',
    cumulativeGasUsed: String(transaction.cumulativeGasUsed),
    txreceipt_status: isSuccess ? '1' : '0',
    gasUsed: String(transaction.gasUsed),
    confirmations: confirmationsOf(chain, transaction),
    isError: isSuccess ? '0' : '1',
  }
}

/**
 * https://docs.etherscan.io/api-reference/endpoint/txlistinternal; Blockscout names the hash `transactionHash`, and has
 * `index` and `callType`.
 */
export function describeInternal(internal: InternalTransfer): object {
  const { transaction, type } = internal
  const isCreation = type.startsWith('create')
  return {
    blockNumber: String(transaction.block.number),
    timeStamp: String(transaction.block.timeS),
    hash: transaction.hash,
    from: internal.from,
    to: isCreation ? '' : internal.to,
    value: String(internal.value),
    contractAddress: isCreation ? internal.to : '',
    input: '',
    type,
    gas: String(internal.gas),
    gasUsed: String(internal.gasUsed),
    traceId: internal.traceId,
    isError: internal.isSuccess ? '0' : '1',
    errCode: internal.error,
    transactionHash: transaction.hash,
    index: String(internal.number),
    callType: type === 'call' ? 'call' : '',
  }
}

/**
 * https://docs.etherscan.io/api-reference/endpoint/tokentx, tokennfttx and token1155tx, with Blockscout's `logIndex`.
 * An ERC-721 has no value, an ERC-1155 no decimals; a batch is one row for each of its tokens.
 */
export function describeTransfer(chain: Chain, transfer: TokenTransfer, token: TokenWords): object {
  const { transaction, standard } = transfer
  const { block } = transaction
  return {
    blockNumber: String(block.number),
    timeStamp: String(block.timeS),
    hash: transaction.hash,
    nonce: String(transaction.nonce),
    blockHash: block.hash,
    from: transfer.from,
    contractAddress: transfer.contract,
    to: transfer.to,
    ...(standard === 'erc20' && { value: String(transfer.value) }),
    ...(standard !== 'erc20' && { tokenID: String(transfer.tokenId) }),
    ...(standard === 'erc1155' && { tokenValue: String(transfer.value) }),
    tokenName: token.name,
    tokenSymbol: token.symbol,
    ...(standard !== 'erc1155' && { tokenDecimal: String(token.decimals) }),
    transactionIndex: String(transaction.position),
    gas: String(transaction.gas),
    gasPrice: String(transaction.gasPrice),
    gasUsed: String(transaction.gasUsed),
    cumulativeGasUsed: String(transaction.cumulativeGasUsed),
    input: 'deprecated',
    ...methodOf(transaction.input),
    confirmations: confirmationsOf(chain, transaction),
    logIndex: String(transfer.logIndex),
  }
}

/** https://docs.etherscan.io/api-reference/endpoint/txsbeaconwithdrawal: the amount is in gwei. */
export function describeWithdrawal({ block, number, validator, address, gwei }: Withdrawal): object {
  return {
    withdrawalIndex: String(number),
    validatorIndex: String(validator),
    address,
    amount: String(gwei),
    blockNumber: String(block.number),
    timestamp: String(block.timeS),
  }
}

function methodOf(input: string): { methodId: string; functionName: string } {
  return { methodId: input.slice(0, 10), functionName: functionNameOf(input) }
}

function confirmationsOf(chain: Chain, { block }: { block: { number: number } }): string {
  return String(chain.headNumber() - block.number + 1)
}
