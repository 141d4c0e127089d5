/**
 * Answers compared with the documents, field by field. The addresses of the pages are beside each test; where a page is
 * silent, the type in anza-xyz/agave that writes the answer is named.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { all, assertShape, digits, text, type Shape } from '../../testing/shape.ts'
import { startNode, type TestNode, type TestWallet } from '../../testing/solana-client.ts'

const address = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
const signature = /^[1-9A-HJ-NP-Za-km-z]{86,88}$/
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const token2022Program = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
const stakeProgram = 'Stake11111111111111111111111111111111111111'
const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
const parsed = { encoding: 'jsonParsed', maxSupportedTransactionVersion: 0 }

type Json = Record<string, unknown>
interface Instruction {
  program?: string
  programId: string
  parsed?: { type: string; info: Json }
  accounts?: string[]
  data?: string
  stackHeight: number
}
interface Transaction {
  slot: number
  blockTime: number
  version: 'legacy' | 0
  meta: {
    err: unknown
    fee: number
    preBalances: number[]
    postBalances: number[]
    preTokenBalances: Json[]
    postTokenBalances: Json[]
    innerInstructions: { index: number; instructions: Instruction[] }[]
    loadedAddresses?: { writable: string[]; readonly: string[] }
    logMessages: string[]
  }
  transaction: {
    signatures: string[]
    message: {
      accountKeys: { pubkey: string; signer: boolean; source: string }[]
      instructions: Instruction[]
      recentBlockhash: string
    }
  }
}
interface Listed {
  signature: string
  slot: number
  err: unknown
  memo: string | null
  blockTime: number
  confirmationStatus: string
}
interface Keyed {
  pubkey: string
  account: { data: { program: string; parsed: { type: string; info: Json }; space: number }; owner: string }
}
interface InContext<T> {
  context: { apiVersion: string; slot: number }
  value: T
}

let node: TestNode
let wallet: TestWallet
let listed: Listed[]
/** Every transaction that names the wallet, oldest first. */
let transactions: Transaction[]
before(async () => {
  node = await startNode()
  wallet = await node.open('default')
  listed = await node.ask<Listed[]>('getSignaturesForAddress', wallet.address)
  transactions = []
  for (const one of listed.toReversed()) {
    transactions.push(await node.ask<Transaction>('getTransaction', one.signature, parsed))
  }
})
after(() => node.sandbox.close())

function instructions(): Instruction[] {
  return transactions.flatMap(({ transaction }) => transaction.message.instructions)
}

function findInstruction(program: string, type: string): Json {
  const found = instructions().find((one) => one.program === program && one.parsed?.type === type)
  assert.ok(found?.parsed, `${program} ${type} does not occur`)
  return found.parsed.info
}

function must<T>(value: T | undefined): T {
  assert.ok(value !== undefined)
  return value
}

const uiAmount: Shape = { amount: digits, decimals: 'number', uiAmount: 'number', uiAmountString: /^\d+(\.\d+)?$/ }

