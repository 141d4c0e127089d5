// An empty Fastify server, for `start`: the cost that every service on Fastify has.
import { fastify } from 'fastify'

const app = fastify()
app.get('/', () => ({}))
await app.listen({ host: '127.0.0.1', port: Number(process.argv[2]) })
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)))
