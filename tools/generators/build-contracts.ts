/**
 * Compiles the contracts of the simulated EVM chains and writes their ABI and bytecode beside the sources, where the
 * sandbox reads them, so that it needs no compiler. Run it after a change to a contract:
 *
 *   node tools/generators/build-contracts.ts
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import solc from 'solc'

const folder = new URL('../../packages/sandbox/src/evm/contracts/', import.meta.url)
export const artifactsFile = new URL('artifacts.json', folder)

interface Output {
  errors?: { severity: string; formattedMessage: string }[]
  contracts?: Record<string, Record<string, CompiledContract>>
}

interface CompiledContract {
  abi: object[]
  evm: { bytecode: { object: string }; deployedBytecode: { object: string } }
}

/** The text of `artifacts.json`. The metadata hash is left out, so that a comment does not change the bytecode. */
export function compileContracts(): string {
  const files = readdirSync(folder).filter((name) => name.endsWith('.sol'))
  const sources = Object.fromEntries(
    files.map((name) => [name, { content: readFileSync(new URL(name, folder), 'utf8') }]),
  )
  const settings = {
    optimizer: { enabled: true, runs: 200 },
    evmVersion: 'cancun',
    metadata: { appendCBOR: false, bytecodeHash: 'none' },
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
  }
  const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings }))) as Output
  const problems = (output.errors ?? []).map(({ formattedMessage }) => formattedMessage)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const artifacts = Object.values(output.contracts ?? {})
    .flatMap((contracts) => Object.entries(contracts))
    .filter(([, { evm }]) => evm.bytecode.object !== '')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { abi, evm }]) => {
      const { bytecode, deployedBytecode } = evm
      return [name, { abi, bytecode: `0x${bytecode.object}`, deployedBytecode: `0x${deployedBytecode.object}` }]
    })
  return `${JSON.stringify(Object.fromEntries(artifacts), undefined, 2)}\n`
}

if (import.meta.main) writeFileSync(artifactsFile, compileContracts())
