/** When an operator has set an end to v1, every v1 answer says so: Deprecation (RFC 9745) and Sunset (RFC 8594). */

/**
 * The day on which v2, which takes the place of v1, was published. Since then v1 is deprecated wherever it has an end.
 */
export const supersededAtMs = Date.UTC(2026, 10, 15)

export function sunsetHeaders(sunsetMs: number | undefined): Readonly<Record<string, string>> | undefined {
  if (sunsetMs === undefined) return undefined
  return { Deprecation: `@${supersededAtMs / 1_000}`, Sunset: new Date(sunsetMs).toUTCString() }
}
