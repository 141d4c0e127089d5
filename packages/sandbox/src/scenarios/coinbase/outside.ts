/**
 * Transfers whose other side another simulator can show. They are fixed texts, the same in every account. The hashes
 * and addresses have the shape of their network and exist on no chain.
 */
export const outsideTransfers = {
  /** 0.4125 BTC arrive at Kraken eighteen minutes later (`scenarios/kraken/default.ts`), under the same hash. */
  bitcoinOut: {
    at: '2021-03-19T07:23:11Z',
    code: 'BTC',
    /** What leaves the wallet, including the network's fee. */
    amount: '0.4126',
    fee: '0.0001',
    hash: '5c1f0e8a7b6d3942e1a0c4f7d8b92536417e0fa3c5b8d6291e4f7a0b3c6d9e82',
    address: 'bc1q7x2m9k4c8v5t3w6r0y1p9d7f5g3h2j4n6k8s0a',
  },
  /** 2.5 ETH from the owner's own wallet. */
  etherIn: {
    at: '2022-02-03T16:20:45Z',
    code: 'ETH',
    amount: '2.5',
    hash: '0x7d1b4e9c2a5f8036b1e4d7a0c3f69258b4e1d7a0f3c69285e1b4d7a0c3f69281',
    address: '0x4f2a1c9e7b5d3086a4c2e0f8b6d49175c3e1a9f7',
  },
  /** 600 USDC to the same wallet. */
  usdcOut: {
    at: '2024-08-19T11:05:32Z',
    code: 'USDC',
    amount: '601.75',
    fee: '1.75',
    hash: '0x19e7c5a3f1d0b8967e5c3a1f9d7b5036e4c2a0f8d6b49271e5c3a1f0d8b69475',
    address: '0x4f2a1c9e7b5d3086a4c2e0f8b6d49175c3e1a9f7',
  },
} as const
