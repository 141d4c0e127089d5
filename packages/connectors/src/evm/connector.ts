/**
 * Wallets on Ethereum and the chains that work like it. The history is what an index of each chain lists for the
 * address; the balances are what the chain itself says. A chain where the wallet was used is a partition of every list,
 * and so is one that has never answered: the wallet may have been used there.
 */
import { SourceError } from '@assay/core'
import type {
  AccountReader,
  Balances,
  Budget,
  Connector,
  ConnectorState,
  Io,
  WalletCredentials,
} from '../kit/connector.ts'
import { chooseChains, fetchAccount, readAddress } from './account.ts'
import { requestsPerCall } from './ask-contracts.ts'
import { fetchHoldings, type Holdings } from './balances.ts'
import { getChain, type Chain } from './chains.ts'
import { createClients, type ChainClient } from './client.ts'
import { evmDefinition } from './definition.ts'
import { getHeight, getReach, openChain, type OpenChain } from './open-chain.ts'
import { fetchPage } from './pages.ts'
import { learnContracts, questionsPerCall } from './scan.ts'
import { readState, type EvmState } from './state.ts'
import { linkKeys, toTransactions } from './deriving/transactions.ts'

// Blockscout allows 5 calls a second with a free key and 3 without (docs.blockscout.com/rate-limits), Etherscan's free
// plan 3 on all chains together (docs.etherscan.io/rate-limits), Routescan 2 without a key. All hosts share one bucket,
// because a cost does not know the chain that it is for.
const budget: Budget = {
  buckets: [
    {
      name: 'index',
      scope: 'address',
      keyless: true,
      tiers: [
        { capacity: 30, refillPerSecond: 5 },
        { capacity: 30, refillPerSecond: 3 },
        { capacity: 30, refillPerSecond: 2 },
        { capacity: 30, refillPerSecond: 0.5 },
      ],
    },
    {
      name: 'rpc',
      scope: 'address',
      keyless: true,
      tiers: [
        { capacity: 100, refillPerSecond: 25 },
        { capacity: 100, refillPerSecond: 5 },
      ],
    },
  ],
  // Typical figures for a wallet that is used on two chains and has a handful of tokens.
  verify: { index: 16, rpc: 24 },
  balances: { index: questionsPerCall, rpc: requestsPerCall },
  partitions: {},
}

export const connector: Connector = {
  providerId: evmDefinition.metadata.provider_id,
  version: 2,
  budget,
  open(credentials, io) {
    if (credentials.type !== 'wallet') throw new TypeError('EVM wallets are connected by their address')
    return openReader(credentials, io)
  },
  linkKeys,
  ownAddresses: (state) => [readState(state).address],
  toTransactions,
}

function openReader(credentials: WalletCredentials, io: Io): AccountReader {
  const chains = new Map<string, OpenChain>()
  let listed: readonly ChainClient[] | undefined
  const listClients = (): readonly ChainClient[] => (listed ??= chooseChains(createClients(io), credentials))

  function findChain(partition: string): OpenChain {
    const opened = chains.get(partition)
    if (opened !== undefined) return opened
    const client = listClients().find(({ chain }) => String(chain.id) === partition)
    if (client === undefined) throw new SourceError('data_hole', `the chain ${partition} cannot be read here`)
    const chain = openChain(client)
    chains.set(partition, chain)
    return chain
  }

  /**
   * The history of a chain is read after its balances: without them it would not add up. `fetchBalances` asks a chain
   * that has not answered again.
   */
  function assertAnswered(partition: string, state: ConnectorState): void {
    const { chains } = readState(state)
    const known = chains[partition]
    if (known?.failed !== undefined) {
      const { name } = getChain(partition)
      throw new SourceError(known.failed, `${name}: the balances could not be read`, { unread: [name] })
    }
    if (known === undefined) throw toUnanswered(listUnanswered(chains))
  }

  function listUnanswered(known: EvmState['chains']): Chain[] {
    return listClients().flatMap(({ chain }) => (known[chain.id] === undefined ? [chain] : []))
  }

  return {
    verify: async () => fetchAccount(listClients(), readAddress(credentials)),
    async fetchBalances(given) {
      const before = readState(given)
      const address = readAddress(credentials)
      const { balances, failed, ...learned } = await fetchHoldings(listClients(), address, readState(given), io.now())
      const state = { address, ...learned }
      const news = JSON.stringify(before) === JSON.stringify(state) ? {} : { state }
      return { ...toBalances({ balances, failed }, listUnanswered(learned.chains)), ...news }
    },
    async listPartitions(state) {
      const { chains } = readState(state)
      const listed = listClients().filter(({ chain }) => chains[chain.id]?.isUsed !== false)
      return evmDefinition.streams.flatMap(({ name: stream }) =>
        listed
          .filter(({ chain }) => stream !== 'withdrawals' || chain.hasWithdrawals === true)
          .map(({ chain }) => ({ stream, partition: String(chain.id) })),
      )
    },
    async fetchHeight(_, partition, state) {
      assertAnswered(partition, state)
      return getReach(findChain(partition))
    },
    async fetchPage(request) {
      const stream = evmDefinition.streams.find(({ name }) => name === request.stream)
      if (stream === undefined) throw new RangeError(`EVM wallets have no stream ${JSON.stringify(request.stream)}`)
      const chain = findChain(request.partition)
      const height = await getHeight(chain)
      const known = readState(request.state)
      const { tokens = [] } = known.chains[request.partition] ?? {}
      const context = { ...chain, address: readAddress(credentials), height, tokens, nowMs: io.now() }
      const page = await fetchPage(context, stream.name, request)
      const state = learnContracts(known, stream.name, request.partition, page.records)
      return state === undefined ? page : { ...page, state: { ...request.state, ...state } }
    },
  }
}

/** Chains that have never answered are missing, too, once the round has ended. */
function toBalances(
  { balances, failed }: Pick<Holdings, 'balances' | 'failed'>,
  unanswered: readonly Chain[],
): Balances {
  const known: Balances = balances === undefined ? { balances: [], isPartial: true } : { balances }
  if (known.isPartial === true && failed.length === 0) return known
  const error = toUnanswered(unanswered)
  const missing = [...failed, ...unanswered.map(({ id }) => ({ partition: String(id), error }))]
  return missing.length === 0 ? known : { ...known, failed: missing }
}

/** The wallet may have been used there. */
function toUnanswered(chains: readonly Chain[]): SourceError {
  const unread = chains.map(({ name }) => name)
  return new SourceError('data_hole', `no answer since the wallet was connected: ${unread.join(', ')}`, { unread })
}
