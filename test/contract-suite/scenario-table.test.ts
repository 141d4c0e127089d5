/** For every scenario of the sandbox, a check compares what the proof says about it. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { startSandbox } from '@assay/sandbox'
import { scenarioTable } from './scenario-table.ts'

it('lists exactly the scenarios of every simulated provider', async (t) => {
  const sandbox = await startSandbox({ seed: 'test', pace: 'fastest', log: () => undefined })
  t.after(() => sandbox.close())
  const response = await fetch(`${sandbox.controlUrl}/control/providers`)
  const { providers } = (await response.json()) as {
    providers: { provider_id: string; scenarios: { name: string }[] }[]
  }
  const listed = providers.map(({ provider_id, scenarios }) => [
    provider_id,
    scenarios.map(({ name }) => name).toSorted(),
  ])
  const checked = Object.entries(scenarioTable).map(([provider, scenarios]) => [
    provider,
    Object.keys(scenarios).toSorted(),
  ])
  assert.deepEqual(Object.fromEntries(checked), Object.fromEntries(listed))
})
