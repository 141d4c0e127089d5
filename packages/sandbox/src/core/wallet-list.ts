/**
 * Which wallets were opened, kept in a file. A key tells its account by itself; an address does not, because it is a
 * hash. Without this list a new process would take the addresses of a connected wallet for unused ones, and a reader
 * would see its history vanish.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

export interface WalletList {
  /** The ids of the accounts that were opened last, the newest first. */
  list(): readonly string[]
  add(accountId: string): void
}

// Opening a wallet takes a quarter of a second. Older ones are forgotten.
const rememberedMax = 200

/** Without a file, what was opened is forgotten with the process. */
export function createWalletList(file: string | undefined): WalletList {
  if (file === undefined) return { list: () => [], add: () => undefined }
  const known = new Set(existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [])
  return {
    list: () => [...known].slice(-rememberedMax).toReversed(),
    add(accountId) {
      if (known.has(accountId)) return
      known.add(accountId)
      mkdirSync(path.dirname(file), { recursive: true })
      appendFileSync(file, `${accountId}\n`)
    },
  }
}
