/**
 * The chains that are read, as plain data. An address is valid on all of them.
 *
 * The defaults need no key. Indexes: Blockscout's own instances, and Routescan for Avalanche (both speak Etherscan's
 * `module=account` dialect; checked in November 2026). Blockscout calls the addresses of single instances deprecated
 * "soon", in favour of api.blockscout.com with a key (docs.blockscout.com/devs/apis/requests-and-limits). Nodes:
 * PublicNode. BNB Smart Chain has no index that answers without a key (Routescan says "chain not supported",
 * Etherscan's free plan leaves it out), so it is read only where the operator names one.
 *
 * `depth` is how many blocks must follow a block before we treat it as final:
 *
 *   Ethereum        two epochs of 32 slots
 *   rollups         minutes, which is more than a sequencer has ever taken back. They are only final with the block of
 *                   Ethereum that has their data, 20 to 30 minutes later (docs.optimism.io, "Transaction finality";
 *                   docs.arbitrum.io, "Finality and chain reorganizations"). Until then a replaced block is noticed
 *   Polygon         its longest known reorganisations were about 150 blocks; since its milestones they are shorter
 *                   (PIP-11)
 *   BNB             two blocks while its validators vote. Otherwise more than half of 21 validators have to build on
 *                   it, each with up to 16 blocks in a row (docs.bnbchain.org, "Finality API")
 *   Avalanche       a block that is accepted stays
 */
export interface Chain {
  id: number
  /** The name of the chain in transactions and in the networks that a person chooses. */
  network: string
  name: string
  nativeAssetId: string
  /** In blocks. */
  depth: number
  wrapped: {
    /** The wrapped native coin, in lower case. */
    address: string
    /**
     * WETH9 and its copies log Deposit and Withdrawal, which Etherscan does not list as transfers. This one logs both.
     */
    logsTransfers?: true
  }
  /** A contract that shows the coin itself as a token. Its balance and its transfers are those of the coin. */
  coinContract?: {
    address: string
    /** It lists what the bridge of the chain makes and burns of the coin, which nothing else does. */
    listsBridge?: true
  }
  /** Fees for the data on the first layer are in the receipt, beside the gas (docs.optimism.io, "Transaction fees"). */
  isOpStack?: true
  /** Validators' withdrawals arrive here (EIP-4895). */
  hasWithdrawals?: true
  /**
   * Anyone can credit the coin to any address without a transaction that an index lists for the address:
   *
   *   Arbitrum    what a retryable ticket has paid too much goes to its `excessFeeRefundAddress`, which its sender
   *               chooses, before and beside the transaction (docs.arbitrum.io, "L1 to L2 messaging";
   *               OffchainLabs/nitro, arbos/tx_processor.go, FeeRefundAddr)
   *   Avalanche   imports from the P- and the X-Chain are atomic transactions in the extra data of a block and name any
   *               recipients (build.avax.network, "C-Chain Atomic Transactions"; ava-labs/coreth, import_tx.go)
   *   Polygon     POL from Ethereum arrives by the state sync at the end of a block, outside of its transactions, and
   *               `depositFor` of the bridge names any recipient (docs.polygon.technology, "State Sync Mechanism";
   *               0xPolygon/bor, issue 1041). The transaction in which nodes show it since PIP-74 names no recipient
   */
  hasUnlistedCredits?: true
  rpcUrl: string
  /** Null where no index answers without a key. */
  indexUrl: string | null
  inSandbox?: true
}

export const chains: readonly Chain[] = [
  {
    id: 1,
    network: 'ethereum',
    name: 'Ethereum',
    nativeAssetId: 'crypto:ethereum',
    depth: 64,
    wrapped: { address: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2' },
    hasWithdrawals: true,
    rpcUrl: 'https://ethereum-rpc.publicnode.com',
    indexUrl: 'https://eth.blockscout.com/api',
    inSandbox: true,
  },
  {
    id: 8453,
    network: 'base',
    name: 'Base',
    nativeAssetId: 'crypto:ethereum',
    depth: 300,
    wrapped: { address: '0x4200000000000000000000000000000000000006' },
    isOpStack: true,
    rpcUrl: 'https://base-rpc.publicnode.com',
    indexUrl: 'https://base.blockscout.com/api',
    inSandbox: true,
  },
  {
    id: 42161,
    network: 'arbitrum',
    name: 'Arbitrum One',
    nativeAssetId: 'crypto:ethereum',
    depth: 1_200,
    wrapped: { address: '0x82af49447d8a07e3bd95bd0d56f35241523fbab1', logsTransfers: true },
    rpcUrl: 'https://arbitrum-one-rpc.publicnode.com',
    indexUrl: 'https://arbitrum.blockscout.com/api',
    hasUnlistedCredits: true,
  },
  {
    id: 10,
    network: 'optimism',
    name: 'OP Mainnet',
    nativeAssetId: 'crypto:ethereum',
    depth: 300,
    wrapped: { address: '0x4200000000000000000000000000000000000006' },
    // Until June 2023 it kept the balances, and its only events were those of the bridge (ethereum-optimism/optimism,
    // OVM_ETH.sol and L2StandardBridge.sol). Since then it has none, and `balanceOf` says what an address has of the
    // coin (LegacyERC20ETH.sol).
    coinContract: { address: '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0000', listsBridge: true },
    isOpStack: true,
    rpcUrl: 'https://optimism-rpc.publicnode.com',
    indexUrl: 'https://optimism.blockscout.com/api',
  },
  {
    id: 137,
    network: 'polygon',
    name: 'Polygon PoS',
    nativeAssetId: 'crypto:polygon',
    depth: 256,
    wrapped: { address: '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270' },
    coinContract: { address: '0x0000000000000000000000000000000000001010' },
    hasUnlistedCredits: true,
    rpcUrl: 'https://polygon-bor-rpc.publicnode.com',
    indexUrl: 'https://polygon.blockscout.com/api',
  },
  {
    id: 56,
    network: 'bnb',
    name: 'BNB Smart Chain',
    nativeAssetId: 'crypto:bnb',
    depth: 176,
    wrapped: { address: '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c' },
    rpcUrl: 'https://bsc-rpc.publicnode.com',
    indexUrl: null,
  },
  {
    id: 43114,
    network: 'avalanche',
    name: 'Avalanche C-Chain',
    nativeAssetId: 'crypto:avalanche',
    depth: 32,
    wrapped: { address: '0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7' },
    rpcUrl: 'https://avalanche-c-chain-rpc.publicnode.com',
    indexUrl: 'https://api.routescan.io/v2/network/mainnet/evm/43114/etherscan/api',
    hasUnlistedCredits: true,
  },
]

/** What a connection's `networks` may call a chain: its name, its id in the ids of assets, or the number alone. */
export function toChosenNetwork({ id, network }: Pick<Chain, 'id' | 'network'>): { name: string; aliases: string[] } {
  return { name: network, aliases: [`evm:${id}`, String(id)] }
}

/** In blocks. A replaced block is noticed down to this depth, even if we had treated it as final. */
export function toReplaceableDepth({ depth }: Pick<Chain, 'depth'>): number {
  return 2 * depth
}

/** Reads overlap by this, so that every block that may still be replaced is read again, on every chain. */
export const overlapBlocks = Math.max(...chains.map(toReplaceableDepth))

/** A partition is the id of a chain. */
export function getChain(partition: string): Chain {
  const chain = chains.find(({ id }) => String(id) === partition)
  if (chain === undefined) throw new RangeError(`no chain ${JSON.stringify(partition)}`)
  return chain
}