describe('getSignaturesForAddress', () => {
  // https://solana.com/docs/rpc/http/getsignaturesforaddress
  it('lists newest first, with the documented fields', () => {
    const [newest] = listed
    assertShape(
      { ...newest, err: 'null', memo: 'null' },
      {
        ...{ signature, err: text, memo: text, confirmationStatus: /^finalized$/ },
        ...all('slot blockTime', 'number'),
      },
    )
    const slots = listed.map(({ slot }) => slot)
    assert.deepEqual(
      slots,
      slots.toSorted((a, b) => b - a),
    )
    assert.deepEqual(must(listed.find(({ err }) => err !== null)).err, { InstructionError: [2, { Custom: 1 }] })
    assert.equal(must(listed.at(-2)).memo, '[7] welcome')
  })

  it('pages with before and until, neither of which is in the answer', async () => {
    const [first, second, third, fourth] = listed
    const ask = (config: object): Promise<Listed[]> => node.ask('getSignaturesForAddress', wallet.address, config)
    assert.deepEqual(await ask({ limit: 2, before: first?.signature }), [second, third])
    assert.deepEqual(await ask({ before: first?.signature, until: fourth?.signature }), [second, third])
    assert.deepEqual(await ask({ until: first?.signature }), [])
    assert.deepEqual(await ask({ before: must(listed.at(-1)).signature }), [])
    const unknown = '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv'
    assert.deepEqual(await ask({ before: unknown }), [])
    assert.deepEqual(await ask({ until: unknown }), listed)
  })

  it('refuses in the words of a node', async () => {
    const refuse = (...params: unknown[]): Promise<unknown> => node.refusal('getSignaturesForAddress', ...params)
    const words = (message: string): object => ({ code: -32602, message })
    assert.deepEqual(await refuse(wallet.address, { limit: 1_001 }), words('Invalid limit; max 1000'))
    assert.deepEqual(await refuse(wallet.address, { limit: 0 }), words('Invalid limit; max 1000'))
    assert.deepEqual(await refuse('0OIl'), words('Invalid param: Invalid'))
    assert.deepEqual(await refuse('abc'), words('Invalid param: WrongSize'))
    assert.deepEqual(await refuse(wallet.address, { before: 'abc' }), words('Invalid param: WrongSize'))
    assert.deepEqual(
      await refuse(wallet.address, { commitment: 'processed' }),
      words('Method does not support commitment below `confirmed`'),
    )
    assert.deepEqual(await refuse(), words('`params` should have at least 1 argument(s)'))
    const slot = await node.ask<number>('getSlot')
    const late = (await refuse(wallet.address, { minContextSlot: slot + 1_000_000 })) as { code: number; data: Json }
    assert.equal(late.code, -32016)
    assert.equal(typeof late.data['contextSlot'], 'number')
  })
})

