/**
 * Loaded into a worker before anything else (`node --import`): an engine with the classic mistake, in which a page's
 * bookmark is committed before its rows. The campaign has to find it; if it does not, it proves nothing.
 *
 * The product has no switch for this: its source is rewritten while it is loaded, and a source that no longer has the
 * lines this knows is an error.
 *
 * The first worker that commits a bookmark of the ledger alone then waits until it is killed, and the first kill waits
 * for that, so that it cannot miss the moment: the file `ready` says so. The workers after it wait a moment only.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import path from 'node:path'

const ready = path.join(process.env['ASSAY_DATA_DIRECTORY'] ?? '', 'ready')
const isFirst = !existsSync(ready)
const momentMs = 100

Object.assign(globalThis, {
  async waitBeforeRows(hasRows: boolean): Promise<void> {
    if (isFirst && hasRows) {
      writeFileSync(ready, '')
      await new Promise(() => undefined)
    }
    await new Promise((resolve) => setTimeout(resolve, momentMs))
  },
})

/** The rows are put off until the transaction of the bookmark is over, and a moment longer. */
const rewrites: [RegExp, string][] = [
  [
    /const kept = await (deps\.ledger\.keepRaw)\(tx, (.*)\)$/m,
    `globalThis.pageHasRows = windows.some(({ list, records }) => list.stream.required && records.length > 0)
      globalThis.rowsOfThePage = () => deps.db.transaction((later) => $1(later, $2))
      const addedBy = windows.map(({ records }) => records.length)
      const kept = { added: addedBy.reduce((sum, added) => sum + added, 0), addedBy, doubts: [] }`,
  ],
  [
    /^ {2}reading\.hasNews = true$/m,
    `  await globalThis.waitBeforeRows(globalThis.pageHasRows)
  await globalThis.rowsOfThePage()
  reading.hasNews = true`,
  ],
]

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith('/sync/commit.ts')) return loaded
    const { source: original = '' } = loaded
    if (original === null) throw new Error(`sabotage: ${url} has no source`)
    let source = typeof original === 'string' ? original : Buffer.from(original as Uint8Array).toString()
    for (const [pattern, replacement] of rewrites) {
      if (!pattern.test(source)) throw new Error(`sabotage: ${url} has no line like ${pattern.source}`)
      source = source.replace(pattern, replacement)
    }
    return { ...loaded, source }
  },
})
