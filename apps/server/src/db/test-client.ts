/** One connection outside the pool, for inspecting statements. The caller ends it. */
import pg from 'pg'

export type TestClient = pg.Client
export const { DatabaseError, escapeLiteral } = pg

export async function connectClient(url: string): Promise<TestClient> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}
