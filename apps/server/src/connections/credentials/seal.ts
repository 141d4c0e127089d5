/** Seals a connection's credentials as JSON, and opens them for that connection alone (sealing.ts). */
import type { Keyring } from '../../keys.ts'
import { openText, sealText } from '../../sealing.ts'

export interface Sealer {
  seal(connectionId: string, kept: object): Promise<string>
  /** Returns the parsed JSON, which credential-types.ts checks. Rejects in a process without private keys. */
  open(connectionId: string, sealed: string): Promise<unknown>
  /** Opens a text that was sealed by itself and not as the credentials of a connection. */
  openText(boundTo: string, sealed: string): Promise<string>
}

export function createSealer(keyring: Pick<Keyring, 'seals' | 'opens'>): Sealer {
  return {
    seal: (connectionId, kept) => sealText(keyring, connectionId, JSON.stringify(kept)),
    open: async (connectionId, sealed) => JSON.parse(await openText(keyring, connectionId, sealed)) as unknown,
    openText: (boundTo, sealed) => openText(keyring, boundTo, sealed),
  }
}
