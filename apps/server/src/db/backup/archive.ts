/**
 * The file that `assay backup` makes: a tar in gzip that any tar can open.
 *
 *   assay-backup.json     what made it, and when; first, so that a restore can refuse before it unpacks
 *   sealing.keys          the key ring, only when it was asked for
 *   postgres/…            the cluster and its log, as BASE_BACKUP sent them
 *   assay-backup.sha256   the sum of everything before it: each entry's header and content
 *
 * The sum detects damage (a disk error, a truncated copy). It is not a signature: an attacker who can write the file
 * can also write the sum.
 */
import { createHash, type Hash } from 'node:crypto'
import { z } from 'zod'
import { collect, inDirectory, readTar, tarEnd, tarPadding, toTarHeader, type TarEntry } from './tar.ts'

export const clusterFolder = 'postgres/'
export const keysName = 'sealing.keys'
const descriptionName = 'assay-backup.json'
const checksumName = 'assay-backup.sha256'

const descriptionSchema = z.object({
  format: z.literal(1),
  assay_version: z.string(),
  postgres_version: z.number(),
  began_at: z.iso.datetime(),
  /** An estimate: the cluster without the log of the backup's own time. */
  size_bytes: z.number(),
})
export type Description = z.infer<typeof descriptionSchema>

export class DamagedBackup extends Error {
  constructor(reason: string) {
    super(`The file is damaged, or is not a backup: ${reason}. Nothing was restored; use another copy.`)
    this.name = 'DamagedBackup'
  }
}

interface Contents {
  description: Description
  /** What BASE_BACKUP sent. */
  cluster: AsyncIterable<Buffer>
  keys: string | undefined
}

export async function* packArchive(contents: Contents): AsyncGenerator<Buffer> {
  const digest = createHash('sha256')
  for await (const { header, sizeBytes, content } of listEntries(contents)) {
    digest.update(header)
    yield header
    for await (const chunk of withDigest(content, digest)) yield chunk
    yield tarPadding(sizeBytes)
  }
  const { header, content, sizeBytes } = toEntry(checksumName, `${digest.digest('hex')}\n`, contents.description)
  yield header
  yield* content
  yield tarPadding(sizeBytes)
  yield tarEnd
}

async function* listEntries({
  description,
  cluster,
  keys,
}: Contents): AsyncGenerator<Omit<TarEntry, 'path' | 'isDirectory'>> {
  yield toEntry(descriptionName, `${JSON.stringify(description, null, 2)}\n`, description)
  if (keys !== undefined) yield toEntry(keysName, keys, description)
  for await (const entry of readTar(cluster)) yield { ...entry, header: inDirectory('postgres', entry.header) }
}

function toEntry(
  path: string,
  text: string,
  { began_at }: Description,
): { header: Buffer; sizeBytes: number; content: AsyncGenerator<Buffer> } {
  const bytes = Buffer.from(text)
  async function* content(): AsyncGenerator<Buffer> {
    yield bytes
  }
  return { header: toTarHeader(path, bytes.length, Date.parse(began_at)), sizeBytes: bytes.length, content: content() }
}

export interface OpenedArchive {
  description: Description
  /** Throws after the last entry when the sum is wrong, so no entry may be trusted before that. */
  entries: AsyncGenerator<TarEntry>
}

export async function openArchive(source: AsyncIterable<Buffer>): Promise<OpenedArchive> {
  const entries = readChecked(source)
  const first = await entries.next()
  if (first.done === true || first.value.path !== descriptionName)
    throw new DamagedBackup(`it has no ${descriptionName}`)
  return { description: parseDescription((await collect(first.value.content)).toString()), entries }
}

function parseDescription(text: string): Description {
  try {
    const given: unknown = JSON.parse(text)
    const { format } = z.object({ format: z.number() }).parse(given)
    if (format === 1) return descriptionSchema.parse(given)
  } catch {
    throw new DamagedBackup(`its ${descriptionName} cannot be read`)
  }
  throw new Error('This backup was made by a newer version of Assay, in another format. Restore it with that version.')
}

async function* readChecked(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const digest = createHash('sha256')
  let isWhole = false
  for await (const entry of orDamaged(readTar(source))) {
    if (isWhole) throw new DamagedBackup(`something follows its checksum: ${entry.path}`)
    if (entry.path === checksumName) {
      const expected = (await collect(orDamaged(entry.content))).toString().trim()
      if (expected !== digest.digest('hex')) throw new DamagedBackup('its checksum does not match')
      isWhole = true
      continue
    }
    digest.update(entry.header)
    const content = withDigest(orDamaged(entry.content), digest)
    yield { ...entry, content }
    for await (const chunk of content) void chunk
  }
  if (!isWhole) throw new DamagedBackup('its end is missing')
}

/** An altered byte or a missing end makes gunzip or the tar reader throw. */
async function* orDamaged<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    throw new DamagedBackup(error instanceof Error ? error.message : String(error))
  }
}

async function* withDigest(content: AsyncIterable<Buffer>, digest: Hash): AsyncGenerator<Buffer> {
  for await (const chunk of content) {
    digest.update(chunk)
    yield chunk
  }
}
