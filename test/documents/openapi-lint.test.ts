/**
 * Redocly's linter over the documents as the service gives them out: its recommended rules, every warning an error, and
 * every example checked against its schema. It is one bundled package, hence a program to run and not a library; its
 * telemetry and its look for a newer version are switched off.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startTestServer } from '../../apps/server/src/http/test-server.ts'

const run = promisify(execFile)
const linter = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'))
const environment = { PATH: process.env['PATH'], REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }

const rules = `extends: [recommended-strict]
rules:
  operation-description: error
  operation-4xx-response: error
  tag-description: error
  no-invalid-media-type-examples: error
  no-invalid-parameter-examples: error
  no-invalid-schema-examples: error
`

interface Report {
  problems: { ruleId: string; message: string; location: { pointer?: string }[] }[]
}

it('Redocly reports no problem in any of the documents', async (t) => {
  const { url } = await startTestServer(t)
  const folder = await mkdtemp(path.join(os.tmpdir(), 'assay-lint-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  await writeFile(path.join(folder, 'redocly.yaml'), rules)
  const names = ['v1.json', 'v2.json', 'connect.json']
  for (const name of names) {
    await writeFile(path.join(folder, name), await (await fetch(`${url}/openapi/${name}`)).text())
  }
  const lint = async (name: string): Promise<string[]> => {
    const words = ['lint', name, '--config', 'redocly.yaml', '--format', 'json']
    const asked = run(process.execPath, [linter, ...words], { cwd: folder, env: environment, maxBuffer: 2 ** 24 })
    // It exits with 1 when it has found a problem, and the report describes it better.
    const { stdout } = await asked.catch((error: { stdout: string }) => error)
    const { problems } = JSON.parse(stdout) as Report
    return problems.map(({ ruleId, message, location }) => `${name}: ${ruleId}: ${message} ${location[0]?.pointer}`)
  }
  for (const name of names) assert.deepEqual(await lint(name), [])

  // A linter that finds nothing may not have checked anything.
  const document = await readFile(path.join(folder, 'v1.json'), 'utf8')
  await writeFile(
    path.join(folder, 'broken.json'),
    document.replace('"asset_holdings":0.51', '"asset_holdings":"much"'),
  )
  const [found, ...others] = await lint('broken.json')
  assert.match(found ?? '', /no-invalid-media-type-examples/)
  assert.deepEqual(others, [])
})
