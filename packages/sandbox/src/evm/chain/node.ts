/**
 * An EVM in this process: hardhat's simulated network, without its command line. It makes blocks only on request.
 * https://hardhat.org/docs/reference/configuration#network-configuration
 */
import { env } from 'node:process'
import { fileURLToPath } from 'node:url'
import type { ChainId } from './networks.ts'

export interface EvmNode {
  request<T = string>(method: string, ...params: readonly unknown[]): Promise<T>
  close(): Promise<void>
}

const packageFolder = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Starts one node for each chain. Hardhat takes a second to load, so nothing may import this file before it is needed.
 */
export async function startNodes(chains: readonly { chainId: ChainId; genesisS: number }[]): Promise<EvmNode[]> {
  // Hardhat reports some errors to its developers when it runs in a terminal. The sandbox must not call the outside.
  env['HARDHAT_DISABLE_TELEMETRY'] = 'true'
  const { createHardhatRuntimeEnvironment } = await import('hardhat/hre')
  const networks = Object.fromEntries(
    chains.map(({ chainId, genesisS }) => [
      `chain${chainId}`,
      {
        ...({ type: 'edr-simulated', chainType: 'l1', chainId } as const),
        initialDate: new Date(genesisS * 1000),
        accounts: [],
        initialBaseFeePerGas: 0n,
        // This exceeds any real chain's limit, because wallets with the same story share its blocks.
        blockGasLimit: 3_000_000_000n,
        mining: { auto: false, mempool: { order: 'fifo' } } as const,
        allowBlocksWithSameTimestamp: true,
        throwOnTransactionFailures: false,
        throwOnCallFailures: true,
      },
    ]),
  )
  const environment = await createHardhatRuntimeEnvironment({ networks }, {}, packageFolder)
  return Promise.all(
    chains.map(async ({ chainId }): Promise<EvmNode> => {
      const connection = await environment.network.create({ network: `chain${chainId}`, chainType: 'l1' })
      return {
        request: async <T>(method: string, ...params: readonly unknown[]) =>
          (await connection.provider.request({ method, params })) as T,
        close: () => connection.close(),
      }
    }),
  )
}

export function toQuantity(value: number | bigint): `0x${string}` {
  return `0x${value.toString(16)}`
}
