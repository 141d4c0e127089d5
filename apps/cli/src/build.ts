/** Which version this is: from the root manifest, and from git when it is a checkout. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

export function readBuild(): { version: string; commit: string | undefined } {
  const root = new URL('../../../', import.meta.url)
  const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as { version: string }
  try {
    const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return { version, commit: commit.trim() }
  } catch {
    // A packed release has no git; its version says enough.
    return { version, commit: undefined }
  }
}
