/**
 * Wallets on Ethereum and the chains that work like it, as plain data. An address is public: it needs no key and has
 * nothing to allow. Lists are those of Etherscan's account module (docs.etherscan.io, api-reference), which Blockscout
 * and others offer too; chains.ts says where they are.
 */
import type { Stream } from '../kit/connector.ts'
import { toAddressWallet, type ProviderDefinition } from '../kit/definition.ts'
import { chains, overlapBlocks, toChosenNetwork } from './chains.ts'

const address = { alphabet: '0-9A-Fa-fx', pattern: '0x[0-9A-Fa-f]{40}', length_min: 42, length_max: 42 }

const walletApps = [
  { name: 'MetaMask', menu: ['Receive', 'Ethereum'], shows: 'address' },
  { name: 'Rabby', menu: ['Receive', 'Ethereum'], shows: 'address' },
  { name: 'Ledger', menu: ['Receive', 'Ethereum'], shows: 'address' },
  { name: 'Trezor', menu: ['Ethereum', 'Receive'], shows: 'address' },
  { name: 'Trust Wallet', menu: ['Receive', 'Ethereum'], shows: 'address' },
] as const

/**
 * The most requests of a page to find out the decimals of contracts that the balances have no place for. A group has 150
 * contracts and a page 1,000 rows. Two more find the times of the edges of a window.
 */
export const decimalsRequestsPerPage = 8

export const evmDefinition = {
  metadata: {
    provider_id: 'evm',
    name: 'Ethereum & EVM',
    aliases: [
      'Ethereum',
      'ETH',
      'EVM',
      ...walletApps.map(({ name }) => name),
      'Base',
      'Arbitrum',
      'Optimism',
      'Polygon',
      'BNB Smart Chain',
      'Avalanche',
    ],
    ...toAddressWallet(
      'Your wallet’s address: 0x and 40 further characters. Never a seed phrase or a private key.',
      address,
    ),
    wallet_apps: walletApps,
    networks: chains.map(toChosenNetwork),
    features: { holdings: true, staking: false, transactions: true },
    known_limits: [
      'Addresses of contracts, such as multi-signature wallets, cannot be connected.',
      'What a wallet has deposited in a protocol is shown as the tokens that it got for it, or as sent.',
      'BNB Smart Chain is read only if the operator of this service has named an index for it.',
      'Of wallets with many tokens, at most 1,500 tokens and 600 collectibles are shown as holdings.',
      'A network where the wallet only ever received tokens is found within a day.',
      'AVAX that is moved between the C-Chain and the P- or X-Chain of Avalanche is in no list of transactions.',
      'OP Mainnet began anew in November 2021: how a wallet came to what it had then is in no list of transactions.',
      'POL that comes to Polygon from Ethereum through the bridge of Polygon is in no list of transactions.',
      'Refunds on Arbitrum of what a message from Ethereum has paid too much are in no list of transactions.',
    ],
    status: 'available',
    website: 'https://ethereum.org',
    brand: { color: '#627eea', short_name: 'Ξ' },
    popularity_rank: 5,
  },
  streams: [
    // Ten thousand transfers fit into one block where blocks are large, and an index does not give more of them.
    listStream('transactions', {
      openToStrangers: true,
      providerLimit:
        'Indexes do not list AVAX that comes from or goes to the P- or X-Chain of Avalanche, nor POL that comes to Polygon from Ethereum, nor refunds on Arbitrum of messages from Ethereum.',
    }),
    listStream('internal', {
      openToStrangers: true,
      providerLimit: 'Blockscout lists transfers between contracts and wallets (internal transactions) late.',
    }),
    listStream('erc20', { openToStrangers: true, cost: { index: 1, rpc: decimalsRequestsPerPage + 2 } }),
    listStream('erc721', { openToStrangers: true }),
    listStream('erc1155', { openToStrangers: true }),
    listStream('withdrawals', {
      providerLimit: 'Blockscout does not list the withdrawals of validators in this form.',
      remedy: 'The operator of this service can name another index for Ethereum.',
    }),
  ],
  networks: Object.fromEntries(chains.map(({ id, name }) => [String(id), name])),
  // All records of one hash have the time of one block, except while a replaced block is read again.
  storySpanMs: 3_600_000,
  settlesMs: 60_000,
  // 2: coins that the former bridge of OP Mainnet brought and took are coins.
  connectorVersion: 2,
  // Lido pays its holders by changing what balanceOf says, once a day and without a Transfer event
  // (docs.lido.fi/guides/lido-tokens-integration-guide). Origin's tokens do the same when their yield is harvested
  // (github.com/OriginProtocol/origin-dollar, contracts/contracts/token/OUSD.sol, changeSupply). The others descend from
  // REFLECT: each transfer of anyone pays a fee, which raises the balances of all holders in the same way. SPORE does on
  // Avalanche (0x6e7f…e985 has REFLECT's reflect and tokenFromReflection). YAM multiplied all balances until the end of
  // 2020 (docs.yam.finance/yam/history) and SPHERE every half hour until June 2022 (forum.balancer.fi, BIP-172): wallets
  // that held them then have more than was transferred to them.
  rebasing: [
    ...['crypto:staked-ether', 'crypto:origin-dollar', 'crypto:origin-ether'],
    ...['crypto:hoge-finance', 'crypto:kishu-inu', 'crypto:saitama-inu', 'crypto:safemoon-inu'],
    ...['crypto:safemoon-2', 'crypto:safemars', 'crypto:feg-bsc', 'crypto:spore'],
    ...['crypto:yam-2', 'crypto:sphere-finance'],
  ],
  unlistedCredits: Object.fromEntries(
    chains.flatMap(({ id, nativeAssetId, hasUnlistedCredits }) => (hasUnlistedCredits ? [[id, nativeAssetId]] : [])),
  ) as Readonly<Record<string, string>>,
  baseUrl: 'https://eth.blockscout.com',
  hosts: chains.flatMap(({ rpcUrl, indexUrl }) => [rpcUrl, indexUrl ?? rpcUrl].map((url) => new URL(url).host)),
} as const satisfies ProviderDefinition

function listStream<const Name extends string>(name: Name, special: Partial<Stream> = {}): Stream & { name: Name } {
  return {
    unit: 'block',
    partitioned: true,
    // Indexes search by address, so the years in which a wallet did nothing cost no request.
    windowMax: null,
    retentionMs: null,
    overlap: overlapBlocks,
    cost: { index: 1, rpc: 1 },
    required: true,
    providerLimit: null,
    remedy: null,
    ...special,
    name,
  }
}

export type StreamName = (typeof evmDefinition.streams)[number]['name']
