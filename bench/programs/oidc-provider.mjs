// The peer of `token`: node-oidc-provider with its models in PostgreSQL, by prepared statements. Beside its own routes,
// POST /prepare?count=n issues codes as its authorization endpoint does after consent, so that no browser is needed.
import { createServer } from 'node:http'
import pg from 'pg'
import Provider from 'oidc-provider'

const [, , databaseUrl, clientId, clientSecret, redirectUri, codeChallenge] = process.argv

// Our own pool has this many connections by default.
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 })
await pool.query(`create table if not exists oidc_models (
  kind text not null, id text not null, payload jsonb not null, grant_id text, uid text, user_code text,
  expires_at timestamptz, consumed_at timestamptz, primary key (kind, id))`)
await pool.query('create index if not exists oidc_models_grant on oidc_models (grant_id) where grant_id is not null')
await pool.query('create index if not exists oidc_models_uid on oidc_models (uid) where uid is not null')

const prepared = (name, text, values) => pool.query({ name, text, values })
const found = ({ rows: [row] }) =>
  row && {
    ...row.payload,
    ...(row.consumed_at === null ? undefined : { consumed: Math.floor(row.consumed_at / 1000) }),
  }
const columns = 'select payload, consumed_at from oidc_models where kind = $1'
const alive = 'and (expires_at is null or expires_at > now())'

class PostgresAdapter {
  constructor(kind) {
    this.kind = kind
  }
  async upsert(id, payload, expiresIn) {
    const { grantId = null, uid = null, userCode = null } = payload
    await prepared(
      'upsert',
      `insert into oidc_models (kind, id, payload, grant_id, uid, user_code, expires_at)
       values ($1, $2, $3, $4, $5, $6, now() + make_interval(secs => $7))
       on conflict (kind, id) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
      [this.kind, id, payload, grantId, uid, userCode, expiresIn ?? null],
    )
  }
  async find(id) {
    return found(await prepared('find', `${columns} and id = $2 ${alive}`, [this.kind, id]))
  }
  async findByUid(uid) {
    return found(await prepared('find_uid', `${columns} and uid = $2 ${alive}`, [this.kind, uid]))
  }
  async findByUserCode(userCode) {
    return found(await prepared('find_user_code', `${columns} and user_code = $2 ${alive}`, [this.kind, userCode]))
  }
  async consume(id) {
    // The answer says whether this call was the one that spent it.
    const { rowCount } = await prepared(
      'consume',
      'update oidc_models set consumed_at = now() where kind = $1 and id = $2 and consumed_at is null',
      [this.kind, id],
    )
    return rowCount === 1
  }
  async destroy(id) {
    await prepared('destroy', 'delete from oidc_models where kind = $1 and id = $2', [this.kind, id])
  }
  async revokeByGrantId(grantId) {
    await prepared('revoke', 'delete from oidc_models where grant_id = $1', [grantId])
  }
}

const scope = 'transactions:read offline_access'
const provider = new Provider('http://127.0.0.1', {
  adapter: PostgresAdapter,
  clients: [
    {
      client_id: clientId,
      client_secret: clientSecret,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_post',
    },
  ],
  scopes: scope.split(' '),
  features: { devInteractions: { enabled: false } },
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  issueRefreshToken: () => true,
  // Ours rotates too: every refresh gives a new pair and spends the old one.
  rotateRefreshToken: true,
  ttl: { AccessToken: 900, AuthorizationCode: 600, Grant: 31_536_000, RefreshToken: 31_536_000 },
})
provider.on('server_error', (_, error) => console.error(error))

async function issueCode(number) {
  const client = await provider.Client.find(clientId)
  const accountId = `user ${number}`
  const grant = new provider.Grant({ accountId, clientId })
  grant.addOIDCScope(scope)
  const grantId = await grant.save()
  const about = { accountId, client, grantId, gty: 'authorization_code', scope, redirectUri }
  return new provider.AuthorizationCode({ ...about, codeChallenge, codeChallengeMethod: 'S256' }).save()
}

const handle = provider.callback()
const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://127.0.0.1')
  if (pathname !== '/prepare') return handle(request, response)
  const codes = []
  for (let number = Number(searchParams.get('count')); number > 0; number -= 1) codes.push(await issueCode(number))
  response.end(JSON.stringify(codes))
})
server.listen(0, '127.0.0.1', () => console.log(`ready at http://127.0.0.1:${server.address().port}`))
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0))
