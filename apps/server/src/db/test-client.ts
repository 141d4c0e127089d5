/** One connection without the pool's ways: for statements that are looked at, and not used. To be ended by the caller. */
import pg from 'pg'

export type TestClient = pg.Client
export const { DatabaseError, escapeLiteral } = pg

export async function connectClient(url: string): Promise<TestClient> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