describe('getTransaction', () => {
  // https://solana.com/docs/rpc/http/gettransaction, https://solana.com/docs/rpc/json-structures
  it('has the documented fields in jsonParsed', () => {
    const swap = must(transactions.find(({ version }) => version === 0))
    assertShape(swap, { ...all('slot blockTime version', 'number'), ...all('meta transaction', 'object') })
    assertShape(
      { ...swap.meta, err: 'null' },
      {
        ...all('computeUnitsConsumed costUnits fee', 'number'),
        ...all('innerInstructions logMessages preBalances postBalances rewards', 'array'),
        ...all('preTokenBalances postTokenBalances', 'array'),
        ...{ err: text, status: 'object' },
      },
    )
    assertShape(swap.transaction, { signatures: 'array', message: 'object' })
    assertShape(swap.transaction.message, {
      ...all('accountKeys instructions addressTableLookups', 'array'),
      recentBlockhash: address,
    })
    for (const key of swap.transaction.message.accountKeys) {
      assertShape(key, { pubkey: address, source: /^(transaction|lookupTable)$/, ...all('signer writable', 'boolean') })
    }
    const [balance] = swap.meta.preTokenBalances
    const balanceShape: Shape = { accountIndex: 'number', uiTokenAmount: 'object', ...all('mint owner', address) }
    assertShape(balance, { ...balanceShape, programId: /^Token/ })
    assertShape(must(balance)['uiTokenAmount'], uiAmount)
  })

  it('keeps accounts and data of programs that a node cannot parse', () => {
    const budget = must(instructions().find(({ programId }) => programId.startsWith('ComputeBudget')))
    assertShape(budget, { accounts: 'array', data: /^\w+$/, programId: address, stackHeight: 'number' })
  })

  it('parses the instructions of the programs that a node knows', () => {
    // anza-xyz/agave, transaction-status/src/parse_*.rs
    assertShape(findInstruction('system', 'transfer'), { ...all('source destination', address), lamports: 'number' })
    assertShape(findInstruction('system', 'createAccountWithSeed'), {
      ...all('source newAccount base owner', address),
      ...{ seed: text, lamports: 'number', space: 'number' },
    })
    const moved = findInstruction('spl-token', 'transferChecked')
    assertShape(moved, { ...all('source mint destination authority', address), tokenAmount: 'object' })
    assertShape(moved['tokenAmount'], uiAmount)
    assertShape(findInstruction('spl-associated-token-account', 'createIdempotent'), {
      ...all('source account wallet mint systemProgram tokenProgram', address),
    })
    assertShape(findInstruction('spl-token', 'closeAccount'), all('account destination owner', address))
    assertShape(findInstruction('spl-token', 'syncNative'), { account: address })
    assertShape(findInstruction('stake', 'initialize'), {
      ...all('stakeAccount rentSysvar', address),
      ...all('authorized lockup', 'object'),
    })
    const sysvars = all('clockSysvar stakeHistorySysvar', /^Sysvar/)
    assertShape(findInstruction('stake', 'delegate'), {
      ...sysvars,
      ...all('stakeAccount voteAccount stakeConfigAccount stakeAuthority', address),
    })
    assertShape(findInstruction('stake', 'deactivate'), {
      ...{ clockSysvar: /^Sysvar/, stakeAccount: address, stakeAuthority: address },
    })
    const withdrawn = all('stakeAccount destination withdrawAuthority', address)
    assertShape(findInstruction('stake', 'withdraw'), { ...sysvars, ...withdrawn, lamports: 'number' })
    const memo = must(instructions().find(({ program }) => program === 'spl-memo'))
    assert.equal(memo.parsed, 'welcome')
  })

  it('parses the instructions that give a stake account another owner', async () => {
    const { address: owner } = await node.open('handed_stake')
    const [newest] = await node.ask<Listed[]>('getSignaturesForAddress', owner)
    const { transaction } = await node.ask<Transaction>('getTransaction', newest?.signature, parsed)
    const infos = transaction.message.instructions.map((one) => must(one.parsed).info)
    for (const info of infos) {
      const named = all('stakeAccount authority newAuthority', address)
      assertShape(info, { ...named, clockSysvar: /^Sysvar/, authorityType: /^(Staker|Withdrawer)$/ })
      assert.equal(info['authority'], owner)
    }
    assert.deepEqual(
      infos.map((info) => info['authorityType']),
      ['Staker', 'Withdrawer'],
    )
  })

  it('calls the fifth account of a withdrawal its owner, as older nodes do, though the stake program does not look at it', async () => {
    const { address: owner } = await node.open('handed_stake')
    const listed = await node.ask<Listed[]>('getSignaturesForAddress', owner)
    const all = await Promise.all(
      listed.map(({ signature }) => node.ask<Transaction>('getTransaction', signature, parsed)),
    )
    const forged = all.flatMap(({ meta, transaction: { message } }) =>
      message.instructions.flatMap(({ program, parsed: found }) =>
        program === 'stake' && found?.type === 'withdraw' ? [{ meta, message, info: found.info }] : [],
      ),
    )
    assert.equal(forged.length, 1)
    const { meta, message, info } = must(forged[0])
    assert.equal(meta.err, null)
    assert.equal(info['withdrawAuthority'], owner)
    const signers = message.accountKeys.filter(({ signer }) => signer).map(({ pubkey }) => pubkey)
    assert.deepEqual(signers, [info['destination']])
    assert.deepEqual([info['clockSysvar'], info['stakeHistorySysvar']], [info['destination'], info['destination']])
  })

  // anza-xyz/agave, svm/src/transaction_balances.rs
  it('reports tokens only of a transaction that names a token program, and of mints that are not closed', async () => {
    const victim = await node.open('stray_sol')
    const { effects } = await victim.state()
    const signatures = new Set(effects.flatMap(({ signature }) => signature ?? []))
    const told: string[] = []
    for (const signature of signatures) {
      const { meta, transaction } = await node.ask<Transaction>('getTransaction', signature, parsed)
      assert.equal(meta.err, null)
      const types = transaction.message.instructions.map((one) => must(one.parsed).type)
      told.push(`${types.join(' ')}: ${meta.preTokenBalances.length} and ${meta.postTokenBalances.length}`)
    }
    const count = (line: string): number => told.filter((one) => one === line).length
    // SOL to the wallet, and six times to a token account.
    assert.equal(count('transfer: 0 and 0'), 6)
    assert.equal(count('createAccountWithSeed initializeAccount3 setAuthority setAuthority: 0 and 1'), 2)
    // The account of a mint that was closed; the bait and wrapped SOL.
    assert.deepEqual([count('closeAccount: 0 and 0'), count('closeAccount: 1 and 0')], [1, 2])
  })

  it('shows what a program called, one level deeper', () => {
    const opened = must(transactions.find(({ meta }) => meta.innerInstructions.length > 0))
    const [group] = opened.meta.innerInstructions
    const inner = must(group).instructions
    assert.deepEqual(
      inner.map((one) => one.parsed?.type),
      ['getAccountDataSize', 'createAccount', 'initializeImmutableOwner', 'initializeAccount3'],
    )
    assert.ok(inner.every(({ stackHeight }) => stackHeight === 2))
    assert.deepEqual(inner[0]?.parsed?.info['extensionTypes'], ['immutableOwner'])
  })

  it('charges a failed transaction its fee and nothing else', () => {
    const failed = transactions.filter(({ meta }) => meta.err !== null)
    assert.equal(failed.length, 2)
    for (const { meta } of failed) {
      assert.equal((meta.preBalances[0] ?? 0) - (meta.postBalances[0] ?? 0), meta.fee)
      assert.deepEqual(meta.preBalances.slice(1), meta.postBalances.slice(1))
      assert.match(meta.logMessages.at(-1) ?? '', /failed: custom program error: 0x1$/)
    }
    // One with a price for compute units: 200,000 units at 50,000 millionths of a lamport.
    assert.deepEqual(
      failed.map(({ meta }) => meta.fee),
      [5_000, 5_000 + 10_000],
    )
  })

  it('refuses a versioned transaction to a client that names no version', async () => {
    const swap = must(transactions.find(({ version }) => version === 0)).transaction.signatures[0]
    assert.deepEqual(await node.refusal('getTransaction', swap, { encoding: 'jsonParsed' }), {
      code: -32015,
      message:
        'Transaction version (0) is not supported by the requesting client. Please try the request again with the following configuration parameter: "maxSupportedTransactionVersion": 0',
    })
    const legacy = must(transactions.find(({ version }) => version === 'legacy'))
    const told = await node.ask<object>('getTransaction', legacy.transaction.signatures[0], 'json')
    assert.ok(!('version' in told))
  })

  it('separates loaded addresses in json, and returns the bytes in base64', async () => {
    const swap = must(transactions.find(({ version }) => version === 0))
    const id = swap.transaction.signatures[0]
    const json = await node.ask<Transaction>('getTransaction', id, { ...parsed, encoding: 'json' })
    const loaded = swap.transaction.message.accountKeys.filter(({ source }) => source === 'lookupTable')
    const { loadedAddresses } = json.meta
    assert.ok(loaded.length > 1)
    assert.deepEqual(
      [...must(loadedAddresses).writable, ...must(loadedAddresses).readonly],
      loaded.map(({ pubkey }) => pubkey),
    )
    assertShape(json.transaction.message, {
      ...{ accountKeys: 'array', addressTableLookups: 'array', instructions: 'array', header: 'object' },
      recentBlockhash: address,
    })
    const binary = await node.ask<Json>('getTransaction', id, { ...parsed, encoding: 'base64' })
    const [bytes, encoding] = binary['transaction'] as [string, string]
    assert.equal(encoding, 'base64')
    assert.equal(Buffer.from(bytes, 'base64')[0], swap.transaction.signatures.length)
  })

  it('returns null for an unknown signature', async () => {
    const unknown = '5h6xBEauJ3PK6SWCZ1PGjBvj8vDdWG3KpwATGy1ARAXFSDwt8GFXM7W5Ncn16wmqokgpiKRLuS83KUxyZyv2sUYv'
    assert.equal(await node.ask('getTransaction', unknown, parsed), null)
  })
})

