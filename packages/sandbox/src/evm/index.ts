/**
 * Simulated EVM chains behind two interfaces: a node's JSON-RPC (`rpc.ts`) and the account API of an explorer
 * (`account-api.ts`). An account is a wallet, that is, an address on both networks.
 *
 *   POST /rpc/{chain_id}                               1 or 8453
 *   GET  /index/{chain_id}/api?module=…&action=…
 *
 * This file and what it imports must not load hardhat or viem: tests and sandboxes without a wallet would pay for them.
 */
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import type { Pace } from '../core/clock.ts'
import { createMeters, type Meters } from '../core/serving/meter.ts'
import type { CallContext, Provider } from '../core/serving/provider-server.ts'
import type { Scenario } from '../core/scenario.ts'
import { createAddressBook } from './chain/addresses.ts'
import { findNetwork } from './chain/networks.ts'
import type { Story } from './story.ts'
import { createWallets, documentedLimit, type EvmAccount, type Wallets } from './wallets.ts'
import { notOk, rpcFailure } from './rpc/rpc.ts'
import type { World } from './world.ts'

export interface Evm {
  wallets: Wallets
  provider: Provider
  /** Runs a task alone, on chains that are up to date and have the stories of these wallets. */
  withWorld<T>(accounts: readonly EvmAccount[], task: (world: World) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export function createEvm(options: {
  seed: string
  pace: Pace
  scenarios: readonly Scenario<Story>[]
  nowMs: () => number
}): Evm {
  const { nowMs } = options
  const meterOf = createMeters(options.pace)
  const book = createAddressBook(options.seed)
  const wallets = createWallets(book, options)
  let opening: Promise<World> | undefined

  async function open(): Promise<World> {
    const { openWorld } = await import('./world.ts')
    return openWorld({ book, nowMs, prepared: wallets.listPrepared().map(wallets.walletOf) })
  }

  const withWorld: Evm['withWorld'] = async (accounts, task) => {
    opening ??= open()
    const world = await opening
    return world.run(async () => {
      for (const account of accounts) await world.ensureWallet(wallets.walletOf(account))
      return task(world)
    })
  }

  const provider: Provider = {
    id: 'evm',
    recognise(request) {
      const [account] = wallets.findIn(request)
      if (account === undefined) return undefined
      account.calls += 1
      return { accountId: account.id, weather: account.scenario.weather, call: account.calls - 1 }
    },
    answer: (request, context) => answer({ wallets, withWorld, meterOf, nowMs }, request, context),
    words,
    // Nothing can be added to a chain's past, so the row is new: it moves a list that is read newest first.
    async insertRow(accountId) {
      const account = wallets.accounts.findById(accountId)
      if (account === undefined) return
      const { bookMoves } = await import('./bookings.ts')
      const move = { chainId: 1, asset: 'ETH', amount: '0.01', direction: 'in' } as const
      await withWorld([account], (world) => bookMoves(world, wallets.walletOf(account).address, [move], nowMs()))
    },
  }

  return {
    wallets,
    provider,
    withWorld,
    async close() {
      const world = await opening?.catch(() => undefined)
      await world?.close()
    },
  }
}

async function answer(
  { wallets, withWorld, meterOf, nowMs }: Pick<Evm, 'wallets' | 'withWorld'> & { meterOf: Meters; nowMs: () => number },
  request: WireRequest,
  context: CallContext,
): Promise<WireAnswer> {
  const [, kind, chainId, ...rest] = request.path.split('/')
  const network = findNetwork(chainId)
  const accounts = wallets.findIn(request)
  if (network !== undefined && kind === 'rpc' && rest.length === 0 && request.method === 'POST') {
    const { answerRpc } = await import('./rpc/rpc.ts')
    return withWorld(accounts, (world) => answerRpc(world, network.chainId, request.body))
  }
  if (network !== undefined && kind === 'index' && rest.join('/') === 'api' && request.method === 'GET') {
    const [account] = accounts
    // A scenario with a limit of its own counts for its wallet alone, so that it does not starve the others.
    const isOwn = account !== undefined && account.scenario.limit !== 'documented'
    const meter = isOwn ? account.meter : meterOf(`${request.address} ${network.chainId}`, documentedLimit)
    if (meter?.take(1, nowMs()).accepted === false) return words.rateLimited(request)
    const { answerAccountApi } = await import('./rpc/account-api.ts')
    return withWorld(accounts, (world) => answerAccountApi(world, network.chainId, request.query, context))
  }
  return { status: 404, body: JSON.stringify({ error: 'not found' }), error: 'not found' }
}

const words: Provider['words'] = {
  rateLimited: (request) =>
    isRpc(request)
      ? rpcFailure(429, -32005, 'rate limit exceeded')
      : notOk('Max calls per sec rate limit reached (5/sec)'),
  revoked: (request) => (isRpc(request) ? rpcFailure(401, -32600, 'Must be authenticated!') : notOk('Invalid API Key')),
  serviceUnavailable: (request) =>
    isRpc(request)
      ? rpcFailure(503, -32603, 'service unavailable')
      : notOk('Unexpected error, timeout or server too busy. Please try again later'),
}

function isRpc(request: WireRequest): boolean {
  return request.path.startsWith('/rpc/')
}
