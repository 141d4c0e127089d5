/**
 * The simulated account behind a connection: what its owner would do at the provider's website. The service keeps a
 * fingerprint of each API key and the sandbox a list of the keys that it gave out; the two are compared here.
 */
import { Refusal } from '@assay/core'
import type { SandboxControl, TestFields } from './index.ts'

export interface TestAccountDeps {
  control: Pick<SandboxControl, 'findAccount' | 'addKey' | 'revokeKeys'>
  /** As in the front door of `connections`. */
  findKey(connectionId: string): Promise<{ providerId: string; isKey(apiKey: string): boolean } | undefined>
  /** Names a key that was never named before. */
  newAccount(): string
}

/** A new key of the account that the connection reads, as a person makes one to repair it. */
export async function createKeyOf(deps: TestAccountDeps, connectionId: string): Promise<TestFields> {
  return deps.control.addKey(await getAccount(deps, connectionId), deps.newAccount())
}

/** All keys of the account that the connection reads, as a person deletes them at the provider. */
export async function revokeKeysOf(deps: TestAccountDeps, connectionId: string): Promise<void> {
  await deps.control.revokeKeys(await getAccount(deps, connectionId))
}

async function getAccount({ control, findKey }: TestAccountDeps, connectionId: string): Promise<string> {
  const key = await findKey(connectionId)
  if (key === undefined) throw new Refusal('not_found', 'There is no connection of that id that has an API key.')
  const accountId = await control.findAccount(key.providerId, key.isKey)
  if (accountId !== undefined) return accountId
  throw new Refusal('not_found', 'The sandbox did not give out the key of this connection.')
}
