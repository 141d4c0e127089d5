/**
 * A node for tests, with the documented answers of solana.com/docs/rpc/http and invented values. It answers through
 * `io.fetch`, so that the connector's own requests and parsing are in play. Lamports and amounts are bigint here and
 * numbers on the wire, as a node writes them.
 */
import type { Io } from '../kit/connector.ts'

export const wallet = 'So1anaWa11etAATestPersonXXXXXXXXXXXXXXXXXXX'
export const friend = 'FriendFriendFriendFriendFriendFriendFriend1'
export const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
export const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
export const rent = 2_039_280n

export interface TestAccount {
  key: string
  before: bigint
  after: bigint
  signer?: boolean
  /** An amount is undefined on a side where the account does not exist. Nodes reported no owners before October 2021. */
  token?: { mint: string; owner?: string; ownerBefore?: string; decimals?: number; before?: bigint; after?: bigint }
}

export interface TestTransaction {
  signature: string
  atSeconds: number
  fee?: bigint
  err?: object
  /** The first pays the fee. */
  accounts: readonly TestAccount[]
  instructions?: readonly object[]
  status?: 'confirmed' | 'finalized'
  version?: 'legacy' | number
}

/** The answer of `getTransaction` with the encoding `jsonParsed`. */
export function toAnswer({
  signature,
  atSeconds,
  fee = 5_000n,
  err,
  accounts,
  instructions = [],
  version = 0,
}: TestTransaction): object {
  const balances = (side: 'before' | 'after'): object[] =>
    accounts.flatMap(({ token }, accountIndex) => {
      const amount = token?.[side]
      if (token === undefined || amount === undefined) return []
      const { mint, decimals = 6 } = token
      const owner = side === 'before' ? (token.ownerBefore ?? token.owner) : token.owner
      const uiTokenAmount = { amount: String(amount), decimals, uiAmount: null, uiAmountString: '0' }
      return [{ accountIndex, mint, ...(owner === undefined ? {} : { owner }), programId: tokenProgram, uiTokenAmount }]
    })
  const accountKeys = accounts.map(({ key, signer }, index) => ({
    ...{ pubkey: key, signer: signer ?? index === 0, writable: true, source: 'transaction' },
  }))
  return {
    slot: atSeconds,
    blockTime: atSeconds,
    version,
    transaction: { signatures: [signature], message: { accountKeys, instructions, recentBlockhash: 'x' } },
    meta: {
      ...{ err: err ?? null, fee, logMessages: ['a log'], innerInstructions: [], rewards: [] },
      preBalances: accounts.map(({ before }) => before),
      postBalances: accounts.map(({ after }) => after),
      preTokenBalances: balances('before'),
      postTokenBalances: balances('after'),
    },
  }
}

export interface TestNode {
  /** The time of slot 0, where slots count from there and not in epoch seconds. */
  firstBlockSeconds?: number
  io: Io
  nowMs: number
  transactions: TestTransaction[]
  /** Lists beside those that follow from the accounts of the transactions. */
  lamports: Map<string, bigint>
  tokens: {
    pubkey: string
    mint: string
    amount: bigint
    decimals?: number
    lamports?: bigint
    program?: string
    extensions?: readonly object[]
  }[]
  stakes: Map<string, bigint>
  /** By address, as `getMultipleAccounts` gives them. */
  accounts: Map<string, object>
  /** Accounts that it gives in base64, all of their bytes or those that were asked for. */
  bytes: Map<string, Buffer>
  epoch: { epoch: number; slotIndex: number; slotsInEpoch: number; absoluteSlot: number }
  rewards: Map<string, { amount: bigint; effectiveSlot: number }>
  /** Makes a method answer with this error. */
  errors: Map<string, { code: number; message: string }>
  asked: { method: string; params: unknown[] }[]
  /** The newest slot of a second node behind the same address, which answers where a list continues. */
  laggardSlot?: number
  /** How many signatures of the page before it lists again where a list continues. */
  repeated?: number
  /** It lists the newest signatures wherever a list continues. */
  isStuck?: true
}

