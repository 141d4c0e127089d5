// The peer of `peer`: PostGraphile 5 with its Amber preset over the very tables, as its documentation sets it up for
// production (https://postgraphile.org/postgraphile/5/deploying). It checks no token, which favours the peer.
import { createServer } from 'node:http'
import { grafserv } from 'postgraphile/grafserv/node'
import { makePgService } from 'postgraphile/adaptors/pg'
import { postgraphile } from 'postgraphile'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'

const [, , databaseUrl] = process.argv

const instance = postgraphile({
  extends: [PostGraphileAmberPreset],
  // Our own pool has this many connections by default.
  pgServices: [makePgService({ connectionString: databaseUrl, schemas: ['public'], poolConfig: { max: 10 } })],
  grafserv: { graphiql: false, watch: false },
  grafast: { explain: false },
  // Amber offers order and condition only on columns with their own index; ours covers several columns.
  schema: { defaultBehavior: '+orderBy +filterBy +condition:attribute:filterBy' },
})

const server = createServer()
await instance.createServ(grafserv).addTo(server)
server.listen(0, '127.0.0.1', () => console.log(`ready at http://127.0.0.1:${server.address().port}`))
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => process.exit(0))
