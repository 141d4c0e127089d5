/**
 * The token that signs one request of a CDP key: a JWT bound to method, host and path, good for two minutes
 * (docs.cdp.coinbase.com, coinbase-app/authentication-authorization/api-key-authentication). Keys are of two kinds: ECDSA
 * on P-256, given out as a PEM block, and Ed25519, given out as 64 bytes in base64 (seed and public half).
 */
import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { SourceError } from '@assay/core'
import { cleanPasted } from '@assay/core/credentials'
import type { ApiKeyCredentials, Io } from '../kit/connector.ts'

const lifeSeconds = 120

export interface RequestToSign {
  method: string
  /** Without a query: Coinbase compares the path alone. */
  path: string
  host: string
}

export type Signer = (request: RequestToSign, io: Pick<Io, 'now' | 'nextNonce'>) => string

/** A credential that cannot be a CDP key is refused here, before anything of it is sent. */
export function createSigner({ apiKey, secretKey }: ApiKeyCredentials): Signer {
  if (!/^[A-Za-z0-9/_-]{36,200}$/.test(apiKey)) {
    throw new SourceError('invalid_credentials', 'API key: not the name of a CDP key')
  }
  const key = readPrivateKey(cleanPasted(secretKey))
  const isElliptic = key.asymmetricKeyType === 'ec'
  return ({ method, host, path }, io) => {
    const nowSeconds = Math.floor(io.now() / 1_000)
    const header = { alg: isElliptic ? 'ES256' : 'EdDSA', typ: 'JWT', kid: apiKey, nonce: io.nextNonce() }
    const claims = {
      iss: 'cdp',
      sub: apiKey,
      nbf: nowSeconds,
      exp: nowSeconds + lifeSeconds,
      uri: `${method} ${host}${path}`,
    }
    const text = `${encode(header)}.${encode(claims)}`
    const bytes = Buffer.from(text)
    // RFC 7518 §3.4: the two numbers side by side, not in the DER form that other protocols use.
    const signature = isElliptic ? sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }) : sign(null, bytes, key)
    return `${text}.${signature.toString('base64url')}`
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** RFC 8410 §7: what stands in front of the 32 bytes of an Ed25519 key. */
const ed25519Head = Buffer.from('302e020100300506032b657004220420', 'hex')

/** OpenSSL's own messages may quote the key, so none is passed on. */
function readPrivateKey(secret: string): KeyObject {
  const key = secret.startsWith('-----BEGIN') ? findPemKey(secret) : findEd25519Key(secret)
  if (key === undefined) throw new SourceError('invalid_credentials', 'private key: neither a P-256 PEM nor Ed25519')
  return key
}

function findPemKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem)
    const isP256 = key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
    return isP256 || key.asymmetricKeyType === 'ed25519' ? key : undefined
  } catch {
    return undefined
  }
}

function findEd25519Key(base64: string): KeyObject | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return undefined
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length !== 32 && bytes.length !== 64) return undefined
  const der = Buffer.concat([ed25519Head, bytes.subarray(0, 32)])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
}
