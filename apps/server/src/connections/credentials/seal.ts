/** What is kept of a connection's credentials, sealed as JSON for that connection alone (see sealing.ts). */
import type { Keyring } from '../../keys.ts'
import { openText, sealText } from '../../sealing.ts'

export interface Sealer {
  seal(connectionId: string, kept: object): Promise<string>
  /** Parsed JSON; credential-types.ts says what it has to be. Rejects in a process without private keys. */
  open(connectionId: string, sealed: string): Promise<unknown>
  /** A text that was sealed on its own, for something else than a connection. */
  openText(boundTo: string, sealed: string): Promise<string>
}

export function createSealer(keyring: Pick<Keyring, 'seals' | 'opens'>): Sealer {
  return {
    seal: (connectionId, kept) => sealText(keyring, connectionId, JSON.stringify(kept)),
    open: async (connectionId, sealed) => JSON.parse(await openText(keyring, connectionId, sealed)) as unknown,
    openText: (boundTo, sealed) => openText(keyring, boundTo, sealed),
  }
}
