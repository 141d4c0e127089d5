/**
 * `node tools/check-licences.ts`: every package of the lockfile has a licence that lets every user use, change and
 * distribute the service. What is shipped must be permissive. Tools that are only used while developing may also have a
 * licence whose duties end at their own files.
 *
 * Licences are SPDX expressions (SPDX 2.3, Annex D) from the lockfile, or from the package itself where the lockfile
 * has none. A package without one fails, because a missing licence grants nothing.
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'

const permissive = new Set([
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'PostgreSQL',
  'Python-2.0',
  'Unlicense',
])
/** Duties that end at the package's own files, or that concern data. */
const whileDeveloping = new Set(['CC-BY-3.0', 'CC-BY-4.0', 'MPL-2.0'])

export interface LockedPackage {
  license?: string
  dev?: boolean
  devOptional?: boolean
  link?: boolean
}

/** Whether some choice that the expression offers consists of allowed licences alone. AND binds tighter than OR. */
export function isAllowed(expression: string, isDev: boolean): boolean {
  const plain = expression.replaceAll(/[()]/g, ' ').trim()
  if (plain === '') return false
  return plain.split(/\s+OR\s+/).some((choice) =>
    choice.split(/\s+AND\s+/).every((one) => {
      const id = one.trim().split(/\s+WITH\s+/, 1)[0] ?? ''
      return permissive.has(id) || (isDev && whileDeveloping.has(id))
    }),
  )
}

/** Lists the problems in words. `readLicence` is called for a package that has no licence in the lockfile. */
export async function findForbidden(
  packages: Readonly<Record<string, LockedPackage>>,
  readLicence: (folder: string) => Promise<string | undefined>,
): Promise<string[]> {
  const problems: string[] = []
  for (const [folder, { license, dev, devOptional, link }] of Object.entries(packages)) {
    // Our own workspaces, and the links to them.
    if (!folder.includes('node_modules/') || link === true) continue
    const found = license ?? (await readLicence(folder))
    const isDev = dev === true || devOptional === true
    if (found === undefined) problems.push(`${folder} names no licence`)
    else if (!isAllowed(found, isDev)) problems.push(`${folder} is ${found}, which is not on the list`)
  }
  return problems
}

export interface Manifest {
  license?: unknown
  /** The form used before 2014: the user chooses one of them. npm does not copy it into the lockfile. */
  licenses?: unknown
}

export function toExpression({ license, licenses }: Manifest): string | undefined {
  if (typeof license === 'string' && license !== '') return license
  const named = (Array.isArray(licenses) ? licenses : []) as { type?: unknown }[]
  const types = named.flatMap(({ type }) => (typeof type === 'string' && type !== '' ? [type] : []))
  return types.length === 0 ? undefined : types.join(' OR ')
}

async function readInstalled(folder: string): Promise<string | undefined> {
  try {
    const manifest = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8')) as Manifest
    return toExpression(manifest)
  } catch {
    // A package for another platform, which is not installed here.
    return undefined
  }
}

if (import.meta.main) {
  const lock = JSON.parse(await readFile('package-lock.json', 'utf8')) as { packages: Record<string, LockedPackage> }
  const problems = await findForbidden(lock.packages, readInstalled)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
