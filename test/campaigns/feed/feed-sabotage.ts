/**
 * Off-by-one mistakes, one in each place where the feed counts. The campaign has to find all of them; otherwise it
 * proves nothing.
 *
 * The product has no switch for this: its source is rewritten while it is loaded, and a source that no longer has the
 * lines this knows is an error.
 */
import { registerHooks } from 'node:module'

interface Sabotage {
  file: string
  rewrites: [original: string, replacement: string][]
}

export const sabotages = {
  /**
   * A commit takes the number of the commit before it once more. The time in the numbers hides that nearly always, so
   * it goes too: what remains is a plain counter.
   */
  counter: {
    file: '/ledger/changes-store.ts',
    rewrites: [
      ['$3::bigint << 20', '$3::bigint * 0'],
      ['returning change_seq - $2::bigint + 1 as first', 'returning change_seq - $2::bigint as first'],
    ],
  },
  /** A page continues one number too far after the last item of the previous page. */
  page: {
    file: '/portfolio/changes-store.ts',
    rewrites: [['t.change_seq > greatest(s.shown_seq, ${seq})', 't.change_seq > greatest(s.shown_seq, ${seq} + 1)']],
  },
  /** The tenant's feed announces all changes of a user but the last. */
  tenant: {
    file: '/enterprise/feed/feed-numbers-store.ts',
    rewrites: [
      [
        'select user_key, user_id, false, coalesce(numbered_seq, 0), change_seq from looked',
        'select user_key, user_id, false, coalesce(numbered_seq, 0), change_seq - 1 from looked',
      ],
    ],
  },
} satisfies Record<string, Sabotage>

export type SabotageName = keyof typeof sabotages

export function isSabotage(name: string): name is SabotageName {
  return Object.hasOwn(sabotages, name)
}

/** To be called before the service is imported. Returns whether the rewritten source was loaded. */
export function sabotage(name: SabotageName): () => boolean {
  const { file, rewrites }: Sabotage = sabotages[name]
  let isLoaded = false
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.endsWith(file)) return loaded
      const { source: original } = loaded
      if (original === null || original === undefined) throw new Error(`sabotage: ${url} has no source`)
      let source = typeof original === 'string' ? original : Buffer.from(original as Uint8Array).toString()
      for (const [line, replacement] of rewrites) {
        if (!source.includes(line)) throw new Error(`sabotage: ${url} has no line like ${line}`)
        source = source.replaceAll(line, replacement)
      }
      isLoaded = true
      return { ...loaded, source }
    },
  })
  return () => isLoaded
}
