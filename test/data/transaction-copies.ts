/** A user with a very long history, made of copies of one short row that the service wrote. */
import type { Database } from '../../apps/server/src/db/index.ts'

export interface Copies {
  /** Whose row is copied, and the connection that the copies belong to. */
  userId: string
  connectionId: string
  /** Part of the group key, and of the ids. */
  prefix: string
}

/** Seven share each millisecond, so that most pages end in the middle of one. */
const insertCopies = `
  insert into transactions (user_key, id, occurred_at, change_seq, updated_at, connection_key, tenant_key, type, category,
    pending, staked_legs, provider_id, group_key, document)
  select c.user_key, md5($3 || n::text)::uuid, timestamptz '2020-01-01' + (n / 7) * interval '1 ms', t.change_seq,
    t.updated_at, c.connection_key, t.tenant_key, t.type, t.category, t.pending, t.staked_legs, t.provider_id,
    $3 || n::text, t.document
  from connections c,
    (select * from transactions where user_key = (select user_key from users where id = $1) order by length(document) limit 1) t,
    generate_series($4::int, $5::int, $6::int) n
  where c.id = $2`

export async function addCopies(
  db: Database,
  { userId, connectionId, prefix }: Copies,
  [from, to, step]: readonly [from: number, to: number, step: number],
): Promise<void> {
  await db.execute(insertCopies, [userId, connectionId, prefix, from, to, step])
}

const rowsPerStatement = 10_000

/** Numbered from 1. */
export async function fillCopies(db: Database, copies: Copies, rows: number): Promise<void> {
  for (let from = 1; from <= rows; from += rowsPerStatement) {
    await addCopies(db, copies, [from, Math.min(rows, from + rowsPerStatement - 1), 1])
  }
  await db.execute('analyze transactions')
}
