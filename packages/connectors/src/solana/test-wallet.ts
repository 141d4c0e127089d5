/** The wallet of the tests, what it has, and walks over its lists. */
import assert from 'node:assert/strict'
import { SourceError } from '@assay/core'
import type { ConnectorState, Page, AccountReader, WalletCredentials, Window } from '../kit/connector.ts'
import { connector } from './connector.ts'
import { friend, wallet, type TestNode, type TestTransaction } from './test-node.ts'

export const day = 24 * 3_600
export const ownUsdc = 'OwnUsdcAccount'
export const stake = 'OwnStakeAccount'
export const unknownMint = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'.replace('Dez', 'Dea')

export function open(node: TestNode, more: Partial<WalletCredentials> = {}): AccountReader {
  return connector.open({ type: 'wallet', address: wallet, ...more }, node.io)
}

export function isFault(fault: string): (error: unknown) => boolean {
  return (error) => error instanceof SourceError && error.fault === fault
}

/** SOL from a friend. */
export function receive(signature: string, atSeconds: number, more: Partial<TestTransaction> = {}): TestTransaction {
  const accounts = [
    { key: friend, before: 10_005_000n, after: 9_000_000n },
    { key: wallet, before: 0n, after: 1_000_000n },
  ]
  return { signature, atSeconds, accounts, ...more }
}

interface Walk {
  pages: Page[]
  keys: string[]
  withdrawn: string[]
  lastingMark: string | null
  state: ConnectorState
}

export async function walk(
  reader: AccountReader,
  partition: string,
  window: { start: number; end: number },
  given: { stream?: string; lastingMark?: string | null; state?: ConnectorState } = {},
): Promise<Walk> {
  const { stream = 'transactions', lastingMark = null, state = { address: wallet } } = given
  const done: Walk = { pages: [], keys: [], withdrawn: [], lastingMark, state }
  const whole: Window = { unit: 'ms', ...window }
  for (let pageMark: string | null = null, count = 0; count === 0 || pageMark !== null; count += 1) {
    assert.ok(count < 100, 'the walk does not end')
    const request = { stream, partition, window: whole, pageMark, lastingMark: done.lastingMark, state: done.state }
    const page: Page = await reader.fetchPage(request)
    done.pages.push(page)
    done.keys.push(...page.records.map(({ key }) => key))
    done.withdrawn.push(...(page.withdrawn ?? []))
    done.lastingMark = page.lastingMark ?? done.lastingMark
    done.state = page.state ?? done.state
    pageMark = page.next
  }
  return done
}
