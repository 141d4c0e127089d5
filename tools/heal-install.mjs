// Runs after `npm install` and `npm ci`, on whatever Node npm itself runs on (20 is supported), so plain JavaScript.
//
// npm on Node 20 skips optional binaries whose `engines` ask for Node 22 or later. Inside a lifecycle script the PATH
// begins with node_modules/.bin, where the lockfile's own Node 24 lies, so a second pass from here adds what the
// first one skipped. It changes neither package.json nor the lockfile.
import { spawnSync } from 'node:child_process'
import process from 'node:process'

const npmRanOn = Number(/\bnode\/v(\d+)/.exec(process.env.npm_config_user_agent ?? '')?.[1] ?? '24')

if (npmRanOn < 22 && process.env.ASSAY_SECOND_INSTALL_PASS === undefined) {
  const second = spawnSync('npm', ['install', '--no-save', '--no-audit', '--no-fund'], {
    stdio: 'inherit',
    env: { ...process.env, ASSAY_SECOND_INSTALL_PASS: '1' },
  })
  process.exit(second.status ?? 1)
}