export function startNode(): TestNode {
  const node: TestNode = {
    io: {
      fetch: async (_url, init) => answerRequest(node, typeof init?.body === 'string' ? init.body : ''),
      now: () => node.nowMs,
      nextNonce: () => '1',
      baseUrl: 'http://node.test',
    },
    nowMs: 1_760_000_000_000,
    transactions: [],
    ...{ lamports: new Map(), tokens: [], stakes: new Map(), accounts: new Map(), rewards: new Map() },
    bytes: new Map(),
    epoch: { epoch: 800, slotIndex: 200_000, slotsInEpoch: 432_000, absoluteSlot: 800 * 432_000 + 200_000 },
    ...{ errors: new Map(), asked: [] },
  }
  return node
}

const { rawJSON } = JSON as unknown as { rawJSON: (this: void, text: string) => object }

function answerRequest(node: TestNode, body: string): Response {
  const sent = JSON.parse(body) as Call | Call[]
  const answer = Array.isArray(sent) ? sent.map((call) => answerCall(node, call)) : answerCall(node, sent)
  const toWire = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? rawJSON(String(value)) : value)
  return new Response(JSON.stringify(answer, toWire))
}

interface Call {
  id: number
  method: string
  params: unknown[]
}

function answerCall(node: TestNode, { id, method, params }: Call): object {
  node.asked.push({ method, params })
  const error = node.errors.get(method) ?? findLaggardError(node, params) ?? findVersionError(node, method, params)
  return { jsonrpc: '2.0', id, ...(error === undefined ? { result: resultOf(node, method, params) } : { error }) }
}

function resultOf(node: TestNode, method: string, params: unknown[]): unknown {
  const [first, second] = params as [string, Record<string, string>]
  const context = { slot: node.epoch.absoluteSlot }
  switch (method) {
    case 'getAccountInfo':
      return { context, value: node.accounts.get(first) ?? null }
    case 'getBalance':
      return { context, value: node.lamports.get(first) ?? 0n }
    case 'getTokenAccountsByOwner':
      return { context, value: listTokens(node, first, second['programId'] ?? '') }
    case 'getProgramAccounts':
      return [...node.stakes].map(([pubkey, lamports]) => ({ pubkey, account: { lamports, data: ['', 'base64'] } }))
    case 'getMultipleAccounts':
      return { context, value: (params[0] as string[]).map((address) => findAccount(node, address, params[1])) }
    case 'getSignaturesForAddress':
      return listSignatures(node, first, params[1] as Edges)
    case 'getTransaction': {
      const found = node.transactions.find(({ signature }) => signature === first)
      return found === undefined ? null : toAnswer(found)
    }
    case 'getSignatureStatuses':
      return { context, value: (params[0] as string[]).map((signature) => findStatus(node, signature)) }
    case 'getEpochInfo':
      return node.epoch
    case 'getInflationReward': {
      const { epoch } = params[1] as { epoch: number }
      return (params[0] as string[]).map((address) => {
        const reward = node.rewards.get(`${address}:${epoch}`)
        return reward === undefined ? null : { epoch, ...reward, postBalance: 9_007_199_254_740_993n, commission: 5 }
      })
    }
    case 'getBlockTime':
      return (node.firstBlockSeconds ?? 0) + Number(first)
    default:
      throw new Error(`the node of these tests does not have ${method}`)
  }
}

function findAccount({ accounts, bytes }: TestNode, address: string, config: unknown): object | null {
  const data = bytes.get(address)
  if (data === undefined) return accounts.get(address) ?? null
  const { dataSlice } = config as { dataSlice?: { offset: number; length: number } }
  const { offset, length } = dataSlice ?? { offset: 0, length: data.length }
  return { data: [data.toString('base64', offset, offset + length), 'base64'] }
}

