/**
 * The token that a CDP key signs for every request.
 * Sources: https://docs.cdp.coinbase.com/coinbase-app/authentication-authorization/api-key-authentication,
 * https://docs.cdp.coinbase.com/get-started/authentication/jwt-authentication; RFC 7515, 7518 §3.4, 7519, 8037.
 *
 * `uri` is "{method} {host}{path}" without the query. Newer SDKs send it as a list named `uris`, with `iss` "cdp";
 * older ones have `iss` "coinbase-cloud" and a plain `uri`. Both are accepted, as Coinbase does.
 */
import { verify, type KeyObject } from 'node:crypto'
import { z } from 'zod'
import type { Algorithm } from './keys.ts'

const lifetimeMaxS = 120
/** A client's clock may be this far ahead. */
const leewayS = 10

const shape = /^(?<header>[\w-]+)\.(?<claims>[\w-]+)\.(?<signature>[\w-]+)$/
const headerSchema = z.object({ alg: z.string(), kid: z.string() })
const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string(),
  nbf: z.number(),
  exp: z.number(),
  uri: z.string().optional(),
  uris: z.array(z.string()).optional(),
})

/** The request that the token must have been made for. */
export interface Bound {
  /** The forms that the token may use: one for each name of the host. */
  uris: readonly string[]
  nowMs: number
}

/** The key's name, before anything was checked. Undefined when this is not a JWT. */
export function readKeyName(token: string): string | undefined {
  const { header = '' } = shape.exec(token)?.groups ?? {}
  return headerSchema.safeParse(parseJson(header)).data?.kid
}

/** Returns why the token is refused, or undefined. Only the journal shows it: every refusal says "Unauthorized". */
export function findJwtFault(
  token: string,
  key: { algorithm: Algorithm; publicKey: KeyObject },
  bound: Bound,
): string | undefined {
  const { header = '', claims: body = '', signature = '' } = shape.exec(token)?.groups ?? {}
  const head = headerSchema.safeParse(parseJson(header)).data
  const claims = claimsSchema.safeParse(parseJson(body)).data
  if (head === undefined || claims === undefined) return 'jwt: malformed'
  if (head.alg !== key.algorithm) return 'jwt: alg'
  const data = Buffer.from(`${header}.${body}`)
  if (!isSigned(data, Buffer.from(signature, 'base64url'), key)) return 'jwt: signature'
  if (claims.sub !== head.kid) return 'jwt: sub'
  if (claims.iss !== 'cdp' && claims.iss !== 'coinbase-cloud') return 'jwt: iss'
  const nowS = bound.nowMs / 1_000
  if (claims.nbf > nowS + leewayS) return 'jwt: nbf'
  if (claims.exp <= nowS || claims.exp - claims.nbf > lifetimeMaxS) return 'jwt: exp'
  const told = [...(claims.uris ?? []), ...(claims.uri === undefined ? [] : [claims.uri])]
  return told.some((uri) => bound.uris.includes(uri)) ? undefined : 'jwt: uri'
}

function isSigned(data: Buffer, signature: Buffer, key: { algorithm: Algorithm; publicKey: KeyObject }): boolean {
  if (key.algorithm === 'EdDSA') return verify(null, data, key.publicKey, signature)
  return verify('sha256', data, { key: key.publicKey, dsaEncoding: 'ieee-p1363' }, signature)
}

function parseJson(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString())
  } catch {
    return undefined
  }
}
