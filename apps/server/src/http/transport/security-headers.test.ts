import helmet from '@fastify/helmet'
import { fastify } from 'fastify'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { helmetOptions, securityHeaders } from './security-headers.ts'

it('the security headers equal what helmet makes of our options', async () => {
  const [plain, secured] = [fastify(), fastify()]
  await secured.register(helmet, helmetOptions)
  for (const app of [plain, secured]) app.get('/', async (_, reply) => reply.send())
  const before = (await plain.inject('/')).headers
  const added = Object.entries((await secured.inject('/')).headers).filter(([name]) => !(name in before))
  assert.deepEqual(Object.fromEntries(added), securityHeaders)
})
