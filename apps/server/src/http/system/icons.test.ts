import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import drawings from './icon-drawings.json' with { type: 'json' }
import { toAssetIconUrl, toProviderIconUrl } from './icons.ts'
import { startTestServer } from '../test-server.ts'

describe('an icon', () => {
  it('of a provider is its drawing, without a token, for pages of any origin, and cacheable', async (t) => {
    const server = await startTestServer(t)
    const response = await fetch(server.url + toProviderIconUrl('kraken'), { headers: { origin: 'https://a.example' } })
    assert.equal(response.status, 200)
    assert.match(response.headers.get('content-type') ?? '', /^image\/svg\+xml/)
    assert.match(response.headers.get('cache-control') ?? '', /public, max-age=\d+/)
    assert.equal(response.headers.get('access-control-allow-origin'), '*')
    assert.equal(response.headers.get('cross-origin-resource-policy'), 'cross-origin')
    assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'none'.*sandbox/)
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(await response.text(), drawings.providers['kraken'])
    for (const weak of ['', 'W/']) {
      const again = { headers: { 'if-none-match': `${weak}${response.headers.get('etag')}` } }
      assert.equal((await fetch(server.url + toProviderIconUrl('kraken'), again)).status, 304)
    }
  })

  it('of a provider that the icon set lacks is its monogram in its colour', async (t) => {
    const server = await startTestServer(t)
    const svg = await (await fetch(server.url + toProviderIconUrl('bitfinex'))).text()
    assert.match(svg, /<rect [^>]*fill="#[0-9a-f]{6}"\/><text [^>]*>Bi<\/text>/)
  })

  it('of an asset is its drawing, or the letters of its symbol, even of an invented one', async (t) => {
    const server = await startTestServer(t)
    const read = async (assetId: string): Promise<string> => {
      const response = await fetch(server.url + toAssetIconUrl(assetId))
      assert.equal(response.status, 200, assetId)
      return response.text()
    }
    assert.equal(await read('crypto:bitcoin'), drawings.assets['crypto:bitcoin'])
    assert.match(await read('crypto:songbird'), />SG<\/text>/)
    assert.match(await read('fiat:usd'), />\$<\/text>/)
    assert.match(await read('fiat:chf'), />CH<\/text>/)
    assert.match(await read('kraken:Z%?#é'), />ZÉ<\/text>/)
    assert.match(await read(String.raw`kraken:/../P\q`), />PQ<\/text>/)
    assert.match(await read('evm:1:0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed'), />5A<\/text>/)
    assert.doesNotMatch(await read('kraken:<script>alert(1)'), /<script/)
    assert.match(await read('kraken:--'), />\?<\/text>/)
  })

  it('of the set is a square without scripts, styles, links or external content', () => {
    const all = [...Object.entries(drawings.providers), ...Object.entries(drawings.assets)]
    assert.ok(all.length > 200)
    for (const [id, svg] of all) {
      assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="24" height="24" .*<\/svg>$/, id)
      const inside = svg.replace('http://www.w3.org/2000/svg', '')
      assert.doesNotMatch(inside, /<(?:script|style|a|foreignObject)\b|\son\w+=|href="[^#]|url\([^#]|\w:\/\//i, id)
    }
  })

  it('404: an icon that does not exist, or a path that is not an SVG', async (t) => {
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
