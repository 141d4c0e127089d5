/**
 * A new provider is its own folder, its simulator's folder and one entry in the registry. This adds one to a copy of
 * the source tree, changing nothing else, and runs the contract suite on it there.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'

const root = path.resolve(import.meta.dirname, '../..')
const example = path.join(import.meta.dirname, 'example')

/** Only sources: built or installed packages are linked or left out. */
function isSource(file: string): boolean {
  return !/(^|\/)(node_modules|dist|data|coverage)(\/|$)/.test(path.relative(root, file))
}

async function copyTree(to: string): Promise<void> {
  for (const name of ['packages', 'apps', 'test', 'tools', 'package.json', 'tsconfig.json']) {
    await cp(path.join(root, name), path.join(to, name), { recursive: true, filter: isSource })
  }
  const modules = path.join(to, 'node_modules')
  await mkdir(path.join(modules, '@assay'), { recursive: true })
  for (const name of await readdir(path.join(root, 'node_modules'))) {
    if (name !== '@assay') await symlink(path.join(root, 'node_modules', name), path.join(modules, name))
  }
  for (const folder of ['packages', 'apps']) {
    for (const name of await readdir(path.join(to, folder))) {
      const manifest = path.join(to, folder, name, 'package.json')
      const { name: id } = JSON.parse(await readFile(manifest, 'utf8')) as { name: string }
      await symlink(path.join(to, folder, name), path.join(modules, id))
      const own = path.join(root, folder, name, 'node_modules')
      await symlink(own, path.join(to, folder, name, 'node_modules'))
    }
  }
}

/** The files of the example, with imports as they read in the place where they belong. */
async function addProvider(to: string): Promise<void> {
  const folder = path.join(to, 'packages/connectors/src/tidepool')
  const simulated = path.join(to, 'packages/sandbox/src/tidepool')
  await Promise.all([mkdir(folder), mkdir(simulated)])
  for (const name of ['definition.ts', 'connector.ts']) {
    const text = await readFile(path.join(example, name), 'utf8')
    await writeFile(path.join(folder, name), text.replaceAll('../../../packages/connectors/src/', '../'))
  }
  await cp(path.join(example, 'simulator.ts'), path.join(simulated, 'index.ts'))
  const suite = await readFile(path.join(example, 'tidepool.contract.ts'), 'utf8')
  await writeFile(
    path.join(to, 'test/contract-suite/tidepool.pg.test.ts'),
    suite
      .replace("'../suite.ts'", "'./suite.ts'")
      .replace("'./simulator.ts'", "'../../packages/sandbox/src/tidepool/index.ts'"),
  )
  const registry = path.join(to, 'packages/connectors/src/registry.ts')
  const line = "  tidepool: { definition: tidepoolDefinition, load: () => import('./tidepool/connector.ts') },\n"
  const before = await readFile(registry, 'utf8')
  const after = before
    .replace(
      '\ninterface Provider',
      "import { tidepoolDefinition } from './tidepool/definition.ts'\n\ninterface Provider",
    )
    .replace(/(const providers: .*\n)/, `$1${line}`)
  assert.equal(after.split('\n').length, before.split('\n').length + 2)
  await writeFile(registry, after)
}

async function run(cwd: string, file: string): Promise<{ code: number | null; output: string }> {
  // A test runner inside a test runner would report to the outer one and hide its own output.
  const env = { ...process.env }
  delete env['NODE_TEST_CONTEXT']
  const child = spawn(process.execPath, ['--test', '--test-reporter=spec', file], { cwd, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, output }
}

describe('adding a provider', () => {
  it('takes its folder, its simulator and one entry in the registry, and the contract suite passes', async (t) => {
    const copy = await mkdtemp(path.join(os.tmpdir(), 'assay-provider-'))
    t.after(() => rm(copy, { recursive: true, force: true }))
    await copyTree(copy)
    await addProvider(copy)
    const { code, output } = await run(copy, 'test/contract-suite/tidepool.pg.test.ts')
    assert.equal(code, 0, output)
    assert.match(output, /a full read stores every record/)
    assert.match(output, /fail 0/)
  })
})
