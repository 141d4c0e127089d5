/**
 * Where the figures come from. A ratio can be compared between machines; a figure means nothing without its machine.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import os from 'node:os'

export function describeMachine(): string {
  const cpus = os.cpus()
  const memory = `${Math.round(os.totalmem() / 2 ** 30)} GiB`
  const model = cpus[0]?.model.trim() ?? 'unknown processor'
  return `${cpus.length} × ${model}, ${memory}, ${systemName()}, Node ${process.versions.node}, commit ${findCommit()}`
}

/** If the load exceeds the number of processors before we begin, the figures will be unreliable. */
export function describeLoad(): string {
  return `load before the run ${os.loadavg().map(oneDecimal).join(' ')} on ${os.cpus().length} processors`
}

/**
 * How much processor time the host gave to other machines while we measured; empty if the system does not report it.
 * Above a few percent, the slower side of a comparison may just have lost more of it.
 */
export function watchSteal(): () => string {
  const before = readTimes()
  return () => {
    const after = readTimes()
    if (before === undefined || after === undefined) return ''
    const share = (after.stolen - before.stolen) / Math.max(1, after.all - before.all)
    return `, the host took ${Math.round(share * 100)} % of the processors away`
  }
}

/** The first line of /proc/stat; the eighth figure is the stolen time (proc(5)). */
function readTimes(): { all: number; stolen: number } | undefined {
  try {
    const [, ...fields] = readFileSync('/proc/stat', 'utf8').split('\n', 1).join('').split(/ +/)
    const times = fields.map(Number)
    return { all: times.reduce((sum, time) => sum + time, 0), stolen: times[7] ?? 0 }
  } catch {
    return undefined
  }
}

function oneDecimal(value: number): string {
  return String(Math.round(value * 10) / 10)
}

function systemName(): string {
  const name = `${os.type()} ${os.release().replace(/[-+].*$/, '')} ${os.arch()}`
  try {
    const release = readFileSync('/etc/os-release', 'utf8')
    return `${/^PRETTY_NAME="?([^"\n]*)/m.exec(release)?.[1] ?? ''} (${name})`
  } catch {
    // This system has no such file; the kernel's name is enough.
    return name
  }
}

function findCommit(): string {
  const git = (...words: string[]): string => spawnSync('git', words, { encoding: 'utf8' }).stdout.trim()
  const commit = git('rev-parse', '--short', 'HEAD')
  if (commit === '') return 'unknown'
  return git('status', '--porcelain') === '' ? commit : `${commit} with changes`
}
