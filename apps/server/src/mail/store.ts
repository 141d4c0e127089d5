/** All SQL over sandbox_mailbox. */
import type { Sql } from '../db/index.ts'

export interface SandboxMail {
  to: string
  subject: string
  text: string
  sent_at: string
}

const columns = 'recipient as "to", subject, text, sent_at'

export async function insertMail(
  sql: Sql,
  mail: { sessionId: string; to: string; subject: string; text: string },
): Promise<void> {
  await sql.execute(
    `insert into sandbox_mailbox (session_id, recipient, subject, text, sent_at) values ($1, $2, $3, $4, $5::timestamptz)`,
    [mail.sessionId, mail.to, mail.subject, mail.text, sql.now()],
  )
}

export async function listMails(sql: Sql, limit: number): Promise<SandboxMail[]> {
  return sql.rows<SandboxMail>(`select ${columns} from sandbox_mailbox order by id desc limit $1`, [limit])
}

export async function findLatestMail(sql: Sql, sessionId: string): Promise<SandboxMail | undefined> {
  return sql.maybeRow<SandboxMail>(
    `select ${columns} from sandbox_mailbox where session_id = $1 order by id desc limit 1`,
    [sessionId],
  )
}
