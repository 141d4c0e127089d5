/**
 * The simulated account behind a connection: what its owner would do at the provider's website. The service keeps a
 * fingerprint of each API key and the sandbox a list of the keys that it gave out; the two are compared here. A sign-in
 * has no such fingerprint, but its tokens name their account to the simulator that made them.
 */
import { notFound } from '@assay/core'
import type { SandboxControl, TestFields, TestKey } from './control.ts'

export interface TestAccountDeps {
  control: Pick<SandboxControl, 'findAccount' | 'findSignedIn' | 'addKey' | 'revokeKeys'>
  /** The method of `connections` with this name. */
  findKey(connectionId: string): Promise<{ providerId: string; isKey(key: TestKey): boolean } | undefined>
  /** The method of `connections` with this name. */
  openSignIn(connectionId: string): Promise<{ providerId: string; token: string } | undefined>
  /** Chooses a name that no key has had before. */
  newAccount(): string
}

/** Makes a new key of the account that the connection reads, like a person who repairs it. */
export async function createKeyOf(deps: TestAccountDeps, connectionId: string): Promise<TestFields> {
  const accountId = await findAccountByKey(deps, connectionId)
  if (accountId === undefined) throw notFound('connection_of_sandbox')
  return deps.control.addKey(accountId, deps.newAccount())
}

/** Ends all keys and sign-ins of the account that the connection reads, like a person does at the provider. */
export async function revokeKeysOf(deps: TestAccountDeps, connectionId: string): Promise<void> {
  const accountId = (await findAccountByKey(deps, connectionId)) ?? (await findAccountBySignIn(deps, connectionId))
  if (accountId === undefined) throw notFound('connection_of_sandbox')
  await deps.control.revokeKeys(accountId)
}

/** Undefined when the connection was not made by signing in. */
export async function findAccountBySignIn(
  { control, openSignIn }: Pick<TestAccountDeps, 'control' | 'openSignIn'>,
  connectionId: string,
): Promise<string | undefined> {
  const signIn = await openSignIn(connectionId)
  return signIn && control.findSignedIn(signIn.providerId, signIn.token)
}

async function findAccountByKey(
  { control, findKey }: TestAccountDeps,
  connectionId: string,
): Promise<string | undefined> {
  const key = await findKey(connectionId)
  if (key === undefined) return undefined
  const accountId = await control.findAccount(key.providerId, key.isKey)
  if (accountId !== undefined) return accountId
  throw notFound('connection_of_sandbox')
}
