/**
 * `npm run lockfile`: takes `engines` out of the packages of package-lock.json; `--check` only looks.
 *
 * Everything here runs on the lockfile's own Node 24, whatever Node npm itself runs on. With `engines` in the lockfile
 * npm on Node 20 warns about packages that ask for a later Node, and skips optional ones (a program that builds the
 * widget is then missing). npm makes both decisions from the lockfile alone, and does not add `engines` again. Our own
 * packages keep theirs, so that npm warns when it installs with Node 18.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

interface Lockfile {
  packages: Record<string, { engines?: unknown }>
}

const file = path.resolve(import.meta.dirname, '../package-lock.json')
const lockfile = JSON.parse(readFileSync(file, 'utf8')) as Lockfile
const found = Object.entries(lockfile.packages).filter(
  ([place, { engines }]) => place.includes('node_modules/') && engines !== undefined,
)

if (!process.argv.includes('--check')) {
  for (const [, entry] of found) delete entry.engines
  writeFileSync(file, `${JSON.stringify(lockfile, null, 2)}\n`)
} else if (found.length > 0) {
  const [first = ''] = found.map(([place]) => place)
  console.error(`package-lock.json has engines in ${found.length} packages, such as ${first}. Run: npm run lockfile`)
  process.exitCode = 1
}
