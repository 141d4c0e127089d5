/**
 * Builds the widget when its sources are newer than what was built: before a start, before the tests, or by hand with
 * `node packages/connect/build.ts`. The new folder takes the place of the old one in one step, so that a server or a
 * test that runs beside it never sees half a widget.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'

const here = import.meta.dirname
const dist = path.join(here, 'dist')
const sources = ['src', 'public', 'callback', 'manage', 'index.html', 'vite.config.ts', '../core/src/credentials']

/** True when there was something to do. */
export async function ensureWidgetBuilt(): Promise<boolean> {
  if (newestMs(path.join(dist, 'index.html')) >= Math.max(...sources.map((name) => newestMs(path.join(here, name))))) {
    return false
  }
  const draft = `${dist}-${process.pid}`
  const old = `${draft}-old`
  // Loading it takes half a second, which a start with nothing to build should not spend.
  const { build } = await import('vite')
  await build({ root: here, logLevel: 'error', build: { outDir: draft } })
  if (existsSync(dist)) renameSync(dist, old)
  renameSync(draft, dist)
  rmSync(old, { recursive: true, force: true })
  return true
}

function newestMs(file: string): number {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) return 0
  if (!stats.isDirectory()) return stats.mtimeMs
  return Math.max(0, ...readdirSync(file).map((name) => newestMs(path.join(file, name))))
}

if (import.meta.main) await ensureWidgetBuilt()
