/**
 * Loaded into a worker before anything else (`node --import`): an engine with the classic mistake, in which a page's
 * bookmark is committed before its rows. The campaign has to find it; if it does not, it proves nothing.
 *
 * The product has no switch for this: its source is rewritten while it is loaded, and a source that no longer has the
 * lines this knows is an error.
 */
import { registerHooks } from 'node:module'

/** The rows are put off until the transaction of the bookmark is over, and a moment longer. */
const rewrites: [RegExp, string][] = [
  [
    /for \(const \{ stream, records \} of pages\) added \+= await (deps\.ledger\.keepRaw)\(tx, (.*)\)$/m,
    `globalThis.rowsOfThePage = async () => {
      for (const { stream, records } of pages) await deps.db.transaction((later) => $1(later, $2))
    }`,
  ],
  [
    /^ {2}reading\.hasNews = true$/m,
    `  await new Promise((resolve) => setTimeout(resolve, 100))
  await globalThis.rowsOfThePage()
  reading.hasNews = true`,
  ],
]

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (!url.endsWith('/sync/read-stream.ts')) return loaded
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