describe('accounts', () => {
  const accountShape: Shape = { data: 'object', executable: 'boolean', lamports: 'number', owner: address }
  const whole: Shape = { ...accountShape, rentEpoch: 'number', space: 'number' }

  // https://solana.com/docs/rpc/http/getaccountinfo
  it('returns an account in every encoding', async () => {
    const body = await node.askText('getAccountInfo', wallet.address, { encoding: 'base64' })
    const { result } = JSON.parse(body) as { result: InContext<Json> }
    assertShape(result, { context: 'object', value: 'object' })
    assertShape(result.context, { apiVersion: /^\d+\.\d+\.\d+$/, slot: 'number' })
    assertShape(result.value, { ...whole, data: 'array' })
    assert.deepEqual(result.value['data'], ['', 'base64'])
    // The value exceeds 2^53 and is still a JSON number.
    assert.match(body, /"rentEpoch":18446744073709551615,/)
    const mint = await node.ask<InContext<Json>>('getAccountInfo', usdc, { encoding: 'base58' })
    assert.deepEqual((mint.value['data'] as string[])[1], 'base58')
    const bare = await node.ask<InContext<Json>>('getAccountInfo', usdc)
    assert.equal(bare.value['data'], (mint.value['data'] as string[])[0])
    const slice = { offset: 44, length: 1 }
    const cut = await node.ask<InContext<Json>>('getAccountInfo', usdc, { encoding: 'base64', dataSlice: slice })
    assert.deepEqual(cut.value['data'], [Buffer.of(6).toString('base64'), 'base64'])
    const empty = await node.ask<InContext<null>>('getAccountInfo', 'Fz1Y6hUvNvL8kYwGzKQvxXk4nUQ1kGJxPvHq3dFJ4Rj9')
    assert.equal(empty.value, null)
  })

  it('refuses base58 for an account of more than 128 bytes', async () => {
    const encoding = { encoding: 'base64' }
    const own = await node.ask<InContext<Keyed[]>>('getTokenAccountsByOwner', wallet.address, { mint: usdc }, encoding)
    const refused = await node.refusal('getAccountInfo', own.value[0]?.pubkey, { encoding: 'base58' })
    assert.deepEqual(refused, {
      code: -32600,
      message: 'Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.',
    })
  })

  // https://solana.com/docs/rpc/http/gettokenaccountsbyowner
  it('lists token accounts by program, parsed', async () => {
    const list = (programId: string): Promise<InContext<Keyed[]>> =>
      node.ask('getTokenAccountsByOwner', wallet.address, { programId }, { encoding: 'jsonParsed' })
    const old = (await list(tokenProgram)).value
    assert.equal(old.length, 5)
    const [first] = old
    assertShape(first, { pubkey: address, account: 'object' })
    assertShape(must(first).account, { ...whole, data: 'object' })
    const { data } = must(first).account
    assertShape(data, { parsed: 'object', program: /^spl-token$/, space: 'number' })
    assertShape(data.parsed, { info: 'object', type: /^account$/ })
    const delegated = must(old.find(({ account }) => 'delegate' in account.data.parsed.info)).account.data.parsed.info
    const info: Shape = {
      isNative: 'boolean',
      mint: address,
      owner: address,
      state: /^initialized$/,
      tokenAmount: 'object',
    }
    assertShape(delegated, { ...info, delegate: address, delegatedAmount: 'object' })
    assertShape(delegated['tokenAmount'], uiAmount)
    const [next, ...rest] = (await list(token2022Program)).value
    assert.equal(rest.length, 0)
    assert.equal(must(next).account.data.program, 'spl-token-2022')
    assert.deepEqual(must(next).account.data.parsed.info['extensions'], [{ extension: 'immutableOwner' }])
    const refusal = (filter: object): Promise<unknown> =>
      node.refusal('getTokenAccountsByOwner', wallet.address, filter)
    assert.deepEqual(await refusal({ programId: stakeProgram }), {
      ...{ code: -32602, message: 'Invalid param: unrecognized Token program id' },
    })
    assert.deepEqual(await refusal({ mint: 'Fz1Y6hUvNvL8kYwGzKQvxXk4nUQ1kGJxPvHq3dFJ4Rj9' }), {
      ...{ code: -32602, message: 'Invalid param: could not find mint' },
    })
  })

  it('leaves out a token account whose mint was closed where it should be parsed', async () => {
    const { address: owner } = await node.open('stray_sol')
    const list = async (encoding: string): Promise<Keyed[]> => {
      const filter = { programId: token2022Program }
      return (await node.ask<InContext<Keyed[]>>('getTokenAccountsByOwner', owner, filter, { encoding })).value
    }
    assert.deepEqual(await list('jsonParsed'), [])
    const [account] = await list('base64')
    assert.deepEqual(await node.refusal('getTokenAccountBalance', must(account).pubkey), {
      ...{ code: -32602, message: 'Invalid param: could not find mint' },
    })
  })

  // https://solana.com/docs/rpc/http/getprogramaccounts
  it('finds stake accounts by their authorities, parsed', async () => {
    const find = (offset: number): Promise<Keyed[]> =>
      node.ask('getProgramAccounts', stakeProgram, {
        encoding: 'jsonParsed',
        filters: [{ dataSize: 200 }, { memcmp: { offset, bytes: wallet.address } }],
      })
    const byStaker = await find(12)
    assert.deepEqual(byStaker, await find(44))
    assert.deepEqual(await find(124), [])
    const [stake, ...rest] = byStaker
    assert.equal(rest.length, 0)
    const { data } = must(stake).account
    assertShape(data, { parsed: 'object', program: /^stake$/, space: 'number' })
    const { meta, stake: delegated } = data.parsed.info as { meta: Json; stake: Json }
    assertShape(meta, { authorized: 'object', lockup: 'object', rentExemptReserve: digits })
    assert.deepEqual(meta['authorized'], { staker: wallet.address, withdrawer: wallet.address })
    assertShape(delegated, { creditsObserved: 'number', delegation: 'object' })
    assertShape(delegated['delegation'], {
      ...all('activationEpoch deactivationEpoch stake', digits),
      ...{ voter: address, warmupCooldownRate: 'number' },
    })
    assert.equal(data.parsed.type, 'delegated')
    const four = Array.from({ length: 5 }, () => ({ dataSize: 200 }))
    assert.match((await node.refusal('getProgramAccounts', stakeProgram, { filters: four }))?.message ?? '', /max 4/)
  })

  // https://developers.metaplex.com/token-metadata, "Metadata account"
  it("stores a token's name and symbol where Metaplex does", async () => {
    // The address that every explorer shows for the metadata of USDC.
    const metadata = '5x38Kp4hvdomTCnCrAny4UtMUt5rQBdB6px2K1Ui45Wq'
    const { value } = await node.ask<InContext<Json>>('getAccountInfo', metadata, { encoding: 'base64' })
    const bytes = Buffer.from((value['data'] as string[])[0] ?? '', 'base64')
    assert.equal(value['owner'], 'metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s')
    const textAt = (offset: number): string =>
      bytes.toString('utf8', offset + 4, offset + 4 + bytes.readUInt32LE(offset)).replaceAll('\0', '')
    assert.deepEqual([textAt(65), textAt(101)], ['USD Coin', 'USDC'])
  })

  it('answers several accounts at once, null for those that are not there', async () => {
    const addresses = [wallet.address, 'Fz1Y6hUvNvL8kYwGzKQvxXk4nUQ1kGJxPvHq3dFJ4Rj9', usdc]
    const { value } = await node.ask<InContext<(Json | null)[]>>('getMultipleAccounts', addresses)
    assert.deepEqual(
      value.map((one) => one?.['owner'] ?? null),
      ['11111111111111111111111111111111', null, tokenProgram],
    )
    const many = Array.from({ length: 101 }, () => usdc)
    assert.deepEqual(await node.refusal('getMultipleAccounts', many), {
      ...{ code: -32602, message: 'Too many inputs provided; max 100' },
    })
  })
})

