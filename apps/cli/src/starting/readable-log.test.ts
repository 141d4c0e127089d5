import { createLog } from '@assay/server/log'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toReadableLine } from './readable-log.ts'

/** What a terminal shows of a line that the real log writes. */
function show(write: (log: ReturnType<typeof createLog>) => void, withStack = false): string {
  const lines: string[] = []
  write(createLog({ level: 'debug', destination: { write: (line) => void lines.push(line) } }))
  return lines.map((line) => toReadableLine(line, withStack)).join('')
}

describe('a line of the log on a terminal', () => {
  const error = new Error('timeout exceeded when trying to connect')

  it('is one sentence with its cause, without a stack', () => {
    assert.equal(
      show((log) => log.warn({ err: error }, 'the database does not answer; the start waits for it')),
      'Warning: the database does not answer; the start waits for it (timeout exceeded when trying to connect)\n',
    )
  })

  it('names the facts of the line, and nothing secret', () => {
    assert.equal(
      show((log) => log.error({ provider: 'kraken', probeInMs: 500, token: 'abc' }, 'provider does not answer')),
      'Error: provider does not answer (provider kraken, probeInMs 500, token [secret])\n',
    )
    assert.equal(
      show((log) => log.info('listening')),
      'Note: listening\n',
    )
  })

  it('has the stack for a person who asked for details', () => {
    const [first, second] = show((log) => log.warn({ err: error }, 'it failed'), true).split('\n')
    assert.equal(first, 'Warning: it failed (timeout exceeded when trying to connect)')
    assert.equal(second, 'Error: timeout exceeded when trying to connect')
  })

  it('has no escape sequence in its stack either, which begins with the message', () => {
    const hostile = new Error('\u001b[2J\u001b]0;title\u0007\r\u009b31m\u0008forged')
    hostile.stack = `${String(hostile)}\n    at\tread (file:///a.ts:1:2)\r\n    at write (file:///b.ts:3:4)`
    assert.deepEqual(
      show((log) => log.warn({ err: hostile }, 'it failed'), true)
        .split('\n')
        .slice(1),
      [
        'Error: \ufffd[2J\ufffd]0;title\ufffd\ufffd\ufffd31m\ufffdforged',
        '    at\tread (file:///a.ts:1:2)\ufffd',
        '    at write (file:///b.ts:3:4)',
        '',
      ],
    )
  })

  it('cannot be reversed or hidden by a value', () => {
    assert.equal(
      show((log) => log.warn({ provider: 'a\u202eb\u200bc\u0007d' }, 'it failed')),
      'Warning: it failed (provider a\ufffdb\ufffdc\ufffdd)\n',
    )
  })

  it('cannot be forged by a line break in a value', () => {
    assert.equal(
      show((log) => log.warn({ provider: 'x\nError: forged' }, 'provider does not answer'))
        .trim()
        .split('\n').length,
      1,
    )
  })
})
