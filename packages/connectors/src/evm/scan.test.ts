/** Which rows of a list name a token whose balance is queried. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { learnContracts } from './scan.ts'
import { untouched } from './state.ts'
import { coin, own, row } from './test-wallet.ts'

function tokensOf(chain: string, contract: string): string[] | undefined {
  const record = { key: 'k', occurredAtMs: 1, body: JSON.stringify(row(10, contract, { value: '5' })) }
  const learned = learnContracts({ address: own, chains: { [chain]: untouched } }, 'erc20', chain, [record])
  return learned?.chains[chain]?.tokens.map(({ address }) => address)
}

describe('the tokens of a wallet', () => {
  it('are those of its transfers', () => {
    assert.deepEqual(tokensOf('10', coin), [coin])
  })

  it('do not contain a contract that says the balance of the coin, which would count twice', () => {
    assert.equal(tokensOf('137', '0x0000000000000000000000000000000000001010'), undefined)
    assert.equal(tokensOf('10', '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0000'), undefined)
  })

  it('do not contain the address under which a chain logs transfers of the coin (EIP-7708)', () => {
    assert.equal(tokensOf('1', '0xfffffffffffffffffffffffffffffffffffffffe'), undefined)
  })
})
