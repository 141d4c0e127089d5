// The bare prototype of `pages` and `enterprise`: Fastify and node-postgres, with one prepared statement that checks
// the token, reads the page and returns it as one text. Its `data` is the API's, byte for byte. It leaves out
// everything that is not the page: families of tokens, disabled clients, provisional and removed connections, issues,
// limits, signed cursors, filters, schemas, the access log, metrics and security headers. A tenant's pages respect live
// grants.
import { hash } from 'node:crypto'
import { fastify } from 'fastify'
import pg from 'pg'

const [, , databaseUrl] = process.argv
// Our own pool has this many connections by default.
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 })

const updatedAt = `to_char(t.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const item = (user) => `'{"id":"txn_' || encode(uuid_send(t.id), 'hex')${user} || '","provider_id":"' || t.provider_id
  || '","connection_id":"' || c.id || '","updated_at":"' || ${updatedAt} || '",' || t.document`

const kinds = {
  user: {
    // $1 is the user's key, $2 the hash of the token.
    caller: `select from access_tokens where user_key = $1::bigint and token_hash = $2::bytea and expires_at > now()
      and 'transactions:read' = any(scopes)`,
    rows: 't.user_key = $1::bigint',
    item: item(''),
  },
  tenant: {
    // $1 is the hash of the token, $2 the scope.
    caller: `select tenant_key from client_tokens where token_hash = $1::bytea and expires_at > now()
      and $2::text = any(scopes)`,
    rows: `t.tenant_key = (select tenant_key from caller) and exists (
      select from grants g where g.user_key = t.user_key and g.revoked_at is null and g.expires_at > now()
        and 'transactions:read' = any(g.scopes) offset 0)`,
    item: item(`|| '","user_id":"' || c.user_id`),
  },
}

// A statement for each limit, with and without a point: a parameter that may be null hides the range from the planner,
// and a limit that is a parameter makes PostgreSQL plan every request again.
const statements = new Map()
function statementOf(kind, limit, hasPoint) {
  const name = `${kind} ${limit} ${hasPoint}`
  const known = statements.get(name)
  if (known !== undefined) return known
  const { caller, rows, item } = kinds[kind]
  const text = `with caller as materialized (${caller})
    select exists (select from caller) as allowed, string_agg(p.item, E',\\n') as items, count(*)::integer as count,
      (array_agg(p.occurred_at))[${limit}] as last_at, (array_agg(p.id))[${limit}] as last_id
    from (
      select t.occurred_at, t.id, ${item} as item
      from transactions t join connections c on c.user_key = t.user_key and c.connection_key = t.connection_key
      where exists (select from caller) and ${rows}
        ${hasPoint ? 'and (t.occurred_at, t.id) < ($3::timestamptz, $4::uuid)' : ''}
      order by t.occurred_at desc, t.id desc limit ${limit + 1}) p`
  const made = { name, text }
  statements.set(name, made)
  return made
}

async function serve(request, reply, kind, caller) {
  const limit = Number(request.query.limit)
  const place = request.query.after?.split('_') ?? []
  const { rows } = await pool.query({ ...statementOf(kind, limit, place.length > 0), values: [...caller, ...place] })
  const [{ allowed, items, count, last_at: lastAt, last_id: lastId }] = rows
  if (!allowed) return reply.code(401).send()
  const isLast = count <= limit
  const data = isLast ? (items ?? '') : items.slice(0, items.lastIndexOf(',\n'))
  const next = isLast ? '' : `/${kind}/transactions?limit=${limit}&after=${lastAt.toISOString()}_${lastId}`
  return reply.type('application/json').send(`{"page":{"next":"${next}"},"data":[${data}],"errors":[]}`)
}

const tokenOf = (request) => request.headers.authorization?.slice('Bearer '.length) ?? ''
const sha256 = (text) => hash('sha256', text, 'buffer')

const app = fastify()
app.get('/user/transactions', (request, reply) => {
  const token = tokenOf(request)
  const userKey = Buffer.from(token, 'base64url').readBigInt64BE().toString()
  return serve(request, reply, 'user', [userKey, sha256(token)])
})
app.get('/tenant/transactions', (request, reply) =>
  serve(request, reply, 'tenant', [sha256(tokenOf(request)), 'enterprise:read']),
)
console.log(`ready at ${await app.listen({ host: '127.0.0.1', port: 0 })}`)
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0))
