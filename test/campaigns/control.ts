/**
 * How fast the machine is just now: an HTTP server that does nothing, in its own process, and the time its answers
 * take. What slows these down slows everything down, and says nothing about the product.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

export interface Control {
  /** Since it was started: the duration of each answer in milliseconds, and the time of its request. */
  times(): readonly { atMs: number; ms: number }[]
  stop(): Promise<void>
}

const everyMs = 20
/** Some of the work of an answer, so that it needs a processor for a moment as ours do. */
const program = `
  import { createHash } from 'node:crypto'
  import { createServer } from 'node:http'
  const page = Buffer.alloc(20_000, 'x')
  const server = createServer((_, response) => response.end(createHash('sha256').update(page).digest('hex')))
  server.listen(0, '127.0.0.1', () => process.stdout.write(String(server.address().port)))`

export async function startControl(): Promise<Control> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const endWithUs = (): void => void child.kill('SIGKILL')
  process.once('exit', endWithUs)
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const stopping = new AbortController()
  const began = performance.now()
  const found: { atMs: number; ms: number }[] = []
  const ask = async (): Promise<void> => {
    const askedMs = performance.now()
    await new Promise<void>((resolve, reject) => {
      get(`http://127.0.0.1:${port.toString()}/`, { agent }, (response) => response.once('end', resolve).resume()).once(
        'error',
        reject,
      )
    })
    found.push({ atMs: askedMs - began, ms: performance.now() - askedMs })
  }
  const asking = (async () => {
    while (!stopping.signal.aborted) {
      await ask()
      await delay(everyMs)
    }
  })()
  return {
    times: () => found,
    async stop() {
      stopping.abort()
      await asking
      agent.destroy()
      process.removeListener('exit', endWithUs)
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
