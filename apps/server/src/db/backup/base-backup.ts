/**
 * A running cluster as one tar stream, made by PostgreSQL itself: the replication command BASE_BACKUP, which is what
 * pg_basebackup sends. The stream has the files, read while they change, and the log that makes them consistent as of
 * the moment at which the command ends. PostgreSQL checks the sum of every page it reads.
 *
 * https://www.postgresql.org/docs/current/protocol-replication.html (BASE_BACKUP; the archive's messages since 15)
 */
import { Readable } from 'node:stream'
import pg from 'pg'

export interface BaseBackup {
  postgresVersion: number
  /** PostgreSQL's estimate of the files it will send; the log comes on top. */
  sizeBytes: number
  /** A tar file. It ends with an error when the backup does not succeed. */
  tar: Readable
  close(): Promise<void>
}

/** What node-postgres hands to a query; its types do not know these. */
interface Connection {
  stream: { pause(): void; resume(): void }
}

// Commands of the replication protocol are known in capitals only; in small letters they would be SQL.
const command = "BASE_BACKUP (LABEL 'assay', PROGRESS, CHECKPOINT 'fast', WAL, WAIT false, MANIFEST 'no')"

const messageKinds = { archive: 0x6e, data: 0x64 }

export async function startBaseBackup(address: { host: string; user: string; password: string }): Promise<BaseBackup> {
  const client = new pg.Client({ ...address, ...replication, port: 5432, ssl: false, application_name: 'assay backup' })
  // The stream below ends with the same error.
  client.on('error', () => undefined)
  await client.connect()
  try {
    const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num')
    const postgresVersion = Math.floor(Number(rows[0]?.server_version_num) / 10_000)
    // Keeps the log of the meantime until this session ends; otherwise a checkpoint would recycle what the backup
    // needs.
    await client.query(`CREATE_REPLICATION_SLOT assay_backup_${process.pid} TEMPORARY PHYSICAL RESERVE_WAL`)
    const query = new BaseBackupQuery()
    client.query(query)
    return { postgresVersion, sizeBytes: await query.sizeBytes, tar: query.tar, close: () => client.end() }
  } catch (error) {
    await client.end()
    throw error
  }
}

/** A startup parameter that the types of node-postgres lack; with it the session takes replication commands. */
const replication = { replication: 'true' } as object

class BaseBackupQuery extends pg.Query {
  readonly sizeBytes: Promise<number>
  readonly tar: Readable
  #connection: Connection | undefined
  #archives = 0

  constructor() {
    super(command)
    this.tar = new Readable({ read: () => this.#connection?.stream.resume() })
    this.sizeBytes = new Promise((resolve, reject) => {
      // Before the archive come two rows: where the log stands, and the one tablespace there is, with its size in KiB.
      this.on('row', (row: { size?: string | null }) => {
        if (row.size !== undefined) resolve(Number(row.size) * 1_024)
      })
      this.on('error', (error: Error) => {
        reject(error)
        this.tar.destroy(error)
      })
    })
    this.on('end', () => this.tar.push(null))
  }

  handleCopyData({ chunk }: { chunk: Buffer }, connection: Connection): void {
    this.#connection = connection
    const [kind] = chunk
    if (kind === messageKinds.archive) {
      this.#archives += 1
      if (this.#archives > 1)
        this.tar.destroy(new Error('The database has tablespaces of its own; they are not backed up.'))
    }
    // Copied: the parser writes the next message into the same memory.
    if (kind === messageKinds.data && !this.tar.push(Buffer.from(chunk.subarray(1)))) connection.stream.pause()
  }
}
