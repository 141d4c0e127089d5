/**
 * Builds `@assay/sdk` as an application installs it, when the sources are newer than what was built: before a start
 * (the demo application uses it like any other), before the tests, before it is packed.
 */
import { spawnSync } from 'node:child_process'
import { globSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const sdk = path.resolve(import.meta.dirname, '../packages/sdk')

function newestMs(pattern: string): number {
  return Math.max(0, ...globSync(pattern, { cwd: sdk }).map((file) => statSync(path.join(sdk, file)).mtimeMs))
}

if (newestMs('dist/index.js') < newestMs('{src/**/*.ts,tsconfig.build.json}')) {
  // Otherwise files of an earlier source would be packed, too.
  rmSync(path.join(sdk, 'dist'), { recursive: true, force: true })
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const { status } = spawnSync(process.execPath, [tsc, '-p', path.join(sdk, 'tsconfig.build.json')], {
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}
