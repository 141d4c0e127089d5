/** The log of a process of its own, whose standard output takes everything or nothing. */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'

/** Logs lines of 1,000 characters and ends. On standard error it says how many megabytes it keeps. */
const program = `
  const { createLog } = await import('${new URL('log.ts', import.meta.url).href}')
  const log = createLog({ level: 'info' })
  for (let line = 1; line <= Number(process.argv[1]); line += 1) {
    log.info({ line, text: 'x'.repeat(1_000) }, 'said')
    if (line % 1_000 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  gc()
  process.stderr.write(String(Math.ceil(process.memoryUsage().heapUsed / 1e6)))`

function startLogging(t: TestContext, lines: number, stdout: number | 'pipe'): ChildProcess {
  const words = ['--expose-gc', '--input-type=module', '--eval', program, String(lines)]
  const child = spawn(process.execPath, words, { stdio: ['ignore', stdout, 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  return child
}

/** What it wrote on standard error, and its exit code: null when it had to be killed. */
async function endOf(child: ChildProcess, withinMs = 60_000): Promise<{ code: number | null; said: string }> {
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const deadline = setTimeout(() => child.kill('SIGKILL'), withinMs)
  const [code] = (await once(child, 'close')) as [number | null]
  clearTimeout(deadline)
  return { code, said }
}

describe('the log of a process', () => {
  it('neither stops it nor takes its memory when the disk is full', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('no /dev/full')
    const full = openSync('/dev/full', 'w')
    t.after(() => closeSync(full))
    const { code, said } = await endOf(startLogging(t, 100_000, full))
    assert.equal(code, 0, said)
    assert.ok(Number(said) < 50, `${said} MB`)
  })

  it('lets it end when nobody reads the pipe', async (t) => {
    const { code } = await endOf(startLogging(t, 5_000, 'pipe'), 10_000)
    assert.equal(code, 0)
  })

  it('is complete and in order, with the last lines before its end', async (t) => {
    const child = startLogging(t, 5_000, 'pipe')
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()))
    assert.equal((await endOf(child)).code, 0)
    const lines = text.split('\n').slice(0, -1)
    const numbers = lines.map((line) => (JSON.parse(line) as { line: number }).line)
    assert.deepEqual(
      numbers,
      Array.from({ length: 5_000 }, (_, index) => index + 1),
    )
  })
})
