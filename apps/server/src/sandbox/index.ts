/** The server's side of sandbox mode: the simulated providers, and the simulated account behind a connection. */
export { createKeyOf, findAccountBySignIn, revokeKeysOf, type TestAccountDeps } from './accounts.ts'
export { createSandboxControl, type SandboxControl, type TestFields } from './control.ts'
