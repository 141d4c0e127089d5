/**
 * Tar as PostgreSQL writes it: plain POSIX ustar without long names or extensions, with files and directories only. It
 * is read and written as a stream, so that the size of a backup costs no memory.
 *
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_94_13_06 (ustar interchange format)
 */

export interface TarEntry {
  path: string
  isDirectory: boolean
  sizeBytes: number
  header: Buffer
  /** Has to be read before the next entry is asked for. */
  content: AsyncIterable<Buffer>
}

const blockBytes = 512

/** Two empty blocks. */
export const tarEnd = Buffer.alloc(2 * blockBytes)

const field = {
  name: [0, 100],
  mode: [100, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  magic: [257, 8],
  prefix: [345, 155],
} as const

export function toTarHeader(path: string, sizeBytes: number, modifiedAtMs: number): Buffer {
  const header = Buffer.alloc(blockBytes)
  write(header, 'name', path)
  write(header, 'mode', '0000600\0')
  write(header, 'size', `${sizeBytes.toString(8).padStart(11, '0')}\0`)
  write(
    header,
    'mtime',
    `${Math.floor(modifiedAtMs / 1_000)
      .toString(8)
      .padStart(11, '0')}\0`,
  )
  write(header, 'type', '0')
  write(header, 'magic', 'ustar\x0000')
  return withChecksum(header)
}

/** The same entry in a directory: ustar keeps the beginning of a long path in a field of its own. */
export function inDirectory(directory: string, header: Buffer): Buffer {
  const moved = Buffer.from(header)
  if (read(moved, 'prefix') !== '') throw new Error(`a path that is too long to move: ${pathOf(header)}`)
  write(moved, 'prefix', directory)
  return withChecksum(moved)
}

/** What fills the last block of a content of this size. */
export function tarPadding(sizeBytes: number): Buffer {
  return Buffer.alloc((blockBytes - (sizeBytes % blockBytes)) % blockBytes)
}

export async function* readTar(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const bytes = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  async function* take(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0;) {
      if (rest.length === 0) {
        const next = await bytes.next()
        if (next.done === true) throw new Error('the archive ends in the middle of a file')
        rest = next.value
      }
      const chunk = rest.subarray(0, left)
      rest = rest.subarray(chunk.length)
      left -= chunk.length
      yield chunk
    }
  }

  try {
    for (;;) {
      const header = await collect(take(blockBytes))
      if (header.every((byte) => byte === 0)) {
        // Read to the very end, because the source of the bytes may still report that something is missing.
        while ((await bytes.next()).done !== true);
        return
      }
      const entry = parseHeader(header)
      const content = take(entry.sizeBytes)
      yield { ...entry, content }
      for await (const chunk of content) void chunk
      await collect(take(tarPadding(entry.sizeBytes).length))
    }
  } finally {
    await bytes.return?.()
  }
}

export async function collect(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all)
}

function parseHeader(header: Buffer): Omit<TarEntry, 'content'> {
  const path = pathOf(header)
  const type = read(header, 'type')
  if (!read(header, 'magic').startsWith('ustar') || Number.parseInt(read(header, 'checksum'), 8) !== sumOf(header)) {
    throw new Error('this is not an entry of a tar file')
  }
  if (type !== '0' && type !== '5') throw new Error(`${path} is neither a file nor a directory`)
  // The archive names places below a directory of ours, and nothing else.
  if (path === '' || path.startsWith('/') || path.split('/').includes('..')) throw new Error(`${path} leads elsewhere`)
  const isDirectory = type === '5'
  return { path, isDirectory, sizeBytes: isDirectory ? 0 : Number.parseInt(read(header, 'size'), 8), header }
}

function pathOf(header: Buffer): string {
  const prefix = read(header, 'prefix')
  return prefix === '' ? read(header, 'name') : `${prefix}/${read(header, 'name')}`
}

function read(header: Buffer, name: keyof typeof field): string {
  const [start, length] = field[name]
  return header.toString('utf8', start, start + length).replace(/\0.*$/s, '')
}

function write(header: Buffer, name: keyof typeof field, value: string): void {
  const [start, length] = field[name]
  if (Buffer.byteLength(value) > length) throw new Error(`too long for a tar header: ${value}`)
  header.write(value, start)
}

function withChecksum(header: Buffer): Buffer {
  write(header, 'checksum', `${sumOf(header).toString(8).padStart(6, '0')}\0 `)
  return header
}

/** The sum of all bytes, with the place of the sum itself taken as spaces. */
function sumOf(header: Buffer): number {
  const [start, length] = field.checksum
  const own = header.subarray(start, start + length).reduce((sum, byte) => sum + byte, 0)
  return header.reduce((sum, byte) => sum + byte, 0) - own + length * 0x20
}
