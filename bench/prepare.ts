/** What a run needs beyond the project's own packages: the peers of bench/package.json, and pgbench. */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import path from 'node:path'

/** A problem that the person at the terminal can fix. It is shown without a stack. */
export class CannotRun extends Error {}

export function ensurePeers(): void {
  const directory = import.meta.dirname
  if (existsSync(path.join(directory, 'node_modules', '.package-lock.json'))) return
  console.log('Installing the load generator and the peers of bench/package.json (once, some 300 MB) …')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: directory, stdio: 'inherit' })
  if (status !== 0) throw new CannotRun('`npm ci` failed, see above. Run it in bench/ and start again.')
}

export function findPgbench(): string {
  const found = candidates().find((file) => existsSync(file))
  if (found !== undefined) return found
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new CannotRun('pgbench is missing. On Debian: sudo apt-get install -y --no-install-recommends postgresql')
  }
  // Debian has pgbench in the package of the server, not in that of the client. Only the program is used.
  console.log('Installing pgbench from Debian (package postgresql) …')
  for (const words of [
    ['update', '-qq'],
    ['install', '-y', '-qq', '--no-install-recommends', 'postgresql'],
  ]) {
    const { status } = spawnSync('apt-get', words, { stdio: ['ignore', 'ignore', 'inherit'] })
    if (status !== 0) throw new CannotRun(`apt-get ${words.join(' ')} failed. Install pgbench by hand and begin again.`)
  }
  const installed = candidates().find((file) => existsSync(file))
  if (installed === undefined) throw new CannotRun('The package postgresql was installed and pgbench is not there.')
  return installed
}

/** Newest first. Debian's /usr/bin/pgbench is a slow wrapper in Perl; the program itself is in a deeper folder. */
function candidates(): string[] {
  const versions = globSync('/usr/lib/postgresql/*/bin/pgbench').toSorted((a, b) => (a < b ? 1 : -1))
  return [...versions, '/usr/bin/pgbench', '/usr/local/bin/pgbench', '/opt/homebrew/bin/pgbench']
}
