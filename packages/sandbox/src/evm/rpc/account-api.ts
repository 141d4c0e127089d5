/**
 * The account API of an explorer. Sources, one page for each action:
 *   https://docs.etherscan.io/api-reference/endpoint/{balance,balancemulti,txlist,txlistinternal,tokentx,tokennfttx,
 *   token1155tx,txsbeaconwithdrawal,getblocknobytime}, https://docs.blockscout.com/devs/apis/rpc/account (keys are
 *   optional; logIndex, transactionHash, index and callType) and /devs/apis/rpc/block (eth_block_number),
 *   https://docs.etherscan.io/api-reference/endpoint/ethblocknumber (module=proxy).
 * A row has the fields of both explorers where they differ in name.
 *
 * An explorer has the blocks up to its own time. With `clock_skew` it is behind the node, as a real one is while it
 * indexes.
 */
import type { WireAnswer } from '../../core/serving/listener.ts'
import type { CallContext } from '../../core/serving/provider-server.ts'
import type { View } from '../../core/timeline.ts'
import { isAddress } from '../chain/addresses.ts'
import type { Chain } from '../chain/chain.ts'
import type { IndexedBlock, TokenTransfer } from '../chain/chain-index.ts'
import { describeInternal, describeTransaction, describeTransfer, describeWithdrawal } from './account-rows.ts'
import { toQuantity } from '../chain/node.ts'
import type { ChainId } from '../chain/networks.ts'
import { describeToken, type TokenWords } from '../chain/token-facts.ts'
import { explorerFailure, notOk, ok } from './rpc.ts'
import type { World } from '../world.ts'

class ExplorerRefusal extends Error {
  readonly answer: WireAnswer

  constructor(answer: WireAnswer) {
    super(answer.error)
    this.answer = answer
  }
}

interface Call {
  chain: Chain
  query: URLSearchParams
  context: CallContext
}

type Action = (call: Call) => Promise<WireAnswer>

/** Page number times page size. Readers that reach it continue from a block. */
const windowMax = 10_000
const addressesMax = 20

const actions: Readonly<Record<string, Action>> = {
  'account balance': async ({ chain, query }) => ok(await balanceOf(chain, getAddressParameter(query))),
  'account balancemulti': async ({ chain, query }) => {
    const addresses = (query.get('address') ?? '').split(',')
    if (addresses.length > addressesMax || !addresses.every(isAddress)) refuse(notOk('Error! Invalid address format'))
    return ok(
      await Promise.all(addresses.map(async (account) => ({ account, balance: await balanceOf(chain, account) }))),
    )
  },
  'account txlist': async ({ chain, query, context }) => {
    const rows = chain.index.rowsOf(getAddressParameter(query)).transactions
    const page = cut(query, context, rows, ({ block }) => block)
    return Promise.resolve(list(page.map((row) => describeTransaction(chain, row))))
  },
  'account txlistinternal': async ({ chain, query, context }) => {
    await chain.readTraces()
    const hash = query.get('txhash')
    if (hash !== null) return list(chain.index.internalsOf(hash).map(describeInternal))
    const rows = chain.index.rowsOf(getAddressParameter(query)).internals
    return list(cut(query, context, rows, ({ transaction }) => transaction.block).map(describeInternal))
  },
  'account tokentx': (call) => listTransfers(call, 'erc20'),
  'account tokennfttx': (call) => listTransfers(call, 'erc721'),
  'account token1155tx': (call) => listTransfers(call, 'erc1155'),
  'account txsbeaconwithdrawal': async ({ chain, query, context }) => {
    const rows = chain.index.rowsOf(getAddressParameter(query)).withdrawals
    return Promise.resolve(list(cut(query, context, rows, ({ block }) => block).map(describeWithdrawal)))
  },
  'block getblocknobytime': getBlockNumberByTime,
  'block eth_block_number': getBlockNumber,
  'proxy eth_blocknumber': getBlockNumber,
}

export async function answerAccountApi(
  world: World,
  chainId: ChainId,
  query: URLSearchParams,
  context: CallContext,
): Promise<WireAnswer> {
  const chain = world.chains.get(chainId)
  if (chain === undefined) throw new Error(`no chain ${chainId}`)
  const key = `${query.get('module') ?? ''} ${query.get('action') ?? ''}`.toLowerCase()
  const action = Object.hasOwn(actions, key) ? actions[key] : undefined
  if (action === undefined) return notOk('Error! Missing Or invalid Action name')
  try {
    return await action({ chain, query, context })
  } catch (error) {
    if (error instanceof ExplorerRefusal) return error.answer
    throw error
  }
}

