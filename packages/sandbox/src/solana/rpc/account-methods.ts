/**
 * The calls about what accounts hold. Sources: https://solana.com/docs/rpc/http, the page of each call; anza-xyz/agave,
 * rpc/src/parsed_token_accounts.rs.
 */
import type { Address, EncodedAccount } from '@solana/kit'
import { z } from 'zod'
import { fromBase58 } from '../chain/addresses.ts'
import { decodeTokenAccount, isMint, isTokenAccount } from '../chain/layouts.ts'
import {
  accountConfig,
  addressAt,
  commonConfig,
  configAt,
  listAt,
  requireAddress,
  slotFor,
  withContext,
  type Call,
  type Method,
} from './params.ts'
import { describeAccount, toUiAmount } from './parse-account.ts'
import { isTokenProgram, token2022Program, tokenProgram } from '../chain/tokens.ts'
import { invalidParams } from './wire.ts'

const accountsMax = 100
const filtersMax = 4

const filterSchema = z.union([
  z.object({ dataSize: z.int().min(0) }),
  z.object({
    memcmp: z.object({
      offset: z.int().min(0),
      bytes: z.string().max(1_000),
      encoding: z.enum(['base58', 'base64']).nullish(),
    }),
  }),
])
type Filter = z.infer<typeof filterSchema>

export const accountMethods: Readonly<Record<string, Method>> = {
  getAccountInfo(call) {
    const address = addressAt(call, 0)
    const config = configAt(call, 1, accountConfig)
    const slot = slotFor(call, config)
    return withContext(slot, describe(call, config, call.world.chain.accountAt(address, slot)))
  },
  getMultipleAccounts(call) {
    const addresses = listAt(call, 0, accountsMax).map(requireAddress)
    const config = configAt(call, 1, accountConfig)
    const slot = slotFor(call, config)
    const { chain } = call.world
    return withContext(
      slot,
      // Without an encoding these come in base64, unlike a single account.
      addresses.map((address) =>
        describe(call, { ...config, encoding: config.encoding ?? 'base64' }, chain.accountAt(address, slot)),
      ),
    )
  },
  getBalance(call) {
    const address = addressAt(call, 0)
    const slot = slotFor(call, configAt(call, 1, commonConfig))
    return withContext(slot, call.world.chain.accountAt(address, slot)?.lamports ?? 0n)
  },
  getTokenAccountsByOwner(call) {
    const owner = addressAt(call, 0)
    const config = configAt(call, 2, accountConfig)
    const slot = slotFor(call, config)
    const isAsked = tokenFilter(call, slot)
    const found = listAccounts(call, [tokenProgram, token2022Program], slot).filter(
      (account) => isTokenAccount(account) && decodeTokenAccount(account).owner === owner && isAsked(account),
    )
    // A token account whose mint was closed cannot be parsed, and a node then leaves it out of this list.
    const isKept = ({ mint }: { mint: Address }): boolean =>
      config.encoding !== 'jsonParsed' || decimalsOf(call, mint) !== undefined
    return withContext(
      slot,
      toKeyed(
        call,
        config,
        found.filter((account) => isKept(decodeTokenAccount(account))),
      ),
    )
  },
  getProgramAccounts(call) {
    const program = addressAt(call, 0)
    const schema = accountConfig.extend({
      filters: z.array(filterSchema).max(filtersMax, `Too many filters provided; max ${filtersMax}`).nullish(),
      withContext: z.boolean().nullish(),
    })
    const config = configAt(call, 1, schema)
    const slot = slotFor(call, config)
    const filters = config.filters ?? []
    const found = listAccounts(call, [program], slot).filter((account) => filters.every((one) => passes(account, one)))
    const value = toKeyed(call, config, found)
    return config.withContext === true ? withContext(slot, value) : value
  },
  getTokenAccountBalance(call) {
    const address = addressAt(call, 0)
    const slot = slotFor(call, configAt(call, 1, commonConfig))
    const account = call.world.chain.accountAt(address, slot)
    if (account === undefined) throw invalidParams('Invalid param: could not find account')
    if (!isTokenAccount(account)) throw invalidParams('Invalid param: not a Token account')
    const { amount, mint } = decodeTokenAccount(account)
    const decimals = decimalsOf(call, mint)
    if (decimals === undefined) throw invalidParams('Invalid param: could not find mint')
    return withContext(slot, toUiAmount(amount, decimals))
  },
  getTokenSupply(call) {
    const address = addressAt(call, 0)
    const slot = slotFor(call, configAt(call, 1, commonConfig))
    const account = call.world.chain.accountAt(address, slot)
    if (account === undefined) throw invalidParams('Invalid param: could not find mint')
    if (!isMint(account)) throw invalidParams('Invalid param: not a Token mint')
    const bytes = Buffer.from(account.data)
    return withContext(slot, toUiAmount(bytes.readBigUInt64LE(36), bytes.readUInt8(44)))
  },
  getMinimumBalanceForRentExemption(call) {
    const size = z.int().min(0).max(10_485_760).safeParse(call.params[0])
    if (!size.success) throw invalidParams('Invalid params: invalid type, expected usize.')
    return call.world.chain.svm.minimumBalanceForRentExemption(BigInt(size.data))
  },
}

function describe(
  call: Call,
  { encoding, dataSlice }: z.output<typeof accountConfig>,
  account: EncodedAccount | undefined,
): object | null {
  if (account === undefined) return null
  return describeAccount(account, encoding ?? 'binary', dataSlice ?? undefined, (mint) => decimalsOf(call, mint))
}

function toKeyed(call: Call, config: z.output<typeof accountConfig>, accounts: readonly EncodedAccount[]): object[] {
  return accounts.map((account) => ({ account: describe(call, config, account), pubkey: account.address }))
}

/** Undefined when the mint was closed. */
function decimalsOf({ world }: Call, mint: Address): number | undefined {
  return world.chain.findAccount(mint)?.data[44]
}

/** The accounts that these programs own at a slot. */
function listAccounts({ world }: Call, programs: readonly Address[], slot: number): EncodedAccount[] {
  const { chain } = world
  return programs.flatMap((program) =>
    chain
      .listOwned(program)
      .map((address) => chain.accountAt(address, slot))
      .filter((account) => account !== undefined)
      .filter(({ programAddress }) => programAddress === program),
  )
}

/** Either of one mint, or of one of the token programs. */
function tokenFilter(call: Call, slot: number): (account: EncodedAccount) => boolean {
  const schema = z.union([z.object({ mint: z.string() }), z.object({ programId: z.string() })])
  const filter = configAt(call, 1, schema)
  if ('mint' in filter) {
    const mint = requireAddress(filter.mint)
    if (call.world.chain.accountAt(mint, slot) === undefined) throw invalidParams('Invalid param: could not find mint')
    return (account) => decodeTokenAccount(account).mint === mint
  }
  const program = requireAddress(filter.programId)
  if (!isTokenProgram(program)) throw invalidParams('Invalid param: unrecognized Token program id')
  return ({ programAddress }) => programAddress === program
}

function passes({ data }: EncodedAccount, filter: Filter): boolean {
  if ('dataSize' in filter) return data.length === filter.dataSize
  const { offset, bytes, encoding } = filter.memcmp
  const wanted = encoding === 'base64' ? Buffer.from(bytes, 'base64') : fromBase58(bytes)
  if (wanted === undefined) throw invalidParams('Invalid param: unable to decode bytes')
  return Buffer.from(data.subarray(offset, offset + wanted.length)).equals(wanted)
}
