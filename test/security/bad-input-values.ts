/** Values that often break programs, and a repeatable source of randomness. */

/** Returns whole numbers below `below`, the same ones for the same seed (mulberry32). */
export type Chance = (below: number) => number

export function createChance(seed: number): Chance {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

export function pick<T>(chance: Chance, from: readonly T[]): T {
  const one = from[chance(from.length)]
  if (one === undefined) throw new Error('nothing to pick from')
  return one
}

/** As they stand in a URL: already encoded, or broken. */
export const encodedTexts = [
  '',
  '%00',
  'a%00b',
  '%ff%fe',
  '%ed%a0%80',
  '%zz',
  '%',
  '%c3%28',
  '%F0%9F%92%A9',
  '..%2f..%2fetc%2fpasswd',
  '__proto__',
  'constructor',
  'toString',
  '%27%20or%201%3D1--',
  '%3Cscript%3E',
  '%0d%0aX-Injected:%20yes',
  '%25%30%30',
  '-1',
  '0',
  '00',
  '1e400',
  'NaN',
  '99999999999999999999999999',
  '1.5',
  '0x10',
  '+30',
  'true',
  'null',
  '[]',
  '2026-13-45T99:99:99Z',
  '0000-00-00T00:00:00Z',
  '9999-12-31T23:59:59.999999999-23:59',
  '253402300800000',
  'a,,b',
  ',',
  'a'.repeat(9_000),
  Array.from({ length: 101 }, (_, index) => `x${index}`).join(','),
] as const

/** As JSON text; not all of them are JSON. */
export const jsonValues = [
  'null',
  'true',
  '0',
  '-0',
  '1e999',
  '-1e-999',
  '123456789012345678901234567890',
  '0.1e-400',
  '""',
  '" "',
  '"\\u0000"',
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\u202e\u0000"',
  '"\ufeff"',
  '[]',
  '{}',
  '[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]',
  '"__proto__"',
  '"constructor"',
  '"toString"',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{}}}',
  '{"toString":1,"then":1,"toJSON":1}',
  '["a",1,null,{}]',
  `"${'x'.repeat(5_000)}"`,
  `[${Array.from({ length: 500 }, () => '1').join(',')}]`,
  "'single'",
  'undefined',
  'NaN',
  '01',
  '"open',
  '{',
] as const

/** Whole bodies, as bytes. */
export const bodies: readonly Buffer[] = [
  Buffer.alloc(0),
  Buffer.from('\u0000'),
  Buffer.from([0xff, 0xfe, 0x7b, 0x7d]),
  Buffer.from([0x22, 0xc3, 0x28, 0x22]),
  Buffer.from('\ufeff{}'),
  Buffer.from('{}{}'),
  Buffer.from('{"a":1,"a":2}'),
  Buffer.from('['.repeat(30_000)),
  Buffer.from('{"a":'.repeat(10_000)),
  Buffer.from(`{"a":"${'x'.repeat(70_000)}"}`),
  Buffer.from(`{${Array.from({ length: 5_000 }, (_, index) => `"k${index}":1`).join(',')}}`),
  Buffer.from('a=1&a=2&%ff=%00&=&&&'),
  Buffer.from('grant_type=authorization_code&grant_type=refresh_token'),
  Buffer.from('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'),
  Buffer.from('1f8b08000000000000ff', 'hex'),
]

export const headerLines = [
  'Authorization: Bearer',
  'Authorization: Bearer  two  words',
  'Authorization: Basic !!!!',
  'Authorization: Basic Og==',
  'Authorization: Basic JWZmOiUwMA==',
  'Authorization: Negotiate abc',
  `Authorization: Bearer ${'x'.repeat(8_000)}`,
  'Authorization: Bearer \u00e9\u00ff',
  'Content-Type: application/json; charset=utf-16',
  'Content-Type: text/plain',
  'Content-Type: application/json;;;',
  'Content-Type: multipart/form-data',
  'Content-Type: \u00ff',
  'Content-Type: application/x-www-form-urlencoded; charset=latin1',
  'Content-Encoding: gzip',
  'Content-Encoding: br, br, br',
  'Accept: image/png',
  'Accept-Encoding: gzip;q=banana, *;q=0, identity;q=0',
  'Accept-Version: 99',
  'If-None-Match: "',
  'If-None-Match: *',
  'If-Modified-Since: yesterday',
  'Range: bytes=999-1',
  'Expect: 100-continue',
  'Expect: the-unexpected',
  'Origin: null',
  'Origin: https://evil.example',
  'Access-Control-Request-Method: DELETE',
  'X-Forwarded-For: 127.0.0.1, ::1, garbage',
  'X-HTTP-Method-Override: DELETE',
  'Cookie: a=b; __proto__=x',
  'Upgrade: websocket',
  'Upgrade: h2c',
  'Transfer-Encoding: gzip',
  'Content-Length: -1',
  'Content-Length: 1e3',
  'Content-Length: 99999999999999999999',
  'Host: evil.example',
  'Host:',
  'Host: 127.0.0.1:99999',
  'Bad Header: x',
  ': empty',
  'X-Null: a\u0000b',
  `X-Long: ${'x'.repeat(20_000)}`,
  ' folded: x',
] as const

export const methods = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'QUERY',
  'get',
  'G\u00c9T',
  '',
] as const
