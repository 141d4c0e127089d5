/** When an operator has set an end to v1, every v1 answer says so: Deprecation (RFC 9745) and Sunset (RFC 8594). */
import type { FastifyInstance } from 'fastify'

/** The day v2 was published, which takes v1's place. Since then v1 is deprecated wherever it has an end at all. */
export const supersededAtMs = Date.UTC(2026, 10, 15)

export function announceSunset(app: FastifyInstance, sunsetMs: number | undefined): void {
  if (sunsetMs === undefined) return
  const deprecation = `@${supersededAtMs / 1_000}`
  const sunset = new Date(sunsetMs).toUTCString()
  app.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.config.endpoint?.family !== 'platform_v1') return
    void reply.header('Deprecation', deprecation).header('Sunset', sunset)
  })
}
