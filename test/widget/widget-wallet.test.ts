/**
 * Connecting a wallet in a real browser, by pasting it. A secret that can spend must not leave the page.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { beginAtDemo, button, reachChoice, seeAccessible, seeHeading } from './widget-person.ts'
import { useWidgetWorld } from './widget-world.ts'

const sizes: Readonly<Record<string, BrowserContextOptions>> = {
  'on a desktop': {},
  'on a phone': { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
}

const field = 'Address, extended public key or descriptor'
const seedPhrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
const numberedPhrase = seedPhrase.replaceAll(' ', ' 2. ')
const xprv =
  'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi'
const wif = '5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ'

const offerOf = (page: Page, chain = ''): Locator =>
  page.getByRole('option', { name: new RegExp(`^Connect this ${chain}`) })

describe('a wallet in the widget', () => {
  const { world, visit } = useWidgetWorld()

  const visitChoice = (work: (page: Page) => Promise<void>, options?: BrowserContextOptions): Promise<void> =>
    visit(async (page, here) => {
      await beginAtDemo(page, here)
      await reachChoice(page)
      await work(page)
    }, options)

  async function chooseBitcoin(page: Page): Promise<void> {
    await page.getByRole('combobox').fill('bitc')
    await page.getByRole('combobox').press('Enter')
    await seeHeading(page, 'Connect Bitcoin')
  }

  async function mintWallet(scenario: string, providerId = 'bitcoin'): Promise<Record<string, string>> {
    const response = await fetch(`${world().service.sandbox.controlUrl}/control/accounts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ provider_id: providerId, scenario, account: randomUUID() }),
    })
    return ((await response.json()) as { credentials: Record<string, string> }).credentials
  }

  /** A phone scrolls down, never sideways. */
  async function assertFits(page: Page): Promise<void> {
    const root = 'document.documentElement'
    const excess = await page.evaluate<number>(`${root}.scrollWidth - ${root}.clientWidth`)
    assert.ok(excess <= 0, `the page is ${excess} pixels wider than its window`)
  }

  async function seeHoldings(page: Page, symbol = 'BTC'): Promise<void> {
    await seeHeading(page, 'Connected')
    await assertFits(page)
    await button(page, 'Finish').click()
    await page.getByRole('heading', { name: 'Holdings' }).waitFor()
    await page.getByRole('rowheader', { name: symbol }).waitFor()
  }

  for (const [size, options] of Object.entries(sizes)) {
    it(`${size}, an extended public key is named, and one button connects it`, () =>
      visitChoice(async (page) => {
        await chooseBitcoin(page)
        const { extended_public_key: key = '' } = await mintWallet('nested_segwit')
        await page.getByLabel(field).fill(key)
        await page.getByText('This is an extended public key for Bitcoin.').waitFor()
        await page.getByText('It cannot spend.').waitFor()
        await seeAccessible(page, `a wallet, ${size}`)
        await assertFits(page)
        await button(page, 'Connect').click()
        await seeHoldings(page)
      }, options))
  }

  it('an address that is pasted into the search becomes a wallet', () =>
    visitChoice(async (page) => {
      const { address = '' } = await mintWallet('miner')
      await page.getByRole('combobox').fill(`bitcoin:${address}`)
      await offerOf(page, 'Bitcoin').click()
      await page.getByText('This address belongs to Bitcoin.').waitFor()
      await button(page, 'Connect').click()
      await seeHoldings(page)
    }))

  it('Enter selects the wallet that was pasted into the search', () =>
    visitChoice(async (page) => {
      const { address = '' } = await mintWallet('miner')
      await page.getByRole('combobox').fill(address)
      await offerOf(page, 'Bitcoin').waitFor()
      await seeAccessible(page, 'a pasted wallet')
      await page.getByRole('combobox').press('Enter')
      await seeHeading(page, 'Connect Bitcoin')
      assert.equal(await page.getByLabel(field).inputValue(), address)
    }))

  it('a wallet that was pasted is kept by the page alone, and not by the browser', () =>
    visitChoice(async (page) => {
      const { extended_public_key: key = '' } = await mintWallet('nested_segwit')
      await page.getByRole('combobox').fill(key)
      await offerOf(page, 'Bitcoin').click()
      await page.getByText('This is an extended public key for Bitcoin.').waitFor()
      const kept = await page.evaluate<string>(
        'JSON.stringify([{ ...sessionStorage }, { ...localStorage }, history.state])',
      )
      assert.ok(kept.includes('bitcoin'))
      assert.ok(!kept.includes(key))
    }))

  it('a search for Phantom finds Solana and says where its address is, which is distinguished from those of other chains', () =>
    visitChoice(async (page) => {
      const { address = '' } = await mintWallet('odd', 'solana')
      await page.getByRole('combobox').fill('phantom')
      await page.getByRole('option', { name: /Solana.*Phantom/ }).click()
      await page.getByText('Phantom: choose Receive › Solana and copy the address.').waitFor()
      await button(page, 'Back').click()
      await seeHeading(page, 'Where are your assets?')
      await page.getByRole('combobox').fill(address)
      await offerOf(page, 'Solana').click()
      await page.getByText('This address belongs to Solana.').waitFor()
      await button(page, 'Connect').click()
      await seeHoldings(page, 'SOL')
    }))

  it('the sandbox fills in a test wallet of any kind', () =>
    visitChoice(async (page) => {
      await chooseBitcoin(page)
      await page.getByText('Sandbox: use a test wallet').click()
      await page.locator('[data-scenario="taproot"]').click()
      await page.getByText('This is a descriptor for Bitcoin.').waitFor()
      await button(page, 'Connect').click()
      await seeHoldings(page)
    }))

  it('a secret that can spend, and a text that is not a wallet of this chain, are refused on the page without a request', () =>
    visitChoice(async (page) => {
      await chooseBitcoin(page)
      await page.getByText('Sandbox: use a test wallet').waitFor()
      const requests: string[] = []
      page.on('request', (request) => requests.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`))
      for (const [text, words] of [
        [seedPhrase, 'These are your recovery words.'],
        [numberedPhrase, 'These are your recovery words.'],
        [xprv, 'This is an extended private key'],
        [`wpkh(${xprv}/0/*)`, 'This is an extended private key'],
        [wif, 'This is a private key, which gives'],
        ['e9'.repeat(32), 'This is a private key or a transaction ID.'],
        ['vitalik.eth', 'This is a name, not an address.'],
        ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 'This belongs to Ethereum.'],
        ['9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', 'This belongs to Solana.'],
        [JSON.stringify(Array.from({ length: 64 }, (_, byte) => byte)), 'This is a private key, which gives'],
        ['tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx', 'This belongs to a test network.'],
      ] as const) {
        await page.getByLabel(field).fill(text)
        await page.getByText(words).waitFor()
        assert.equal(await button(page, 'Connect').isDisabled(), true, words)
        await page.getByLabel(field).press('Enter')
      }
      await page.getByLabel(field).fill('')
      assert.deepEqual(requests, [])
    }))

  it('the search keeps the same secrets on the page, refuses a name, and offers each address to one provider', () =>
    visitChoice(async (page) => {
      const search = page.getByRole('combobox')
      await search.fill('bitc')
      await page.getByRole('option', { name: 'Bitcoin', exact: true }).waitFor()
      const requests: string[] = []
      page.on('request', (request) => requests.push(`${request.method()} ${request.url()} ${request.postData() ?? ''}`))
      for (const [text, words] of [
        [seedPhrase, 'These are your recovery words.'],
        [numberedPhrase, 'These are your recovery words.'],
        [xprv, 'This is an extended private key'],
        [wif, 'This is a private key, which gives'],
        ['e9'.repeat(32), 'This is a private key or a transaction ID.'],
        ['vitalik.eth', 'This is a name, not an address.'],
        ['someone.sol', 'This is a name, not an address.'],
      ] as const) {
        await search.fill(text)
        await page.getByText(words).waitFor()
        await search.press('Enter')
        assert.equal(await offerOf(page).count(), 0, words)
      }
      assert.deepEqual(requests, [])
      for (const [address, name] of [
        ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 'Ethereum & EVM'],
        ['9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin', 'Solana'],
        ['bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 'Bitcoin'],
      ] as const) {
        await search.fill(address)
        const offer = offerOf(page)
        await offer.getByText(address).waitFor()
        assert.deepEqual([await offer.count(), (await offer.innerText()).includes(name)], [1, true], name)
      }
    }))
})
