/** The built package, as files: small, self-contained, and usable from any folder. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { findWidgetDirectory } from '../../apps/server/src/http/widget.ts'
import { ensureWidgetBuilt } from '../../packages/connect/build.ts'

const dist = findWidgetDirectory()
const kibibyte = 1_024

/** Scripts and styles that a page loads before anything is clicked, with what they import. */
function loadedBy(page: string): string[] {
  const html = readFileSync(path.join(dist, page), 'utf8')
  const first = [...html.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(([, name = '']) =>
    path.join(path.dirname(page), name),
  )
  const all = new Set(first)
  for (const file of all) {
    const text = readFileSync(path.join(dist, file), 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:^|[;}\s])(?:import|from)\s*"(\.\/[^"]+\.js)"/g)) {
      all.add(path.join(path.dirname(file), name))
    }
  }
  return [...all]
}

describe('the built widget', () => {
  before(() => ensureWidgetBuilt())

  it('loads at most 60 KiB of script and style, gzip, before the list of providers', () => {
    for (const page of ['index.html', 'manage/index.html']) {
      const files = loadedBy(page)
      assert.ok(files.length >= 2, `${page} loads ${files.join(', ')}`)
      const bytes = files.reduce((sum, file) => sum + gzipSync(readFileSync(path.join(dist, file))).length, 0)
      assert.ok(bytes <= 60 * kibibyte, `${page}: ${Math.round(bytes / kibibyte)} KiB`)
    }
  })

  it('pages have no inline script or style, and no address of another host', () => {
    for (const page of globSync('**/*.html', { cwd: dist })) {
      const html = readFileSync(path.join(dist, page), 'utf8')
      assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/, page)
      assert.doesNotMatch(html, /(?:src|href)="(?:https?:)?\/\//, page)
      assert.doesNotMatch(html, /(?:src|href)="\//, `${page}: addresses are relative, so that any folder will do`)
    }
  })

  it('the loader is a single separate module', () => {
    const loader = readFileSync(path.join(dist, 'loader.js'), 'utf8')
    assert.doesNotMatch(loader, /\bimport\b/)
    assert.match(loader, /\bopenConnect\b/)
    assert.ok(gzipSync(loader).length <= 3 * kibibyte)
  })
})
