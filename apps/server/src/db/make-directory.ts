import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { errorCodeOf } from './error-code.ts'

/**
 * Makes a directory and those around it, and returns the first that it made. Node's own `recursive` asks again and again
 * where a directory exists and refuses every name with ENOENT, as /proc does, and never ends.
 */
export async function makeDirectory(directory: string, mode: number): Promise<string | undefined> {
  try {
    return await makeWithParents(path.resolve(directory), mode)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`The directory ${directory} cannot be made (${reason}). Choose another.`, { cause: error })
  }
}

async function makeWithParents(directory: string, mode: number): Promise<string | undefined> {
  const parent = path.dirname(directory)
  const made = existsSync(parent) ? undefined : await makeWithParents(parent, mode)
  try {
    await mkdir(directory, { mode })
    return made ?? directory
  } catch (error) {
    const isThere = errorCodeOf(error) === 'EEXIST' && (await stat(directory)).isDirectory()
    if (!isThere) throw error
    return made
  }
}
