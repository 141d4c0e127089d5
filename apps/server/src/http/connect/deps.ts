/** What the connect routes need. */
import type { Connect } from '../../connect/index.ts'
import type { Places } from '../../limits/index.ts'
import type { SandboxMailbox } from '../../mail/index.ts'
import type { SandboxControl, TestAccountDeps } from '../../sandbox/index.ts'
import type { Admit } from '../request/admission.ts'
import type { Turns } from '../request/turns.ts'
import type { Streams } from './events.ts'

export interface ConnectRoutesDeps {
  connect: Connect
  admit: Admit
  /** How many requests of one address are worked on at once. */
  turns: Turns
  places: Places
  streams: Streams
  /** In sandbox mode only: test keys, and the mailed codes. */
  sandbox:
    | (TestAccountDeps & {
        control: SandboxControl
        mailbox: SandboxMailbox
      })
    | undefined
}
