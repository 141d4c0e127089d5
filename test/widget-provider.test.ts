/** Connecting a provider that people sign in at, in a real browser: over its own page and back (contract §4). */
import { describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { button, heading, newEmail, reachChoice, seeAccessible, seeHeading } from './widget-person.ts'
import { useWidgetWorld } from './widget-world.ts'

describe('a provider that one signs in at', () => {
  const world = useWidgetWorld()

  async function visit(work: (page: Page) => Promise<void>): Promise<void> {
    const page = await world().openPage()
    await page.goto(world().demo.url)
    await page.getByRole('link', { name: 'Connect your accounts' }).click()
    await reachChoice(page, newEmail())
    await page.getByRole('combobox').fill('harb')
    await page.getByRole('combobox').press('Enter')
    await seeHeading(page, 'Connect Harbor')
    await work(page)
    await world().close(page)
  }

  async function goToHarbor(page: Page): Promise<void> {
    await button(page, /^Sign in at Harbor/).click()
    await heading(page, /Harbor/).waitFor()
    await button(page, 'Allow').waitFor()
  }

  it('leads over its page and back, and the application sees what is there', () =>
    visit(async (page) => {
      await seeAccessible(page, 'sign in at the provider')
      await goToHarbor(page)
      await seeAccessible(page, 'the provider’s page')
      await button(page, 'Allow').click()
      await seeHeading(page, /Connecting Harbor|Connected/)
      await seeHeading(page, 'Connected')
      await button(page, 'Finish').click()
      await page.getByRole('heading', { name: 'Holdings' }).waitFor()
      await page.getByRole('rowheader', { name: 'BTC' }).waitFor()
    }))

  it('denied there, it says so here, and a second try connects', () =>
    visit(async (page) => {
      await goToHarbor(page)
      await button(page, 'Deny').click()
      await seeHeading(page, 'You did not allow it at Harbor')
      await seeAccessible(page, 'declined at the provider')
      await button(page, 'Sign in again').click()
      await goToHarbor(page)
      await button(page, 'Allow').click()
      await seeHeading(page, 'Connected')
    }))
})
