/**
 * Which processes are running. A process id alone says little: ids are reused, in a container soon. A killed process
 * keeps its id until its parent reaps it, which a container's first process may never do.
 */
import { execFile } from 'node:child_process'
import { readFile, readlink } from 'node:fs/promises'
import { promisify } from 'node:util'
import { codeOf } from '../error-code.ts'

/** When a process began, in words that differ for any two processes with one id. Undefined when it does not run. */
export async function findBirth(pid: number): Promise<string | undefined> {
  if (process.platform !== 'linux') return askPs(pid, 'lstart=')
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold spaces: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state] = fields
    if (state === 'Z' || state === 'X') return undefined
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    return `${boot.trim()} ${fields[19] ?? ''}`
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ESRCH') return undefined
    throw error
  }
}

export async function isRunning(pid: number): Promise<boolean> {
  return (await findBirth(pid)) !== undefined
}

/**
 * Whether this is the PostgreSQL of that cluster, by its working directory or, where that is unknown, by its arguments.
 */
export async function isPostmasterOf(pid: number, directory: string): Promise<boolean> {
  if (process.platform !== 'linux') return (await askPs(pid, 'command='))?.includes(directory) ?? false
  return (await readlink(`/proc/${pid}/cwd`).catch(() => undefined)) === directory
}

async function askPs(pid: number, column: string): Promise<string | undefined> {
  // ps exits with 1 when the process does not exist.
  const asked = promisify(execFile)('ps', ['-o', column, '-p', String(pid)])
  const { stdout } = await asked.catch(() => ({ stdout: '' }))
  return stdout.trim() === '' ? undefined : stdout.trim()
}
