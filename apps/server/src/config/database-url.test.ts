import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listHostUrls } from './database-url.ts'

describe('the hosts of a database address', () => {
  const split: [string, string[] | undefined][] = [
    ['postgres://db/assay', undefined],
    ['postgres://u:p%2Cq@db:5432/assay?sslmode=require', undefined],
    ['postgres://u:p,q@db/assay', undefined],
    [
      'postgres://u:p,q@a:5432,b:5433/assay?sslmode=require&target_session_attrs=read-write',
      ['postgres://u:p,q@a:5432/assay?sslmode=require', 'postgres://u:p,q@b:5433/assay?sslmode=require'],
    ],
    ['postgresql://a,b', ['postgresql://a', 'postgresql://b']],
    ['postgres://db/assay?target_session_attrs=primary', ['postgres://db/assay']],
    ['postgres://u@[::1]:5432,10.0.0.2/assay', ['postgres://u@[::1]:5432/assay', 'postgres://u@10.0.0.2/assay']],
    ['postgres://u@%2Frun%2Fa,%2Frun%2Fb/assay', ['postgres://u@%2Frun%2Fa/assay', 'postgres://u@%2Frun%2Fb/assay']],
  ]
  for (const [url, expected] of split) {
    it(url, () => assert.deepEqual(listHostUrls(url), expected))
  }

  const refused: [string, RegExp][] = [
    ['postgres://a,/assay', /^must name a host on each side of a comma/],
    ['postgres://a,,b/assay', /^must name a host on each side of a comma/],
    ['postgres://u@,b/assay', /^must name a host on each side of a comma/],
    ['postgres://a:5432,:5433/assay', /^must name a host on each side of a comma/],
    ['postgres://a:x,b/assay', /^must name each host with a port from 1 to 65535/],
    ['postgres://a:65536,b/assay', /^must name each host with a port from 1 to 65535/],
    ['postgres://a:5432,postgres://b:5432/assay', /^must name the scheme once/],
    ['postgres://a:5432,mysql://b:5432/assay', /^must name the scheme once/],
    ['postgres://u:hunter2@a,u:hunter2@b/assay', /^must name the user once/],
    ['postgres://a,b/assay?host=c', /^must name several hosts before the path/],
    ['postgres:///assay?host=a,b', /^must name several hosts before the path/],
    ['postgres://a,b/assay?target_session_attrs=any', /read-write or primary, got "any"$/],
    ['postgres://a/assay?target_session_attrs=standby', /read-write or primary, got "standby"$/],
    [
      `postgres://${Array.from({ length: 17 }, (_, index) => `h${index}`).join(',')}/assay`,
      /^must name at most 16 hosts$/,
    ],
  ]
  for (const [url, message] of refused) {
    it(`${url.slice(0, 60)} is refused`, () =>
      assert.throws(
        () => listHostUrls(url),
        (error: unknown) =>
          error instanceof RangeError && message.test(error.message) && !error.message.includes('hunter2'),
      ))
  }
})