describe('slots, epochs and rewards', () => {
  // https://solana.com/docs/rpc/http/getepochinfo
  it('returns the epoch', async () => {
    const info = await node.ask<Record<string, number>>('getEpochInfo')
    assertShape(info, all('absoluteSlot blockHeight epoch slotIndex slotsInEpoch transactionCount', 'number'))
    assert.equal(info['slotsInEpoch'], 432_000)
    assert.equal((info['epoch'] ?? 0) * 432_000 + (info['slotIndex'] ?? 0), info['absoluteSlot'])
    assert.ok((info['blockHeight'] ?? 0) < (info['absoluteSlot'] ?? 0))
  })

  // https://solana.com/docs/rpc/http/getblocktime
  it('returns the time of a block, and refuses skipped and future slots', async () => {
    const { slot, blockTime } = must(listed[0])
    assert.equal(await node.ask('getBlockTime', slot), blockTime)
    const skipped = slot - (slot % 25) - 1
    assert.deepEqual(await node.refusal('getBlockTime', skipped), {
      ...{ code: -32009, message: `Slot ${skipped} was skipped, or missing in long-term storage` },
    })
    assert.deepEqual(await node.refusal('getBlockTime', 9_000_000_000), {
      ...{ code: -32004, message: 'Block not available for slot 9000000000' },
    })
  })

  // https://solana.com/docs/rpc/http/getinflationreward
  it('returns the reward of an epoch', async () => {
    const [stake] = await node.ask<Keyed[]>('getProgramAccounts', stakeProgram, {
      encoding: 'jsonParsed',
      filters: [{ memcmp: { offset: 44, bytes: wallet.address } }],
    })
    const { epoch } = await node.ask<{ epoch: number }>('getEpochInfo')
    const ask = (...config: object[]): Promise<(Record<string, number> | null)[]> =>
      node.ask('getInflationReward', [stake?.pubkey, wallet.address], ...config)
    const [reward, none] = await ask()
    assertShape(reward, all('amount commission effectiveSlot epoch postBalance', 'number'))
    assert.equal(none, null)
    assert.equal(reward?.['epoch'], epoch - 1)
    const [earlier] = await ask({ epoch: epoch - 2 })
    assert.equal((earlier?.['postBalance'] ?? 0) + (reward['amount'] ?? 0), reward['postBalance'])
    const { value } = await node.ask<InContext<number>>('getBalance', stake?.pubkey)
    assert.equal(value, reward['postBalance'])
    assert.equal((await node.refusal('getInflationReward', [stake?.pubkey], { epoch }))?.code, -32004)
    assert.deepEqual(await ask({ epoch: 100 }), [null, null])
  })

  // https://solana.com/docs/rpc/http/getsignaturestatuses
  it('remembers old transactions only when asked to look into the history', async () => {
    const id = listed[0]?.signature
    const ask = (config?: object): Promise<InContext<(Json | null)[]>> => node.ask('getSignatureStatuses', [id], config)
    assert.deepEqual((await ask()).value, [null])
    const [status] = (await ask({ searchTransactionHistory: true })).value
    assert.deepEqual(status, {
      ...{ slot: listed[0]?.slot, confirmations: null, err: null, status: { Ok: null } },
      confirmationStatus: 'finalized',
    })
  })

  it('reports its version', async () => {
    assert.equal(await node.ask('getHealth'), 'ok')
    assertShape(await node.ask('getVersion'), { 'solana-core': /^\d+\.\d+\.\d+$/, 'feature-set': 'number' })
    assert.equal(await node.ask('getGenesisHash'), '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d')
    assert.equal(await (await fetch(`${node.url}/health`)).text(), 'ok')
  })
})

describe('JSON-RPC', () => {
  const call = (id: unknown, method: string): object => ({ jsonrpc: '2.0', id, method })

  it('answers batches in order, each with its id', async () => {
    const response = await node.post([call('a', 'getHealth'), call(2, 'getNothing'), { id: 3 }])
    assert.deepEqual(await response.json(), [
      { jsonrpc: '2.0', result: 'ok', id: 'a' },
      { jsonrpc: '2.0', error: { code: -32601, message: 'Method not found' }, id: 2 },
      { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid request' }, id: null },
    ])
  })

  it('refuses what is not a call', async () => {
    const code = async (body: unknown): Promise<unknown> =>
      ((await (await node.post(body)).json()) as { error: { code: number } }).error.code
    assert.equal(await code('{'), -32700)
    assert.equal(await code([]), -32600)
    assert.equal(await code({ ...call(1, 'toString') }), -32601)
    assert.equal((await fetch(node.url)).status, 405)
    assert.equal((await fetch(node.url, { method: 'POST', body: '{}' })).status, 415)
    assert.equal((await node.post(call(1, 'x'.repeat(60_000)))).status, 413)
    assert.equal((await fetch(`${node.url}/elsewhere`, { method: 'POST' })).status, 404)
  })
})
