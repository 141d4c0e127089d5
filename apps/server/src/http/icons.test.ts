import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toAssetIconUrl, toProviderIconUrl } from './icons.ts'
import { startTestServer } from './test-server.ts'

describe('an icon', () => {
  it('of a provider is its monogram in its colour, without a token, for pages of any origin, and cacheable', async (t) => {
    const server = await startTestServer(t)
    const response = await fetch(server.url + toProviderIconUrl('kraken'), { headers: { origin: 'https://a.example' } })
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^image\/svg\+xml/)
    assert.match(response.headers.get('cache-control') ?? '', /public, max-age=\d+/)
    assert.equal(response.headers.get('access-control-allow-origin'), '*')
    assert.equal(response.headers.get('cross-origin-resource-policy'), 'cross-origin')
    assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    const svg = await response.text()
    assert.match(svg, />Kr<\/text>/)
    assert.match(svg, /#7132f5/)
    const again = { headers: { 'if-none-match': response.headers.get('etag') ?? '' } }
    assert.equal((await fetch(server.url + toProviderIconUrl('kraken'), again)).status, 304)
  })

  it('of an asset has the letters of its symbol, even of an invented one, and nothing that a page would run', async (t) => {
    const server = await startTestServer(t)
    const read = async (assetId: string): Promise<string> => {
      const response = await fetch(server.url + toAssetIconUrl(assetId))
      assert.equal(response.status, 200, assetId)
      return response.text()
    }
    assert.match(await read('crypto:bitcoin'), />BT<\/text>/)
    assert.match(await read('fiat:usd'), />US<\/text>/)
    assert.match(await read('kraken:Z%?#é'), />ZÉ<\/text>/)
    assert.match(await read('evm:1:0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'), />5A<\/text>/)
    assert.doesNotMatch(await read('kraken:<script>alert(1)'), /<script/)
    assert.match(await read('kraken:--'), />\?<\/text>/)
  })

  it('404: what does not exist, and what is not an SVG', async (t) => {
    const server = await startTestServer(t)
    const paths = [
      'providers/nowhere.svg',
      'providers/__proto__.svg',
      'providers/kraken.png',
      'assets/crypto:none.svg',
      'assets/x.svg',
    ]
    for (const path of paths) assert.equal((await server.get(`/icons/${path}`)).status, 404, path)
  })
})
