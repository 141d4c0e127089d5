/**
 * Node runs what it finds in its compile cache without checking the source. So the cache lies inside this installation,
 * where a user who can write could change the program itself, and never in the folder for temporary files, where any
 * user of the machine could create that folder first.
 *
 * Plain JavaScript, because it runs before there is a cache: one TypeScript file here loads Node's parser of TypeScript
 * into every command, which is a tenth of its processor time.
 */
import { lstatSync, mkdirSync } from 'node:fs'
import process from 'node:process'

/**
 * Makes the directory if it can. Undefined when it is not a directory that this user alone may write to.
 *
 * @param {string} directory
 * @returns {string | undefined}
 */
export function findOwnDirectory(directory) {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const found = lstatSync(directory)
    const isOwn = found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
    return isOwn ? directory : undefined
  } catch {
    // This user may not write to the installation. The program works without a cache, too.
    return undefined
  }
}
