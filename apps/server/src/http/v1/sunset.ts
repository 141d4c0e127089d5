/**
 * When an operator has set an end to v1, every v1 answer says so: Deprecation (RFC 9745) and Sunset (RFC 8594). By path
 * and not by route, because a 404 or 405 below it is an answer of v1, too.
 */
import type { FastifyInstance } from 'fastify'
import { pathOf } from '../cors.ts'

/** The day v2 was published, which takes v1's place. Since then v1 is deprecated wherever it has an end at all. */
export const supersededAtMs = Date.UTC(2026, 10, 15)

export function announceSunset(app: FastifyInstance, sunsetMs: number | undefined): void {
  if (sunsetMs === undefined) return
  const deprecation = `@${supersededAtMs / 1_000}`
  const sunset = new Date(sunsetMs).toUTCString()
  app.addHook('onRequest', async (request, reply) => {
    if (!pathOf(request).startsWith('/platform/v1/')) return
    void reply.header('Deprecation', deprecation).header('Sunset', sunset)
  })
}
