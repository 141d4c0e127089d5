#!/usr/bin/env node
// Starts `assay` on Node 24. On an older Node it starts itself again with the Node that the lockfile installed, so it
// must stay plain JavaScript that Node 20 can read.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { findOwnDirectory } from './own-directory.mjs'

const entry = new URL('../src/main.ts', import.meta.url)

if (Number(process.versions.node.split('.')[0]) >= 24) {
  // Takes a third off the processor time of a start: 1.0 s instead of 1.6 s for a command that loads the service.
  const cache = findOwnDirectory(fileURLToPath(new URL('../../../node_modules/.cache/assay', import.meta.url)))
  if (cache !== undefined) module.enableCompileCache(cache)
  await import(entry.href)
} else {
  const child = spawn(findNode(), [new URL(import.meta.url).pathname, ...process.argv.slice(2)], { stdio: 'inherit' })
  // The terminal sends Ctrl-C to both; this process only waits for the other to end in order.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => signal === 'SIGINT' || child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)))
}

function findNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`)
    const file = path.join(path.dirname(manifest), 'bin', 'node')
    if (existsSync(file)) return file
  } catch {
    // Falls through to the one answer for both cases.
  }
  process.stderr.write(
    `assay needs Node 24 and this is ${process.version}. Install Node 24, or run \`npm ci\` again.\n`,
  )
  process.exit(1)
}
