/**
 * A spent code or refresh token came back (RFC 9700 §4.14.2): its family ends, and the audit log names whose it was.
 */
import { recordAudit } from '../../audit.ts'
import type { Database, Sql } from '../../db/index.ts'
import type { ReplayedFamily } from './family-store.ts'

export async function endReplayed(
  db: Database,
  spent: 'code' | 'refresh_token',
  revoke: (tx: Sql) => Promise<ReplayedFamily | undefined>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const family = await revoke(tx)
    if (family === undefined) return
    const { grantId, ...whose } = family
    await recordAudit(tx, {
      ...whose,
      actor: 'service',
      action: 'tokens.replayed',
      subject: grantId,
      fields: [spent],
    })
  })
}
