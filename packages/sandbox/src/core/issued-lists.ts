/** The keys that were issued and the wallets that were opened, kept in files so that a new process knows them. */
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

/**
 * A key itself says which account it was first made for, but not that it is a further key of an existing account.
 * Without this list a new process would assign such a key to another account.
 */
export interface KeyList {
  /** The keys that were issued last, oldest first. */
  list(): readonly KeyRecord[]
  add(record: KeyRecord): void
}

// This is far more than a tester connects. Older keys still work, but their accounts cannot get a further key.
const keysMax = 2_000

/** Without a file, the list ends with the process. */
export function createKeyList(file: string | undefined): KeyList {
  const lines = file !== undefined && existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  const known = new Map(lines.slice(-keysMax).map((line) => [line, recordSchema.parse(JSON.parse(line))]))
  return {
    list: () => [...known.values()],
    add(record) {
      const line = JSON.stringify(record)
      if (known.has(line)) return
      known.set(line, record)
      const [oldest] = known.keys()
      if (known.size > keysMax && oldest !== undefined) known.delete(oldest)
      if (file === undefined) return
      mkdirSync(path.dirname(file), { recursive: true })
      appendFileSync(file, `${line}\n`)
    },
  }
}

/**
 * A key identifies its account; an address does not, because it is a hash. Without this list a new process would treat
 * the addresses of a connected wallet as unused, and a reader would see its history vanish.
 */
export interface WalletList {
  /** The ids of the accounts that were opened last, newest first. */
  list(): readonly string[]
  add(accountId: string): void
}

// Opening a wallet takes a quarter of a second. Older ones are forgotten.
const walletsMax = 200

/** Without a file, the list ends with the process. */
export function createWalletList(file: string | undefined): WalletList {
  if (file === undefined) return { list: () => [], add: () => undefined }
  const known = new Set(existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [])
  return {
    list: () => [...known].slice(-walletsMax).toReversed(),
    add(accountId) {
      if (known.has(accountId)) return
      known.add(accountId)
      mkdirSync(path.dirname(file), { recursive: true })
      appendFileSync(file, `${accountId}\n`)
    },
  }
}
