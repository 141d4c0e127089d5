/** Which wallet an address is, and whether it can be read. */
import { createHash } from 'node:crypto'
import { SourceError } from '@assay/core'
import { recognizeWallet } from '@assay/core/credentials'
import type { Address } from 'viem'
import type { Account, WalletCredentials } from '../kit/connector.ts'
import { fetchUsage } from './balances.ts'
import { chains, toChosenNetwork, type Chain } from './chains.ts'
import type { ChainClient } from './client.ts'

/**
 * Returns the address in lower case. Mixed case is a checksum (EIP-55) and has to be right. The link in a QR code is
 * accepted, too.
 */
export function readAddress({ address = '' }: WalletCredentials): Address {
  const found = recognizeWallet(address)
  if (found !== undefined && 'wallet' in found && found.wallet.chain === 'evm') {
    return found.wallet.value.toLowerCase() as Address
  }
  throw new SourceError('invalid_credentials', 'not an address, or a typing error in it')
}

/** The chains that the person chose, by name or by id; otherwise all that can be read here. */
export function chooseChains(clients: readonly ChainClient[], { networks }: WalletCredentials): readonly ChainClient[] {
  if (networks === undefined || networks.length === 0) return clients
  const namesOf = (chain: Chain): string[] => {
    const { name, aliases } = toChosenNetwork(chain)
    return [name, ...aliases]
  }
  const known = new Set(chains.flatMap(namesOf))
  if (!networks.every((name) => known.has(name))) throw new SourceError('invalid_credentials', 'an unknown network')
  return clients.filter(({ chain }) => namesOf(chain).some((name) => networks.includes(name)))
}

/** An address is everything that identifies a wallet, so the account is recognised with certainty. */
export async function fetchAccount(clients: readonly ChainClient[], address: Address): Promise<Account> {
  const used = await fetchUsage(clients, address, {})
  await Promise.all(clients.filter(({ chain }) => chain.id in used).map((client) => assertNoContract(client, address)))
  return {
    fingerprint: createHash('sha256').update(`evm\n${address}`).digest('hex'),
    fingerprintOf: 'account',
    excess: [],
    missing: [],
    keyExpiresAtMs: null,
    state: { address, chains: used },
  }
}

/**
 * A wallet that has delegated its account to code (EIP-7702) is still a wallet: its code only refers to the other
 * contract.
 */
const delegation = /^0xef0100[0-9a-f]{40}$/i

/** Contracts are refused: their owners move money by calls that none of their lists shows. */
async function assertNoContract(client: ChainClient, address: Address): Promise<void> {
  const code = await client.rpc('eth_getCode', [address, 'latest'])
  if (code === '0x' || (typeof code === 'string' && delegation.test(code))) return
  const detail = `${client.chain.name}: the address belongs to a contract`
  throw new SourceError('invalid_credentials', detail, { reason: 'contract_address' })
}
