/**
 * For `node --import`: writes what a process loads and where it connects to into a file, one line each, and lets no
 * connection leave this machine. The file is in the query of the import's address, because an environment variable
 * would be one more setting of the program under test.
 */
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import net from 'node:net'

const file = new URL(import.meta.url).searchParams.get('to') ?? ''
const write = (kind: string, what: string): void => appendFileSync(file, `${kind} ${what}\n`)

registerHooks({
  load(url, context, nextLoad) {
    write('load', url)
    return nextLoad(url, context)
  },
})

type Connect = (this: net.Socket, ...args: unknown[]) => net.Socket

const prototype = net.Socket.prototype as unknown as { connect: Connect }
const { connect } = prototype
prototype.connect = function (...args) {
  const host = findHost(args)
  if (host === undefined || ['127.0.0.1', 'localhost', '::1'].includes(host)) return connect.apply(this, args)
  write('connect', host)
  const refusal = Object.assign(new Error(`${host}: not from a test`), { code: 'ECONNREFUSED' })
  process.nextTick(() => this.destroy(refusal))
  return this
}

/** Node itself calls with the arguments in an array. Undefined for a socket in the file system. */
function findHost(args: readonly unknown[]): string | undefined {
  const [first, second] = (Array.isArray(args[0]) ? args[0] : args) as unknown[]
  if (typeof first !== 'object' || first === null) return typeof second === 'string' ? second : 'localhost'
  const { host, path } = first as { host?: string; path?: string }
  return path === undefined || path === null ? (host ?? 'localhost') : undefined
}
