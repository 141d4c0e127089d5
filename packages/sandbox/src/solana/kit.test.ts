/**
 * An unmodified @solana/kit reads the simulated node. What it reads adds up, and agrees with the chain to the lamport.
 */
import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import {
  address as toAddress,
  createSolanaRpc,
  getAddressEncoder,
  getBase64Encoder,
  getTransactionDecoder,
  isSolanaError,
  signature as toSignature,
  SOLANA_ERROR__JSON_RPC__INVALID_PARAMS,
  type Address,
  type Signature,
} from '@solana/kit'
import { TOKEN_PROGRAM_ADDRESS } from '@solana-program/token'
import { startNode, type TestNode, type TestWallet } from '../testing/solana-client.ts'
import type { WalletState } from './chain/account-state.ts'

const token2022 = toAddress('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb')
const stakeProgram = toAddress('Stake11111111111111111111111111111111111111')
/** An Ed25519 public key as SubjectPublicKeyInfo (RFC 8410): this head and 32 bytes. */
const spkiHead = Buffer.from('302a300506032b6570032100', 'hex')
const versioned = { encoding: 'jsonParsed', maxSupportedTransactionVersion: 0 } as const

let node: TestNode
let rpc: ReturnType<typeof createSolanaRpc>
before(async () => {
  node = await startNode()
  rpc = createSolanaRpc(node.url)
})
after(() => node.sandbox.close())

async function listTokenAccounts(owner: Address): Promise<{ pubkey: Address; mint: string; amount: bigint }[]> {
  const lists = []
  for (const programId of [TOKEN_PROGRAM_ADDRESS, token2022]) {
    const { value } = await rpc.getTokenAccountsByOwner(owner, { programId }, { encoding: 'jsonParsed' }).send()
    lists.push(...value)
  }
  return lists.map(({ pubkey, account }) => {
    const { mint, tokenAmount } = account.data.parsed.info
    return { pubkey, mint, amount: BigInt(tokenAmount.amount) }
  })
}

async function listSignatures(of: Address): Promise<Signature[]> {
  const found: Signature[] = []
  for (;;) {
    const last = found.at(-1)
    const page = await rpc.getSignaturesForAddress(of, { limit: 40, ...(last && { before: last }) }).send()
    found.push(...page.map(({ signature }) => signature))
    if (page.length < 40) return found
  }
}

/** By account: what the transactions say that it gained, in lamports and in tokens. */
async function reckon(signatures: Iterable<Signature>): Promise<Map<string, { lamports: bigint; tokens: bigint }>> {
  const sums = new Map<string, { lamports: bigint; tokens: bigint }>()
  const add = (account: string | undefined, gained: { lamports?: bigint; tokens?: bigint }): void => {
    assert.ok(account !== undefined)
    const { lamports, tokens } = sums.get(account) ?? { lamports: 0n, tokens: 0n }
    sums.set(account, { lamports: lamports + (gained.lamports ?? 0n), tokens: tokens + (gained.tokens ?? 0n) })
  }
  for (const signature of signatures) {
    const found = await rpc.getTransaction(signature, versioned).send()
    assert.ok(found?.meta)
    const { meta, transaction } = found
    const keys = transaction.message.accountKeys.map(({ pubkey }) => pubkey)
    for (const [index, after] of meta.postBalances.entries()) {
      add(keys[index], { lamports: after - (meta.preBalances[index] ?? 0n) })
    }
    for (const { accountIndex, uiTokenAmount } of meta.postTokenBalances ?? []) {
      add(keys[accountIndex], { tokens: BigInt(uiTokenAmount.amount) })
    }
    for (const { accountIndex, uiTokenAmount } of meta.preTokenBalances ?? []) {
      add(keys[accountIndex], { tokens: -BigInt(uiTokenAmount.amount) })
    }
  }
  return sums
}

function tokensIn(state: WalletState): { pubkey: string; mint: string; amount: bigint }[] {
  return state.accounts.flatMap(({ address, token }) =>
    token === undefined ? [] : [{ pubkey: address, mint: token.mint, amount: BigInt(token.amount) }],
  )
}

const byKey = (a: { pubkey: string }, b: { pubkey: string }): number => (a.pubkey < b.pubkey ? -1 : 1)

