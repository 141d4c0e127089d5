/**
 * The log: JSON lines by pino. A line break or a terminal escape in a value stays inside its JSON string, so a caller
 * cannot write a line of their own.
 *
 * Secrets are kept out by name, at any depth, and by shape: what looks like a credential in a header or a URL is cut
 * even under an innocent name. pino's own `redact` takes paths of a fixed depth, and costs more the more of them.
 */
import { pino, type Bindings, type ChildLoggerOptions, type DestinationStream, type Logger } from 'pino'
import { openLogOutput } from './log-output.ts'

export type Log = Logger

const secretName =
  /secret|token|password|passphrase|credential|^(authorization|proxy-authorization|cookie|set-cookie|code|signature|jwt|pem)$|^(api|private|signing|sealing)_?key$|^code_?(verifier|challenge)$|^extended_?public_?key$/i

const hidden = '[secret]'
const depthMax = 8

export function createLog(options: { level: string; destination?: DestinationStream }): Log {
  const log: Log = pino(
    {
      level: options.level,
      base: {},
      timestamp: pino.stdTimeFunctions.isoTime,
      messageKey: 'message',
      formatters: {
        level: (label) => ({ level: label }),
        log: (line) => (line instanceof AccessLine ? line : (clean(line, 0) as Record<string, unknown>)),
      },
      // Fastify and others log whole requests and replies under these names; the URL and headers are not for logs.
      serializers: { req: () => undefined, res: () => undefined, err: (error: unknown) => error },
      hooks: {
        logMethod(values, method) {
          const clean = values[0] instanceof AccessLine ? values : withCleanMessage(values)
          method.apply(this, clean as Parameters<typeof method>)
        },
      },
    },
    options.destination ?? openOutput(),
  )
  // pino formats the bindings of the first logger only; children inherit this method, so theirs are cleaned as well.
  const { child } = log as unknown as { child: MakeChild }
  return Object.assign(log, {
    child: function (this: Log, bindings, options) {
      return child.call(this, clean(bindings, 0) as Bindings, options)
    } satisfies MakeChild,
  })
}

/**
 * The line that every request leaves. Its values are ours (a route's pattern, never a URL), so it is written without
 * cleaning: searching it took a fortieth of a page's processor time.
 */
export class AccessLine {
  readonly request_id: string
  readonly method: string
  readonly route: string
  readonly status: number
  readonly ms: number

  constructor(line: { requestId: string; method: string; route: string; status: number; ms: number }) {
    this.request_id = line.requestId
    this.method = line.method
    this.route = line.route
    this.status = line.status
    this.ms = line.ms
  }
}

let output: DestinationStream | undefined

/**
 * Standard output. All logs of a process share it: it has a timer, and a process of the tests makes hundreds of logs.
 *
 * Node makes a pipe non-blocking when `process.stdout` is first used. Otherwise a write to one that nobody reads would
 * hold a thread, Node would wait for that thread when it ends, and only SIGKILL would end the process.
 */
function openOutput(): DestinationStream {
  void process.stdout
  output ??= openLogOutput(1)
  return output
}

type MakeChild = (this: Log, bindings: Bindings, options?: ChildLoggerOptions) => Log

/** The message is text like any other. Where there is none, pino would take the error's, uncleaned. */
function withCleanMessage(values: readonly unknown[]): unknown[] {
  const [first, ...rest] = values.map((value) => (typeof value === 'string' ? cleanText(value) : value))
  const error: unknown =
    first instanceof Error || typeof first !== 'object' || first === null ? first : Reflect.get(first, 'err')
  return rest.length === 0 && error instanceof Error ? [first, cleanText(error.message)] : [first, ...rest]
}

function clean(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth > depthMax) return '[deep]'
  if (value instanceof Error) return describeError(value, depth)
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1))
  if (ArrayBuffer.isView(value)) return '[bytes]'
  if (value instanceof Date || value instanceof URL) return cleanText(value.toJSON())
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isSecret(name, member) ? hidden : clean(member, depth + 1)]),
  )
}

function isSecret(name: string, value: unknown): boolean {
  // An error's `code` is a plain word such as ECONNREFUSED and says too much to lose; it is written by describeError.
  return value !== undefined && value !== null && secretName.test(name)
}

/** Only the members that we know: libraries attach requests, answers and parameter values to their errors. */
function describeError(error: Error, depth: number): object {
  const code = 'code' in error && typeof error.code === 'string' ? { error_code: error.code } : {}
  const cause = error.cause === undefined ? {} : { cause: clean(error.cause, depth + 1) }
  return { type: error.name, message: cleanText(error.message), ...code, stack: cleanText(error.stack ?? ''), ...cause }
}

/** More than a stack trace has. A provider chooses the text of some messages. */
const textLengthMax = 8_000

function cleanText(text: string): string {
  if (text.length > textLengthMax) return `${cleanText(cutText(text))}… [${text.length} characters]`
  // Matches neither a credential with its scheme nor a URL, which is true of most texts in most lines.
  if (!text.includes(' ') && !text.includes('://')) return text
  return (
    text
      .replaceAll(/\b(Bearer|Basic|Digest) +[\w.~+/=-]+/gi, '$1 [secret]')
      .replaceAll(/\bhttps?:\/\/[^\s"']*/gi, cutQuery)
      // A scheme is tried only where its word begins. Tried at each letter, a word of 80,000 took a hundred seconds.
      .replaceAll(/((?<![a-z0-9+.-])[a-z0-9+.-]+:\/\/)[^\s/@"']+@/gi, '$1[secret]@')
  )
}

function cutQuery(url: string): string {
  const end = url.search(/[?#]/)
  return end === -1 ? url : `${url.slice(0, end)}?[cut]`
}

/** Between two words: half a URL would not look like one with a password. */
function cutText(text: string): string {
  const space = text.lastIndexOf(' ', textLengthMax)
  return text.slice(0, space > 0 ? space : textLengthMax).toWellFormed()
}
