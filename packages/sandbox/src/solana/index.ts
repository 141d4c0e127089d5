/**
 * A simulated Solana network behind a node's JSON-RPC. Source: https://solana.com/docs/rpc. An account is a wallet,
 * that is, an address with the token and stake accounts that belong to it.
 *
 * There are no keys: an address or a signature says which wallet a call is about, and calls are counted by IP address.
 * It has only the methods that read: transactions come from the stories of wallets and from the control API.
 *
 * This file and what it imports must not load litesvm or @solana/kit: sandboxes without a wallet would pay for them.
 */
import type { WireAnswer, WireRequest } from '../core/serving/listener.ts'
import type { Pace } from '../core/clock.ts'
import type { Provider } from '../core/serving/provider-server.ts'
import type { Scenario } from '../core/scenario.ts'
import type { WalletList } from '../core/issued-lists.ts'
import { createLimits, type Limits } from './rpc/limits.ts'
import type { Story } from './story.ts'
import { createWallets, type SolanaAccount, type Wallets } from './wallets.ts'
import { rpcFailure } from './rpc/wire.ts'
import type { Wallet, World } from './world.ts'

/** The usual configuration of nodes: 50 KiB. */
const bodyBytesMax = 51_200

export interface Solana {
  wallets: Wallets
  provider: Provider
  /** The chain, brought up to the clock. */
  openWorld(): Promise<World>
  /** The account's wallet; the first call tells its story. */
  openWallet(account: SolanaAccount): Promise<{ world: World; wallet: Wallet }>
}

export function createSolana(options: {
  seed: string
  pace: Pace
  scenarios: readonly Scenario<Story>[]
  nowMs: () => number
  wallets: WalletList
}): Solana {
  const { seed, nowMs } = options
  const wallets = createWallets(options)
  const limits = createLimits(options.pace)
  let opening: Promise<World> | undefined

  async function openWorld(): Promise<World> {
    opening ??= import('./world.ts').then((module) => module.openWorld({ seed, nowMs, note: wallets.note }))
    const world = await opening
    world.advance()
    return world
  }

  const openWallet: Solana['openWallet'] = async (account) => {
    const world = await openWorld()
    wallets.note(wallets.addressOf(account), account.id)
    const wallet = await world.ensureWallet(account.id, account.world())
    wallets.keep(account)
    return { world, wallet }
  }

  const provider: Provider = {
    id: 'solana',
    recognise(request) {
      const [account] = wallets.findIn(request.body)
      if (account === undefined) return undefined
      account.calls += 1
      return { accountId: account.id, weather: account.scenario.weather, call: account.calls - 1 }
    },
    async answer(request, context) {
      const refusal = refuse(request, limits, wallets, nowMs())
      if (refusal !== undefined) return refusal
      const named = wallets.findIn(request.body)
      for (const account of named.length > 0 ? named : wallets.takeEarlier()) await openWallet(account)
      const { answerRpc } = await import('./rpc/rpc.ts')
      return answerRpc(await openWorld(), request, context)
    },
    words,
    // Nothing can be added to a chain's past, so the row is new: it moves a list that is read newest first.
    async insertRow(accountId) {
      const account = wallets.accounts.findById(accountId)
      if (account === undefined) return
      const { world, wallet } = await openWallet(account)
      world.act(wallet, { kind: 'receive', asset: 'SOL', amount: '0.01' })
    },
  }

  return { wallets, provider, openWorld, openWallet }
}

/** What the HTTP server refuses before it reads a call. */
function refuse(request: WireRequest, limits: Limits, wallets: Wallets, nowMs: number): WireAnswer | undefined {
  if (request.path === '/health' && request.method === 'GET') return text(200, 'ok')
  if (request.path !== '/') return { ...text(404, 'Not Found'), error: 'not found' }
  if (request.method !== 'POST') {
    return { ...text(405, 'Used HTTP Method is not allowed. POST or OPTIONS is required\n'), error: 'not allowed' }
  }
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) {
    const message = 'Supplied content type is not allowed. Content-Type: application/json is required\n'
    return { ...text(415, message), error: 'content type' }
  }
  if (Buffer.byteLength(request.body) > bodyBytesMax) {
    return { ...text(413, `Exceeded maximum content length ${bodyBytesMax}\n`), error: 'too large' }
  }
  const refused = limits.take(request.address, methodsIn(request.body), wallets.findIn(request.body)[0], nowMs)
  return refused && tooMany(refused.message, refused.retryAfterS)
}

/** The calls of a body, by name; a body that cannot be read counts as one call. */
function methodsIn(body: string): string[] {
  try {
    const sent: unknown = JSON.parse(body)
    const calls = (Array.isArray(sent) ? sent : [sent]) as { method?: unknown }[]
    return calls.map((call) => String(call?.method))
  } catch {
    return ['unreadable']
  }
}

function text(status: number, body: string): WireAnswer {
  return { status, headers: { 'content-type': 'text/plain' }, body }
}

function tooMany(message: string, retryAfterS: number): WireAnswer {
  return rpcFailure(429, { code: 429, message }, { 'retry-after': String(retryAfterS) })
}

const words: Provider['words'] = {
  rateLimited: () => tooMany('Too many requests for a specific RPC call', 1),
  // A wallet has no key that could be revoked, so the endpoint refuses the caller instead.
  revoked: () =>
    rpcFailure(403, {
      code: 403,
      message: 'Your IP or provider is blocked from this endpoint',
    }),
  serviceUnavailable: () =>
    rpcFailure(503, { code: -32005, message: 'Node is unhealthy', data: { numSlotsBehind: null } }),
}
