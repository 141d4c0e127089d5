/**
 * How a process gets its keys: from the setting itself, from a file (`…_FILE`: a mounted secret) or from a command
 * (`…_COMMAND`: its standard output is the value, so that any key service can be asked). Read once, at start.
 *
 *   role      server keys   public halves   private halves
 *   api       required      required        refused: it must not be able to open a credential
 *   worker    required      derived         required
 *   all       required      derived         required
 *   command   required      if it seals     if it opens; it says so when it needs them
 *   files     not read: it only touches the data directory
 *
 * A sandbox that was given no keys makes its own, and all of its processes share them.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { toPublicBytes } from '../keys.ts'
import { keyRing, text, type KeyRing, type KeySettings, type Mode } from './setting-values.ts'

export type Role = 'api' | 'worker' | 'all'
export type ProcessKind = Role | 'command' | 'files'

export type Environment = Readonly<Record<string, string | undefined>>
type KeySetting = 'ASSAY_SERVER_KEYS' | 'ASSAY_SEALING_PUBLIC_KEYS' | 'ASSAY_SEALING_PRIVATE_KEYS'
type SourceName<Name extends KeySetting> = `${Name}_FILE` | `${Name}_COMMAND`

interface SourceSetting {
  description: string
  parse(value: string): string
}

/** For the table of settings: where a secret may come from besides the environment, such as a mounted file. */
export function describeFile<Name extends string>(of: Name): Record<`${Name}_FILE`, SourceSetting> {
  const file = { description: `A file that holds ${of}.`, parse: text }
  return { [`${of}_FILE`]: file } as Record<`${Name}_FILE`, SourceSetting>
}

/** The two further settings of a key setting, for the table of settings. */
export function describeSources<Name extends KeySetting>(of: Name): Record<SourceName<Name>, SourceSetting> {
  const file = { description: `A file that holds ${of}.`, parse: text }
  const description = `A command whose standard output is ${of}, run once at start by /bin/sh: for a key service.`
  return { [`${of}_FILE`]: file, [`${of}_COMMAND`]: { description, parse: text } } as Record<
    SourceName<Name>,
    SourceSetting
  >
}

/**
 * A process with the role api never reads the private keys, not even to find a mistake in them. It refuses to start, so
 * that an installation with one environment for all processes is not mistaken for one that keeps its keys apart.
 */
export function readKeys(environment: Environment, as: ProcessKind, problems: string[]): KeySettings {
  function read(of: KeySetting): KeyRing | undefined {
    const [source, ...others] = as === 'files' ? [] : listSources(environment, of)
    if (source === undefined) return undefined
    if (others.length > 0) {
      problems.push(`${[source, ...others].join(' and ')} must not be given together`)
      return undefined
    }
    try {
      return keyRing(readSource(environment, of, source))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      problems.push(`${source} ${error.message}`)
      return undefined
    }
  }
  const [refused] = as === 'api' ? listSources(environment, 'ASSAY_SEALING_PRIVATE_KEYS') : []
  if (refused !== undefined) {
    problems.push(`${refused} must not be given to the role api: only workers open credentials`)
  }
  return {
    server: read('ASSAY_SERVER_KEYS'),
    sealingPublic: read('ASSAY_SEALING_PUBLIC_KEYS'),
    sealingPrivate: as === 'api' ? undefined : read('ASSAY_SEALING_PRIVATE_KEYS'),
  }
}

/** The sources that were given for a setting. */
function listSources(environment: Environment, of: KeySetting): string[] {
  return [of, `${of}_FILE`, `${of}_COMMAND`].filter((source) => (environment[source] ?? '') !== '')
}

/**
 * Throws a RangeError whose sentence completes the source's name. It never contains what a file or a command returned.
 */
function readSource(environment: Environment, of: KeySetting, source: string): string {
  const value = environment[source] ?? ''
  if (source === `${of}_FILE`) return readFile(value)
  return source === `${of}_COMMAND` ? runCommand(value) : value
}

export function readFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new RangeError(`must be a file that can be read, got ${JSON.stringify(file)} (${codeOf(error)})`)
  }
}

/** A key service may be slow, but must not block a start forever. */
const commandTimeoutMs = 30_000
const outputBytesMax = 65_536

/** A shell runs it, so it may have arguments and pipes. The operator sees what it writes to standard error. */
function runCommand(command: string): string {
  try {
    return execFileSync('/bin/sh', ['-c', command], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: commandTimeoutMs,
      maxBuffer: outputBytesMax,
    })
  } catch (error) {
    throw new RangeError(`must be a command that prints the keys; it failed (${codeOf(error)})`)
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if ('code' in error && typeof error.code === 'string') return error.code
  return 'status' in error && typeof error.status === 'number' ? `exit status ${error.status}` : 'killed'
}

export function listKeyProblems({ mode, keys }: { mode: Mode; keys: KeySettings }, as: ProcessKind): string[] {
  const { server, sealingPublic, sealingPrivate } = keys
  const isGiven = server !== undefined || sealingPublic !== undefined || sealingPrivate !== undefined
  if (mode !== 'production' && !isGiven) return []
  const problems: string[] = []
  const make = 'make all keys: assay keys generate'
  if (server === undefined) {
    const beside = mode !== 'production' ? '' : '. Beside `npm start`, set ASSAY_MODE=sandbox instead'
    problems.push(`ASSAY_SERVER_KEYS is required; ${make}${beside}`)
  }
  if (as === 'api' && sealingPublic === undefined) {
    problems.push(`ASSAY_SEALING_PUBLIC_KEYS is required for the role api; ${make}`)
  }
  if ((as === 'worker' || as === 'all') && sealingPrivate === undefined) {
    problems.push(`ASSAY_SEALING_PRIVATE_KEYS is required for the role ${as}; ${make}`)
  }
  return [...problems, ...listMismatches(keys)]
}

/** Without this check, halves of different pairs would be noticed only when the first credential does not open. */
function listMismatches({ server, sealingPublic, sealingPrivate }: KeySettings): string[] {
  const problems: string[] = []
  for (const { name, bytes } of sealingPublic ?? []) {
    const half = sealingPrivate?.find((one) => one.name === name)
    if (sealingPrivate === undefined) break
    if (half !== undefined && toText(bytes) === toText(toPublicBytes(half.bytes))) continue
    const pair = JSON.stringify(name)
    problems.push(`ASSAY_SEALING_PUBLIC_KEYS: ASSAY_SEALING_PRIVATE_KEYS must have the other half of ${pair}`)
  }
  const halves = new Set(
    [...(sealingPublic ?? []), ...toPublic(sealingPrivate ?? [])].map(({ bytes }) => toText(bytes)),
  )
  if (toPublic(server ?? []).some(({ bytes }) => halves.has(toText(bytes)))) {
    problems.push('ASSAY_SERVER_KEYS must not have a key of ASSAY_SEALING_PRIVATE_KEYS: every process holds them')
  }
  return problems
}

const toPublic = (keys: readonly { bytes: Uint8Array }[]): { bytes: Uint8Array }[] =>
  keys.map(({ bytes }) => ({ bytes: toPublicBytes(bytes) }))

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')
