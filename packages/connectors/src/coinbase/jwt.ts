/**
 * The token for one request with a CDP key: a JWT that is bound to method, host and path and valid for two minutes
 * (docs.cdp.coinbase.com, coinbase-app/authentication-authorization/api-key-authentication). There are two kinds of
 * keys: ECDSA on P-256, issued as a PEM block, and Ed25519, issued as 64 bytes in base64 (seed and public key).
 */
import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { SourceError } from '@assay/core'
import { cleanPasted } from '@assay/core/credentials'
import type { ApiKeyCredentials, Io } from '../kit/connector.ts'

const lifeSeconds = 120

export interface RequestToSign {
  method: string
  /** Without a query, because Coinbase compares only the path. */
  path: string
  host: string
}

export type Signer = (request: RequestToSign, io: Pick<Io, 'now' | 'nextNonce'>) => string

/** Rejects a credential that cannot be a CDP key before anything is sent. */
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
    // RFC 7518 §3.4 concatenates the two numbers instead of using the DER form of other protocols.
    const signature = isElliptic ? sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }) : sign(null, bytes, key)
    return `${text}.${signature.toString('base64url')}`
  }
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

/** The DER prefix of the 32 bytes of an Ed25519 key (RFC 8410 §7). */
const ed25519Head = Buffer.from('302e020100300506032b657004220420', 'hex')

/** OpenSSL's messages may quote the key, so we do not pass them on. */
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
