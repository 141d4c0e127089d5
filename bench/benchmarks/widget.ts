/**
 * widget: what a browser loads before it asks for the list of providers: the page's scripts, all they import, its
 * style.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { ensureWidgetBuilt } from '../../packages/connect/build.ts'
import type { Benchmark } from '../benchmark.ts'

const dist = path.resolve(import.meta.dirname, '../../packages/connect/dist')

export const widget: Benchmark = {
  name: 'widget',
  summary: 'bytes that the connect page loads, gzip',
  async run(bench) {
    bench.say('building the widget')
    await ensureWidgetBuilt()
    const files = listFiles().map((file) => ({ file, bytes: gzipSync(readFileSync(path.join(dist, file))).length }))
    const total = files.reduce((sum, { bytes }) => sum + bytes, 0)
    return [
      {
        title: 'Script and style of the connect page, gzip',
        unit: 'KiB',
        measured: { name: 'connect', values: [total / 1_024] },
        goal: { atMost: 60 },
        notes: files.map(({ file, bytes }) => `${file}: ${bytes} bytes`),
      },
    ]
  },
}

/** Follows static imports from the page. Modules that are imported on demand (languages) are not always loaded. */
function listFiles(): string[] {
  const page = readFileSync(path.join(dist, 'index.html'), 'utf8')
  const found = new Set(
    [...page.matchAll(/(?:src|href)="\.?\/?([^"]+\.(?:js|css))"/g)].map(([, file = '']) => toLocal(file)),
  )
  for (const file of found) {
    if (!file.endsWith('.js')) continue
    const text = readFileSync(path.join(dist, file), 'utf8')
    for (const [, target = ''] of text.matchAll(/(?:^|[;}])import(?:[^"'()]*?from)?["'](\.[^"']+)["']/g)) {
      found.add(path.posix.join(path.posix.dirname(file), target))
    }
  }
  if (found.size === 0) throw new Error(`${dist}/index.html names no script`)
  return [...found]
}

/** The page may name its files from the root of the host or from itself. */
function toLocal(file: string): string {
  return file.slice(Math.max(0, file.indexOf('assets/')))
}