/** What the author of a token wrote into its mint under Token-2022, behind an extension of another kind. */
export function toNamedMint({ name, symbol, more = '' }: { name: string; symbol: string; more?: string }): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(`0000${value}`)
    bytes.writeUInt32LE(bytes.length - 4)
    return bytes
  }
  const extension = (kind: number, data: Buffer): Buffer => {
    const head = Buffer.alloc(4)
    head.writeUInt16LE(kind)
    head.writeUInt16LE(data.length, 2)
    return Buffer.concat([head, data])
  }
  const count = Buffer.from([1, 0, 0, 0])
  const metadata = [Buffer.alloc(64, 7), text(name), text(symbol), text('https://token.example'), count]
  return Buffer.concat([
    ...[Buffer.alloc(165), Buffer.from([1]), extension(18, Buffer.alloc(64, 7))],
    extension(19, Buffer.concat([...metadata, text('more'), text(more)])),
  ])
}

function listTokens(node: TestNode, owner: string, programId: string): object[] {
  return node.tokens
    .filter(({ program = tokenProgram }) => program === programId)
    .map(({ pubkey, mint, amount, decimals = 6, lamports = rent, extensions }) => {
      const tokenAmount = { amount: String(amount), decimals, uiAmount: null, uiAmountString: '0' }
      const more = extensions === undefined ? {} : { extensions }
      const info = { ...more, isNative: false, mint, owner, state: 'initialized', tokenAmount }
      const data = { parsed: { info, type: 'account' }, program: 'spl-token', space: 165 }
      const rentEpoch = 18_446_744_073_709_551_615n
      return { pubkey, account: { data, executable: false, lamports, owner: programId, rentEpoch, space: 165 } }
    })
}

interface Edges {
  limit: number
  before?: string
  until?: string
  minContextSlot?: number
}

function findLaggardError({ laggardSlot = Infinity }: TestNode, [, config]: unknown[]): object | undefined {
  const { minContextSlot = 0 } = (config ?? {}) as Edges
  return minContextSlot <= laggardSlot
    ? undefined
    : { code: -32_016, message: 'Minimum context slot has not been reached' }
}

function findVersionError({ transactions }: TestNode, method: string, params: unknown[]): object | undefined {
  if (method !== 'getTransaction') return undefined
  const [signature, { maxSupportedTransactionVersion }] = params as [string, { maxSupportedTransactionVersion: number }]
  const { version = 0 } = transactions.find((one) => one.signature === signature) ?? {}
  const isSupported = version === 'legacy' || version <= maxSupportedTransactionVersion
  return isSupported ? undefined : { code: -32_015, message: `Transaction version (${version}) is not supported` }
}

/** Newest first; of one slot, the last of `transactions` comes first. */
function listSignatures(node: TestNode, address: string, { limit, before, until }: Edges): object[] {
  const isUnknown = node.transactions.some(
    ({ signature, atSeconds }) => signature === before && atSeconds > (node.laggardSlot ?? Infinity),
  )
  // As nodes do.
  if (isUnknown) return []
  const all = node.transactions
    .filter(({ accounts }) => accounts.some(({ key }) => key === address))
    .toReversed()
    .toSorted((a, b) => b.atSeconds - a.atSeconds)
  const start =
    before === undefined || node.isStuck === true ? 0 : all.findIndex(({ signature }) => signature === before) + 1
  const found = all.findIndex(({ signature }) => signature === until)
  return all
    .slice(Math.max(0, start - (node.repeated ?? 0)), Math.min(start + limit, found === -1 ? all.length : found))
    .map(({ signature, atSeconds, err, status = 'finalized' }) => ({
      ...{ signature, slot: atSeconds, blockTime: atSeconds, err: err ?? null, memo: null, confirmationStatus: status },
    }))
}

function findStatus(node: TestNode, signature: string): object | null {
  const found = node.transactions.find((one) => one.signature === signature)
  return found === undefined ? null : { slot: found.atSeconds, confirmationStatus: found.status ?? 'finalized' }
}
