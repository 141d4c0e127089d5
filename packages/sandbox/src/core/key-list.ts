/**
 * Which keys were given out, kept in a file. A key tells by itself which account it was first made for, but not that it
 * was made later for an account that had one already. Without this list a new process would take such a key for one of
 * another account.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'

const recordSchema = z.object({
  provider_id: z.string(),
  scenario: z.string(),
  /** The text that the key is named by. */
  name: z.string(),
  /** The id of the account whose further key it is. */
  further_key_of: z.string().optional(),
})
export type KeyRecord = z.infer<typeof recordSchema>

export interface KeyList {
  /** The keys that were given out last, the oldest first. */
  list(): readonly KeyRecord[]
  add(record: KeyRecord): void
}

// Far more than a tester connects. Older ones still work, and cannot be asked for a further key any more.
const rememberedMax = 2_000

/** Without a file, what was given out is forgotten with the process. */
export function createKeyList(file: string | undefined): KeyList {
  const lines = file !== undefined && existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  const known = new Map(lines.slice(-rememberedMax).map((line) => [line, recordSchema.parse(JSON.parse(line))]))
  return {
    list: () => [...known.values()],
    add(record) {
      const line = JSON.stringify(record)
      if (known.has(line)) return
      known.set(line, record)
      const [oldest] = known.keys()
      if (known.size > rememberedMax && oldest !== undefined) known.delete(oldest)
      if (file === undefined) return
      mkdirSync(path.dirname(file), { recursive: true })
      appendFileSync(file, `${line}\n`)
    },
  }
}
