/** Limits that no test reaches, for tests of other things. */
import { createLimits } from './index.ts'

const high = 1_000_000

export const noLimits = createLimits(
  { perToken: high, perClient: high, oauthFailures: high, perAddress: high, slowAfter: high },
  () => performance.now(),
)
