/** Writes the accounts that the chain has before the first story, and funds the other parties of a story. */
import { getCreateAssociatedTokenIdempotentInstruction, getMintToInstruction } from '@solana-program/token'
import { createNoopSigner, lamports as toLamports, type Address } from '@solana/kit'
import type { Key } from './chain/addresses.ts'
import type { Chain } from './chain/chain.ts'
import { accountOf, validator } from './deeds.ts'
import { encodeMetadata, encodeMint, encodeVoteAccount } from './chain/layouts.ts'
import { metadataAddress, metadataProgram, systemProgram, voteProgram } from './chain/programs.ts'
import { commission } from './chain/rewards.ts'
import type { AssetCode } from './story.ts'
import { tokenOf, tokens, type Token, type TokenCode } from './chain/tokens.ts'

/** Lamports that each other party of a story has. */
const rich = 10n ** 17n
/** The part of a token's supply that each other party holds. */
const shares = 16n

export interface Funds {
  /** Gives the owner of a key what it will spend, unless it already has enough. */
  ensure(key: Key, assets: readonly AssetCode[], slot: number, accountId: string): void
}

/** `founder` may mint every token. */
export function createFunds(chain: Chain, founder: Key): Funds {
  for (const [code, token] of Object.entries(tokens)) {
    if (code !== 'WSOL') placeMint(chain, token, founder.address, token.supply)
    if ('namedInMint' in token) continue
    place(chain, metadataAddress(token.mint), encodeMetadata(token, founder.address), metadataProgram)
  }
  place(chain, validator, encodeVoteAccount(validator, commission), voteProgram)

  function mintTo(key: Key, code: TokenCode, slot: number, accountId: string): void {
    const token = tokenOf(code)
    const { mint, program, supply } = token
    const amount = supply / shares > 0n ? supply / shares : supply
    // The supply stays what the table says, however many wallets there are.
    placeMint(chain, token, founder.address, supply - amount)
    const ata = accountOf(key.address, code)
    const payer = createNoopSigner(key.address)
    const instructions = [
      getCreateAssociatedTokenIdempotentInstruction({ payer, ata, owner: key.address, mint, tokenProgram: program }),
      getMintToInstruction(
        { mint, token: ata, mintAuthority: createNoopSigner(founder.address), amount },
        { programAddress: program },
      ),
    ]
    chain.send({ payer: key, signers: [founder], instructions, isBackground: true }, slot, accountId)
  }

  return {
    ensure(key, assets, slot, accountId) {
      const { address } = key
      if (chain.findAccount(address) === undefined) {
        const lamports = toLamports(rich)
        chain.write({ address, data: new Uint8Array(), lamports, programAddress: systemProgram })
      }
      for (const asset of assets) {
        if (asset === 'SOL' || asset === 'WSOL') continue
        if (chain.findAccount(accountOf(address, asset)) === undefined) mintTo(key, asset, slot, accountId)
      }
    },
  }
}

function placeMint(chain: Chain, token: Token, authority: Address, supply: bigint): void {
  place(chain, token.mint, encodeMint(token, authority, supply), token.program)
}

function place(chain: Chain, address: Address, data: Buffer, programAddress: Address): void {
  const lamports = toLamports(chain.svm.minimumBalanceForRentExemption(BigInt(data.length)))
  chain.write({ address, data, lamports, programAddress })
}
