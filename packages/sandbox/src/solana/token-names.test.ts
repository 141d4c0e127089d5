import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { getProgramDerivedAddress, getAddressEncoder, address } from '@solana/kit'
import { startNode } from '../testing/solana-client.ts'
import { metadataAddressOf, metadataProgram } from './token-names.ts'

const usdc = address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v')

describe('names of tokens', async () => {
  const node = await startNode()
  after(() => node.sandbox.close())

  it('lie where @solana/kit and explorers look for them', async () => {
    const { encode } = getAddressEncoder()
    const seeds = ['metadata', encode(metadataProgram), encode(usdc)]
    const [derived] = await getProgramDerivedAddress({ programAddress: metadataProgram, seeds })
    assert.equal(metadataAddressOf(usdc), derived)
    assert.equal(derived, '5x38Kp4hvdomTCnCrAny4UtMUt5rQBdB6px2K1Ui45Wq')
  })

  // https://developers.metaplex.com/token-metadata: name of 32 bytes, symbol of 10, each with its length in front.
  it('have the layout of Metaplex', async () => {
    await node.open('empty')
    const config = { encoding: 'jsonParsed' }
    const { value } = await node.ask<{ value: { owner: string; data: [string, string] } }>(
      ...(['getAccountInfo', metadataAddressOf(usdc), config] as const),
    )
    const bytes = Buffer.from(value.data[0], 'base64')
    assert.deepEqual([value.owner, value.data[1], bytes.length], [metadataProgram, 'base64', 679])
    const textAt = (start: number): string =>
      bytes.toString('utf8', start + 4, start + 4 + bytes.readUInt32LE(start)).replaceAll('\0', '')
    assert.deepEqual([textAt(65), textAt(65 + 36)], ['USD Coin', 'USDC'])
  })
})
