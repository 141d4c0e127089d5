/**
 * Token accounts besides the associated ones: those at an address that follows from their maker's, and what strangers
 * can do with them. None of it needs a signature of the wallet that becomes the owner.
 * https://github.com/solana-program/token, …/token-2022.
 */
import { getCreateAccountWithSeedInstruction } from '@solana-program/system'
import {
  AuthorityType,
  getCloseAccountInstruction,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeAccount3Instruction,
  getInitializeMint2Instruction,
  getSetAuthorityInstruction,
} from '@solana-program/token'
import { createNoopSigner, type Address, type Instruction } from '@solana/kit'
import type { Chain } from './chain/chain.ts'
import { initializeMintCloseAuthority } from './chain/instructions.ts'
import { closableMintBytes, tokenAccountBytes } from './chain/layouts.ts'
import { addressWithSeed, associatedAddress } from './chain/programs.ts'
import { token2022Program, tokenOf, type TokenCode } from './chain/tokens.ts'

const baitName = 'bait'
const mintSeed = 'mint'

export function seededAccountOf(maker: Address, code: TokenCode, name: string): Address {
  return addressWithSeed(maker, `${name} ${code}`, tokenOf(code).program)
}

/** Opens a token account of `maker`, with lamports besides the rent. */
export function openWithSeed(
  chain: Chain,
  maker: Address,
  code: TokenCode,
  { name, lamports }: { name: string; lamports: bigint },
): Instruction[] {
  const { mint, program } = tokenOf(code)
  const account = seededAccountOf(maker, code, name)
  const rent = chain.svm.minimumBalanceForRentExemption(BigInt(tokenAccountBytes))
  return [
    getCreateAccountWithSeedInstruction({
      ...{ payer: createNoopSigner(maker), newAccount: account, base: maker, seed: `${name} ${code}` },
      ...{ amount: rent + lamports, space: tokenAccountBytes, programAddress: program },
    }),
    getInitializeAccount3Instruction({ account, mint, owner: maker }, { programAddress: program }),
  ]
}

interface Bait {
  code: TokenCode
  by: Address
  owner: Address
}

/** The close authority stays when the owner changes, and only it can close the account. */
export function layBait(chain: Chain, { code, by, owner, lamports }: Bait & { lamports: bigint }): Instruction[] {
  const account = seededAccountOf(by, code, baitName)
  const authorities = [
    [AuthorityType.CloseAccount, by],
    [AuthorityType.AccountOwner, owner],
  ] as const
  return [
    ...openWithSeed(chain, by, code, { name: baitName, lamports }),
    ...authorities.map(([authorityType, newAuthority]) =>
      getSetAuthorityInstruction(
        { owned: account, owner: createNoopSigner(by), authorityType, newAuthority },
        { programAddress: tokenOf(code).program },
      ),
    ),
  ]
}

export function takeBait({ code, by }: Bait): Instruction {
  return closeAccount(seededAccountOf(by, code, baitName), by, tokenOf(code).program)
}

interface OwnMint {
  maker: Address
  /** Of the account that the maker opens. */
  owner: Address
}

/** A mint of Token-2022 can be closed while it has no supply. Empty accounts of it stay. */
export function bringMint(chain: Chain, { maker, owner }: OwnMint): Instruction[] {
  const mint = mintOf(maker)
  const payer = createNoopSigner(maker)
  const config = { programAddress: token2022Program }
  return [
    getCreateAccountWithSeedInstruction({
      ...{ payer, newAccount: mint, base: maker, seed: mintSeed, space: closableMintBytes, ...config },
      amount: chain.svm.minimumBalanceForRentExemption(BigInt(closableMintBytes)),
    }),
    initializeMintCloseAuthority(mint, maker),
    getInitializeMint2Instruction({ mint, decimals: 6, mintAuthority: maker }, config),
    getCreateAssociatedTokenIdempotentInstruction({
      ...{ payer, ata: accountOfMint({ maker, owner }), owner, mint, tokenProgram: token2022Program },
    }),
  ]
}

export function closeMint({ maker }: OwnMint): Instruction {
  return closeAccount(mintOf(maker), maker, token2022Program)
}

export function closeAccountOfMint(given: OwnMint): Instruction {
  return closeAccount(accountOfMint(given), given.owner, token2022Program)
}

function mintOf(maker: Address): Address {
  return addressWithSeed(maker, mintSeed, token2022Program)
}

function accountOfMint({ maker, owner }: OwnMint): Address {
  return associatedAddress(owner, { mint: mintOf(maker), program: token2022Program })
}

function closeAccount(account: Address, by: Address, programAddress: Address): Instruction {
  return getCloseAccountInstruction({ account, destination: by, owner: createNoopSigner(by) }, { programAddress })
}