function refuse(answer: WireAnswer): never {
  throw new ExplorerRefusal(answer)
}

function getAddressParameter(query: URLSearchParams): string {
  const address = query.get('address') ?? ''
  return isAddress(address) ? address.toLowerCase() : refuse(notOk('Error! Invalid address format'))
}

async function balanceOf(chain: Chain, address: string): Promise<string> {
  return BigInt(await chain.node.request('eth_getBalance', address, 'latest')).toString()
}

function list(rows: readonly object[]): WireAnswer {
  return rows.length === 0 ? explorerFailure('No transactions found', []) : ok(rows)
}

/** By address, by contract, or by both. */
async function listTransfers(
  { chain, query, context }: Call,
  standard: TokenTransfer['standard'],
): Promise<WireAnswer> {
  const contract = query.get('contractaddress')?.toLowerCase()
  if (contract !== undefined && !isAddress(contract)) refuse(notOk('Error! Invalid contract address format'))
  const among =
    contract !== undefined && !query.has('address')
      ? chain.index.transfersOf(contract)
      : chain.index.rowsOf(getAddressParameter(query)).transfers
  const rows = among.filter((row) => row.standard === standard && (contract ?? row.contract) === row.contract)
  const page = cut(query, context, rows, ({ transaction }) => transaction.block)
  const described: object[] = []
  // Awaited once for each contract: a page may have ten thousand rows.
  const words = new Map<string, TokenWords>()
  for (const row of page) {
    const token = words.get(row.contract) ?? (await describeToken(chain, row.contract, standard))
    words.set(row.contract, token)
    described.push(describeTransfer(chain, row, token))
  }
  return list(described)
}

/**
 * Blocks from `startblock` to `endblock`, both included, in the order asked for. Without a size, the page is as long as
 * allowed.
 */
function cut<R>(
  query: URLSearchParams,
  context: CallContext,
  rows: readonly R[],
  blockOf: (row: R) => IndexedBlock,
): R[] {
  const first = integerOf(query, 'startblock') ?? 0
  const last = integerOf(query, 'endblock') ?? Number.POSITIVE_INFINITY
  const page = Math.max(1, integerOf(query, 'page') ?? 1)
  const size = integerOf(query, 'offset') ?? windowMax
  if (page * size > windowMax) {
    const message = `Result window is too large, PageNo x Offset size must be less than or equal to ${windowMax}`
    refuse(explorerFailure(message, null))
  }
  const within = rows.filter((row) => {
    const { number, timeS } = blockOf(row)
    return number >= first && number <= last && timeS <= toSeconds(context)
  })
  if (query.get('sort') === 'desc') within.reverse()
  const view: View<R> = { count: within.length, cut: (offset, count) => within.slice(offset, offset + count) }
  return context.cutPage(view, (page - 1) * size, size)
}

/** A value that is not a number, such as `latest`, counts as absent. */
function integerOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? ''
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

function toSeconds({ nowMs }: CallContext): number {
  return Math.floor(nowMs / 1000)
}

async function getBlockNumber({ chain, context }: Call): Promise<WireAnswer> {
  const newest = await chain.blockNumberAt(toSeconds(context))
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', result: toQuantity(newest), id: 1 }) }
}

async function getBlockNumberByTime({ chain, query, context }: Call): Promise<WireAnswer> {
  const timeS = integerOf(query, 'timestamp')
  const closest = query.get('closest') ?? 'before'
  if (timeS === undefined) return notOk('Error! Invalid timestamp')
  const newest = await chain.blockNumberAt(toSeconds(context))
  const before = Math.min(newest, await chain.blockNumberAt(timeS))
  const beforeS = await chain.timeOf(before)
  if (closest === 'before') return beforeS <= timeS ? ok(String(before)) : notOk('Error! No closest block found')
  if (beforeS >= timeS) return ok(String(before))
  return before < newest ? ok(String(before + 1)) : notOk('Error! No closest block found')
}
