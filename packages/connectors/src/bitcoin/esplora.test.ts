import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createEsplora } from './esplora.ts'

describe('the Esplora server', () => {
  it('is the public one unless the operator has chosen another, or the sandbox has its own', async () => {
    const asked: string[] = []
    const fetch = async (input: string | URL | Request): Promise<Response> => {
      asked.push(new Request(input).url)
      return new Response('912000')
    }
    const io = { fetch, now: () => 0, nextNonce: () => '1' }
    const chainUrls = { bitcoin: { index: 'https://esplora.example/api/' } }
    for (const place of [
      { baseUrl: undefined },
      { baseUrl: undefined, chainUrls },
      { baseUrl: 'http://127.0.0.1:9', chainUrls },
    ]) {
      assert.equal(await createEsplora({ ...io, ...place }).fetchTipHeight(), 912_000)
    }
    assert.deepEqual(asked, [
      'https://blockstream.info/api/blocks/tip/height',
      'https://esplora.example/api/blocks/tip/height',
      'http://127.0.0.1:9/blocks/tip/height',
    ])
  })

  it('is read also where each transaction of a page has as many outputs as nodes relay', async () => {
    const script = '6a'
    const output = `{"scriptpubkey":"${script}","scriptpubkey_asm":"OP_RETURN","scriptpubkey_type":"op_return","value":0}`
    const transaction = `{"txid":"${'0'.repeat(64)}","vin":[],"vout":[${Array<string>(9_980).fill(output).join()}]}`
    const page = `[${Array<string>(25).fill(transaction).join()}]`
    const io = { fetch: async () => new Response(page), now: () => 0, nextNonce: () => '1', baseUrl: undefined }
    const transactions = await createEsplora(io).fetchTransactions('bc1q', null)
    assert.deepEqual(
      transactions.map((one) => (one as { vout: unknown[] }).vout.length),
      Array<number>(25).fill(9_980),
    )
  })
})
