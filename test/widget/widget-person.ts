/**
 * What a person does on the pages, found by the visible text: the tests use no test ids and do not reach into the
 * script.
 */
import axe from 'axe-core'
import assert from 'node:assert/strict'
import type { FrameLocator, Locator, Page } from 'playwright-core'

/** A page, or the widget in a frame of one. */
export type WidgetPage = Pick<Page, 'getByRole' | 'getByLabel' | 'getByText' | 'locator'> | FrameLocator

export const heading = (place: WidgetPage, name: string | RegExp): Locator =>
  place.getByRole('heading', { level: 1, name })
export const button = (place: WidgetPage, name: string | RegExp): Locator =>
  place.getByRole('button', typeof name === 'string' ? { name, exact: true } : { name })

export async function seeHeading(place: WidgetPage, name: string | RegExp): Promise<void> {
  await heading(place, name).waitFor()
}

let people = 0

/** Each test uses a different user, so that tests share no limits and connections. */
export function newEmail(): string {
  people += 1
  return `ada.${process.pid}.${people}@example.com`
}

export async function signIn(place: WidgetPage, email: string): Promise<void> {
  await place.getByLabel('Email address').fill(email)
  await button(place, 'Email me a code').click()
  await seeHeading(place, 'Enter the six digits')
  await button(place, 'Fill in').click()
}

const consentHeading = 'Northwind wants to see your crypto accounts'

/** From the demo application to the consent page. */
export async function beginAtDemo(page: Page, { demo }: { demo: { url: string } }): Promise<void> {
  await page.goto(demo.url)
  await page.getByRole('link', { name: 'Connect your accounts' }).click()
  await seeHeading(page, consentHeading)
}

/** From the consent page to the list of providers. */
export async function reachChoice(place: WidgetPage, email = newEmail()): Promise<void> {
  await seeHeading(place, consentHeading)
  await button(place, 'Continue').click()
  await signIn(place, email)
  await seeHeading(place, 'Where are your assets?')
}

export async function chooseKraken(place: WidgetPage): Promise<void> {
  await place.getByRole('combobox').fill('krak')
  await place.getByRole('combobox').press('Enter')
  await seeHeading(place, 'Connect Kraken')
}

export interface TestKey {
  key: string
  secret: string
}

/** Sandbox: a fresh key that behaves as its title says, filled in. */
export async function fillTestKey(place: WidgetPage, title: string): Promise<TestKey> {
  await place.getByText('Sandbox: use a test key').click()
  await button(place, new RegExp(`^${title}`)).click()
  await place.getByText('Looks right').nth(1).waitFor()
  return {
    key: await place.getByLabel('API key').inputValue(),
    secret: await place.getByLabel('Private key').inputValue(),
  }
}

export async function sendTestKey(place: WidgetPage, title: string, press = 'Connect'): Promise<TestKey> {
  const filled = await fillTestKey(place, title)
  await button(place, press).click()
  return filled
}

interface Violation {
  id: string
  help: string
  nodes: { html: string }[]
}

/** WCAG 2.2 AA, by axe-core. */
export async function seeAccessible(page: Page, screen: string): Promise<void> {
  // A screen may be a new document, or another state of one that has the script already.
  if (!(await page.evaluate<boolean>("'axe' in window"))) await page.evaluate(axe.source)
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
  // Only what is wrong leaves the page: axe describes every element that a rule accepts, a hundred times as much.
  const options = JSON.stringify({ runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] })
  const run = `axe.run(document, ${options}).then(({ violations }) => violations)`
  const violations = await page.evaluate<Violation[]>(run)
  const found = violations.map(
    ({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.map((node) => node.html).join('\n  ')}`,
  )
  assert.deepEqual(found, [], screen)
}
