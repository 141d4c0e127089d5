/** Parsers of settings. Each throws a RangeError whose message completes the sentence "NAME …". */
import { listHostUrls } from './database-url.ts'
import { isIP } from 'node:net'

/** What an installation is for. `live` is for one person who tries the service with accounts of their own. */
export type Mode = 'production' | 'sandbox' | 'live'

export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`}:\n  ${problems.join('\n  ')}`,
    )
    this.name = 'ConfigError'
    this.problems = problems
  }
}

export const text = (value: string): string => value

export interface NamedKey {
  name: string
  bytes: Uint8Array
}

/** Newest first. */
export type KeyRing = readonly [NamedKey, ...NamedKey[]]

/** Key material as the settings have it. key-settings.ts decides what each process needs. */
export interface KeySettings {
  server: KeyRing | undefined
  sealingPublic: KeyRing | undefined
  sealingPrivate: KeyRing | undefined
}

const keyBytes = 32

/**
 * `name:base64`, comma-separated. Values are never quoted: these messages end up on a terminal and in a log. Node decodes
 * base64 up to the first character that is not part of it, so a ring with one key on each line would be its first key.
 */
export function keyRing(value: string): KeyRing {
  const keys = value
    .trim()
    .split(',')
    .map((part): NamedKey => {
      const [, name, encoded] = /^([A-Za-z0-9_-]{1,40}):([A-Za-z0-9+/_-]{43}=?)$/.exec(part.trim()) ?? []
      if (name === undefined || encoded === undefined) {
        throw new RangeError(`must be name:base64 of ${keyBytes} bytes, comma-separated`)
      }
      return { name, bytes: new Uint8Array(Buffer.from(encoded, 'base64')) }
    })
  const [first, ...others] = keys
  if (first === undefined || new Set(keys.map((key) => key.name)).size !== keys.length) {
    throw new RangeError('must name each key differently')
  }
  return [first, ...others]
}

/** `provider:client_id:client_secret`, comma-separated. Never quoted: it has secrets in it. */
export function providerClients(value: string): Record<string, { clientId: string; clientSecret: string }> {
  const entries = value.split(',').map((part) => {
    const [, provider, clientId, clientSecret] = /^([a-z0-9_-]+):([^\s:]+):(\S+)$/.exec(part.trim()) ?? []
    if (provider === undefined || clientId === undefined || clientSecret === undefined) {
      throw new RangeError('must be provider:client_id:client_secret, comma-separated')
    }
    return [provider, { clientId, clientSecret }] as const
  })
  const clients = Object.fromEntries(entries)
  if (Object.keys(clients).length !== entries.length) throw new RangeError('must name each provider once')
  return clients
}

/** JSON by the name of the chain. Never quoted: an index may have a key in its query. */
export function chainUrls(value: string): Record<string, { rpc?: string; index?: string }> {
  const rule = 'must be JSON such as {"evm:1":{"rpc":"https://…","index":"https://…"}}'
  const given = findJsonObject(value)
  if (given === undefined) throw new RangeError(rule)
  for (const [chain, urls] of Object.entries<unknown>({ ...given })) {
    const members = typeof urls === 'object' && urls !== null ? Object.entries<unknown>({ ...urls }) : []
    const isRight = members.every(
      ([name, url]) => /^(?:rpc|index)$/.test(name) && /^https?:\/\//.test(String(url)) && URL.canParse(String(url)),
    )
    if (!/^[a-z0-9:-]{1,40}$/.test(chain) || members.length === 0 || !isRight) throw new RangeError(rule)
  }
  return given as Record<string, { rpc?: string; index?: string }>
}

function findJsonObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function oneOf<const T extends string>(...values: T[]): (text: string) => T {
  return (value) => {
    const found = values.find((candidate) => candidate === value)
    if (found === undefined) throw new RangeError(`must be ${values.join(' or ')}, got ${JSON.stringify(value)}`)
    return found
  }
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (value) => {
    const number = /^\d{1,12}$/.test(value) ? Number(value) : Number.NaN
    if (Number.isNaN(number) || number < min || number > max) {
      throw new RangeError(`must be a whole number from ${min} to ${max}, got ${JSON.stringify(value)}`)
    }
    return number
  }
}

export function url(value: string): string {
  if (!URL.canParse(value)) throw new RangeError(`must be a URL, got ${JSON.stringify(value)}`)
  const { hash, search, protocol } = new URL(value)
  if (protocol !== 'https:' && protocol !== 'http:') throw new RangeError(`must begin with https:// or http://`)
  if (hash !== '' || search !== '') throw new RangeError(`must have neither a query nor a fragment`)
  return value.replace(/\/+$/, '')
}

export function name(value: string): string {
  if (!/^[a-z0-9-]{1,40}$/i.test(value)) {
    throw new RangeError(`must be 1 to 40 letters, digits and hyphens, got ${JSON.stringify(value)}`)
  }
  return value
}

/** Refuses ranges that contain every address, because any caller could then claim any address. */
export function networks(value: string): readonly string[] {
  return value.split(',').map((part) => {
    const given = part.trim()
    const [address = '', bits] = given.split('/', 2)
    const version = isIP(address)
    const isSized = bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
    if (version !== 0 && isSized) return given
    const rule = 'must be addresses or networks such as 10.0.0.0/8, comma-separated'
    throw new RangeError(`${rule}, got ${JSON.stringify(given)}`)
  })
}

export function day(value: string): number {
  const ms = /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(value) : Number.NaN
  // JavaScript reads some days that do not exist, such as 30 February, as days of the next month.
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== value) {
    throw new RangeError(`must be a day such as 2027-06-30, got ${JSON.stringify(value)}`)
  }
  return ms
}

export function postgresUrl(value: string): string {
  if (!/^postgres(ql)?:\/\//.test(value)) throw new RangeError('must begin with postgres:// or postgresql://')
  const urls = listHostUrls(value) ?? [value]
  const [place = '', ...queries] = value.replace(/^[a-z]+:\/\/[^/?]*/, '').split('?')
  // What follows # would be left out, and the first digits of a password could pass for a port: the @ that ends it is in
  // the path or the query then. node-postgres allows no host before a slash, for sockets.
  if (
    value.includes('#') ||
    place.includes('@') ||
    /^[^=]*@/.test(queries.join('?')) ||
    !urls.every((one) => URL.canParse(one) || URL.canParse(one.replace('@/', '@host/')))
  ) {
    throw new RangeError(
      'must be an address such as postgres://user:password@db/assay, with %23 for #, %2F for /, %3F for ? and %40 for @',
    )
  }
  try {
    for (const [bytes] of value.matchAll(/(?:%[\da-f]{2})+/gi)) decodeURIComponent(bytes)
  } catch {
    throw new RangeError('must have the bytes of UTF-8 behind each %, such as %C3%A9 for é')
  }
  return value
}

export function smtpUrl(value: string): string {
  // The value is never quoted, because it may hold a password.
  if (!/^smtps?:\/\//.test(value) || !URL.canParse(value)) throw new RangeError('must begin with smtp:// or smtps://')
  // Options in the query would reach the mail library, and could switch TLS off.
  if (new URL(value).search !== '') throw new RangeError('must not have options (the part after a question mark)')
  return value
}