/** Reads a wallet as a stranger would, from its address alone. */
async function readAll(wallet: TestWallet): Promise<void> {
  const owner = toAddress(wallet.address)
  const state = await wallet.state()
  const held = await listTokenAccounts(owner)
  assert.deepEqual(held.toSorted(byKey), tokensIn(state).toSorted(byKey))
  const { value: lamports } = await rpc.getBalance(owner).send()
  assert.equal(lamports.toString(), state.accounts.find(({ kind }) => kind === 'wallet')?.lamports)

  const signatures = new Set(await listSignatures(owner))
  for (const { pubkey } of held) for (const one of await listSignatures(pubkey)) signatures.add(one)
  const sums = await reckon(signatures)
  assert.equal(sums.get(owner)?.lamports, lamports)
  for (const { pubkey, amount } of held) assert.equal(sums.get(pubkey)?.tokens, amount, pubkey)
  // Closed accounts return everything.
  const known = new Set<string>([owner, ...held.map(({ pubkey }) => pubkey)])
  const closed = state.effects.map(({ account }) => account).filter((account) => !known.has(account))
  for (const account of new Set(closed)) {
    if (!state.accounts.some(({ address }) => address === account)) assert.equal(sums.get(account)?.tokens, 0n)
  }
}

describe('@solana/kit', () => {
  it('reads the scenario default to the lamport', async () => {
    await readAll(await node.open('default'))
  })

  it('reads the scenario odd to the last digit', async () => {
    const wallet = await node.open('odd')
    await readAll(wallet)
    const held = await listTokenAccounts(toAddress(wallet.address))
    const amounts = held.map(({ amount }) => amount).toSorted((a, b) => (a < b ? -1 : 1))
    // 1,000.000000009 less one percent, rounded up; then 99.5 sent. The fee stays at the account that receives.
    const taxed = 1_000_000_000_009n - 10_000_000_001n - 99_500_000_000n
    assert.deepEqual(amounts, [1n, taxed, 123_456_789_012_345_677n, 1_009_007_199_254_740_999n])
    // The first payment is 2^53 + 1 lamports, and the JSON has it exactly.
    const [first] = (await listSignatures(toAddress(wallet.address))).slice(-1)
    assert.match(await node.askText('getTransaction', first, versioned), /"lamports":9007199254740993[,}]/)
  })

  it('reads an empty wallet', async () => {
    const owner = toAddress((await node.open('empty')).address)
    assert.equal((await rpc.getBalance(owner).send()).value, 0n)
    assert.equal((await rpc.getAccountInfo(owner, { encoding: 'base64' }).send()).value, null)
    assert.deepEqual(await listTokenAccounts(owner), [])
    assert.deepEqual(await listSignatures(owner), [])
  })

  it('finds stake by its withdrawer, and the rewards that the chain paid', async () => {
    const wallet = await node.open('default')
    const bytes = toAddress(wallet.address)
    const stakes = await rpc
      .getProgramAccounts(stakeProgram, {
        encoding: 'jsonParsed',
        filters: [{ memcmp: { offset: 44n, bytes: bytes, encoding: 'base58' } }],
      })
      .send()
    assert.equal(stakes.length, 1)
    const [stake] = stakes
    assert.ok(stake)
    const { epoch } = await rpc.getEpochInfo().send()
    const [reward] = await rpc.getInflationReward([stake.pubkey], { epoch: epoch - 1n }).send()
    assert.equal(reward?.postBalance, stake.account.lamports)
    const { effects } = await wallet.state()
    const sum = effects
      .filter(({ account, asset }) => account === stake.pubkey && asset === 'native')
      .reduce((all, { amount }) => all + BigInt(amount), 0n)
    assert.equal(sum, stake.account.lamports)
    assert.equal(
      effects.filter(({ account, kind }) => account === stake.pubkey && kind === 'reward').length > 400,
      true,
    )
  })

  it('verifies the signatures of every kind of transaction', async () => {
    const wallet = await node.open('default')
    const signatures = await listSignatures(toAddress(wallet.address))
    for (const one of signatures.slice(-30)) {
      const found = await rpc.getTransaction(one, { encoding: 'base64', maxSupportedTransactionVersion: 0 }).send()
      assert.ok(found)
      const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(found.transaction[0]))
      for (const [signer, bytes] of Object.entries(transaction.signatures)) {
        assert.ok(bytes)
        const spki = Buffer.concat([spkiHead, getAddressEncoder().encode(toAddress(signer)) as Uint8Array])
        const key = createPublicKey({ key: spki, format: 'der', type: 'spki' })
        assert.equal(verify(null, Uint8Array.from(transaction.messageBytes), key, bytes), true)
      }
    }
  })

  it('turns refusals into its own errors', async () => {
    const unknown = toSignature(
      '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv',
    )
    assert.equal(await rpc.getTransaction(unknown, versioned).send(), null)
    await assert.rejects(
      rpc.getSignaturesForAddress(toAddress(stakeProgram), { limit: 5_000 }).send(),
      (error) => isSolanaError(error, SOLANA_ERROR__JSON_RPC__INVALID_PARAMS) && /max 1000/.test(error.message),
    )
  })
})
