/** `assay backup` and `assay restore`: the embedded database in one file, and back. */
import { backUp, restore as restoreBackup } from '@assay/server/admin'
import { parseConfig, readEnvironment, type Config } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { keysFileName, writeKeysFile, writeRing } from '@assay/server/keys'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readBuild } from '../build.ts'
import { listenForStop, showProgress, UsageError, writeJson, writeLine } from '../console.ts'
import { usage } from '../usage.ts'

export async function backup(words: string[]): Promise<void> {
  const options = { 'with-key': { type: 'boolean', default: false }, ...sharedOptions } as const
  const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true })
  const file = onlyOne(positionals, usage.backup)
  const config = findEmbedded(values.data)
  const { dataDirectory } = config.database
  const keys = values['with-key'] ? readKeys(config) : undefined
  const progress = showProgress('Backing up')
  const { fileBytes } = await backUp({
    dataDirectory,
    file,
    keys,
    version: readBuild().version,
    now: Date.now,
    signal: listenForStop().signal,
    onProgress: progress.show,
    log: createLog({ level: 'warn' }),
  }).finally(progress.end)
  if (values.json) return writeJson({ file, bytes: fileBytes, with_key: keys !== undefined })
  writeLine(`Backed up ${dataDirectory} to ${file} (${toMebibytes(fileBytes)} MiB).`)
  writeLine(
    keys === undefined
      ? `Its credentials open only with the sealing keys, which are not in it: they are in ${findKeys(config)}. Keep a copy elsewhere.`
      : 'WARNING: it holds the sealing keys as well. This file is enough to open every credential of every user.',
  )
}

export async function restore(words: string[]): Promise<void> {
  const options = { replace: { type: 'boolean', default: false }, ...sharedOptions } as const
  const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true })
  const file = onlyOne(positionals, usage.restore)
  const config = findEmbedded(values.data)
  const { dataDirectory } = config.database
  const progress = showProgress('Restoring')
  const { description, keysFile } = await restoreBackup({
    dataDirectory,
    file,
    replace: values.replace,
    signal: listenForStop().signal,
    onProgress: progress.show,
    log: createLog({ level: 'warn' }),
  }).finally(progress.end)
  if (values.json) return writeJson({ data_directory: dataDirectory, ...description, keys_file: keysFile ?? null })
  writeLine(`Restored ${dataDirectory} as it was on ${description.began_at} (Assay ${description.assay_version}).`)
  writeLine(
    keysFile === undefined
      ? `Its credentials open only with the sealing keys of that time. Put them back into ${findKeys(config)} before the first start.`
      : `The sealing keys are in ${keysFile}. In sandbox mode they are used from there; otherwise move its lines to the settings of that name.`,
  )
  writeLine(
    'Whatever was revoked or removed since then is back: see docs/guides/operate.md, "Backups". Then run: assay doctor',
  )
}

const sharedOptions = { data: { type: 'string' }, json: { type: 'boolean', default: false } } as const

function onlyOne(positionals: readonly string[], wanted: string): string {
  const [file, ...more] = positionals
  if (file === undefined || more.length > 0) throw new UsageError(wanted)
  return path.resolve(file)
}

/** This needs only a directory, no keys and no address. */
function findEmbedded(data: string | undefined): Config {
  const override = data === undefined ? {} : { ASSAY_DATA_DIRECTORY: data }
  const config = parseConfig({ ...readEnvironment(), ...override }, 'files')
  if (config.database.url === undefined) return config
  throw new UsageError(
    'DATABASE_URL is set: that PostgreSQL is backed up with its own tools, such as\n' +
      '  pg_dump --format=custom --file=assay.dump "$DATABASE_URL"     and back: pg_restore --dbname="$DATABASE_URL" assay.dump\n' +
      'or base backups with WAL archiving (pg_basebackup, pgBackRest). Keep the sealing keys apart from them.',
  )
}

/** Where the keys are, or belong: in the data directory of a sandbox or of live mode, or with the operator. */
function findKeys({ database, mode }: Config): string {
  const file = path.join(database.dataDirectory, keysFileName)
  const isOwn = existsSync(file) || (mode !== 'production' && !areKeysGiven())
  return isOwn ? file : 'ASSAY_SERVER_KEYS and ASSAY_SEALING_PRIVATE_KEYS'
}

function areKeysGiven(): boolean {
  return Object.keys(readEnvironment()).some((name) => /^ASSAY_(SERVER|SEALING_PRIVATE)_KEYS/.test(name))
}

function readKeys({ database }: Config): string {
  const isGiven = areKeysGiven()
  const file = path.join(database.dataDirectory, keysFileName)
  if (!isGiven && existsSync(file)) return readFileSync(file, 'utf8')
  const { server, sealingPrivate } = isGiven ? parseConfig(readEnvironment(), 'command').keys : {}
  if (server === undefined || sealingPrivate === undefined) {
    throw new UsageError(
      '--with-key needs the keys: set ASSAY_SERVER_KEYS and ASSAY_SEALING_PRIVATE_KEYS as the workers have them.',
    )
  }
  return writeKeysFile({
    ASSAY_SERVER_KEYS: writeRing(server),
    ASSAY_SEALING_PRIVATE_KEYS: writeRing(sealingPrivate),
  })
}

function toMebibytes(bytes: number): number {
  return Math.round((bytes / 1_048_576) * 10) / 10
}
