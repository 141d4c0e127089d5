/**
 * A simulated Bitcoin network behind Esplora's API: written from its public documents, never from our own connector.
 * Source: https://github.com/Blockstream/esplora/blob/master/API.md.
 *
 * There are no keys: an address says which wallet a call is about, and calls are counted by IP address. The API only
 * reads: transactions come from the stories of wallets and from the control API, and none can be broadcast.
 */
import { createAccounts, type Accounts, type Account } from '../core/accounts.ts'
import type { WireAnswer } from '../core/serving/listener.ts'
import type { Pace } from '../core/clock.ts'
import type { Provider } from '../core/serving/provider-server.ts'
import type { Scenario } from '../core/scenario.ts'
import type { WalletList } from '../core/issued-lists.ts'
import { answerEsplora, EsploraRefusal, textAnswer } from './api.ts'
import { createNetwork, type Network } from './chain/network.ts'
import { receive } from './payments.ts'
import type { Story } from './story.ts'
import type { Wallet } from './wallet.ts'
import { createWallets, type BitcoinAccount } from './wallets.ts'
import { createMeters } from '../core/serving/meter.ts'

export interface Bitcoin {
  accounts: Accounts<Story, Story>
  provider: Provider
  network: Network
  /** The account's wallet; the first call builds its history. Brings the chain up to the clock. */
  open(account: BitcoinAccount): Wallet
}

export function createBitcoin(options: {
  seed: string
  pace: Pace
  scenarios: readonly Scenario<Story>[]
  nowMs: () => number
  wallets: WalletList
}): Bitcoin {
  const { nowMs } = options
  const accounts = createAccounts<Story, Story>({ ...options, provider: 'bitcoin', documentedLimit, build: (s) => s })
  const network = createNetwork(options.seed)
  const wallets = createWallets(options, accounts, network)
  const limits = createLimits(options.pace)

  const provider: Provider = {
    id: 'bitcoin',
    recognise(request) {
      const account = wallets.findAccount(request.path)
      if (account === undefined) return undefined
      account.calls += 1
      return { accountId: account.id, weather: account.scenario.weather, call: account.calls - 1 }
    },
    answer(request, context) {
      network.chain.advance(nowMs())
      if (!limits.accept(request.address, wallets.findAccount(request.path), nowMs())) return words.rateLimited(request)
      try {
        return answerEsplora(network, request.method, request.path, context)
      } catch (error) {
        if (error instanceof EsploraRefusal) return textAnswer(error.status, error.message)
        throw error
      }
    },
    words,
    insertRow(accountId, lateMs) {
      const account = accounts.findById(accountId)
      if (account === undefined) return
      const wallet = wallets.open(account)
      const seconds = Math.floor((nowMs() - lateMs) / 1_000)
      const height = network.chain.heightAtOrAfter(seconds) ?? network.chain.mine(nowMs())
      const outputs = [{ to: wallet.at('receive', 0), value: 10_000n }]
      receive({ network, wallet }, { seconds, height, feeRate: 5n }, outputs, { alone: true })
    },
  }
  return { accounts, provider, network, open: (account) => wallets.open(account) }
}

const words: Provider['words'] = {
  rateLimited: () => gatewayPage(429, 'Too Many Requests'),
  // A wallet has no key that could be taken back: the gateway refuses the caller instead.
  revoked: () => gatewayPage(403, 'Forbidden'),
  serviceUnavailable: () => gatewayPage(503, 'Service Temporarily Unavailable'),
}

/** nginx, in front of the server. It sends no Retry-After. */
function gatewayPage(status: number, title: string): WireAnswer {
  const heading = `${status} ${title}`
  const body = `<html>\r\n<head><title>${heading}</title></head>\r\n<body>\r\n<center><h1>${heading}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`
  return { status, headers: { 'content-type': 'text/html' }, body, error: title }
}

/**
 * How much a caller may ask, counted by IP address. The documents name no limit; the project's own nginx configuration
 * had 50 calls a second with a burst of 100 (https://github.com/Blockstream/esplora/issues/302), which is used here.
 * The public instance allows less and does not say how much; its 429 comes without Retry-After (…/issues/449).
 */
const documentedLimit = { max: 100, decayPerSecond: 50 }

interface Limits {
  /** Counts a call. `account` is the wallet that the call is about, if any. */
  accept(address: string, account: Account<unknown, unknown> | undefined, nowMs: number): boolean
}

function createLimits(pace: Pace): Limits {
  const meterOf = createMeters(pace)
  return {
    accept(address, account, nowMs) {
      // A scenario with a limit of its own counts for its wallet alone, so that it does not starve the others.
      const isOwn = account !== undefined && account.scenario.limit !== 'documented'
      const meter = isOwn ? account.meter : meterOf(address, documentedLimit)
      return meter?.take(1, nowMs).accepted ?? true
    },
  }
}
