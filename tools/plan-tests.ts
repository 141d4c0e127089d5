/**
 * Which test files share a process, and in which order the processes start.
 *
 * To load a file's modules takes 0.2 to 1.5 s of processor time, more than most files need for their tests, and
 * neighbours load the same modules. Files below `test/` have a process each: they start whole services and browsers,
 * kill processes and measure memory. The contract suite does none of that, and its files run the same code: three of
 * them took 25 s of processor time in one process, and 30 s in three.
 */

/** For a file that hangs. One that passes takes a minute, and ten where four others want the same processor. */
export const fileTimeoutMs = 1_800_000

/** Small enough that the last processes of a run end at about the same time. */
const filesPerProcessMax = 12
/** These take ten times as long as others. */
const contractsPerProcessMax = 4
const contractSuite = 'test/contract-suite/'

/** The processes of a run, the longest first, each with its files. */
export function planTests(files: readonly string[]): string[][] {
  const groups = Map.groupBy(files.toSorted(), groupOf)
  return [...groups].toSorted(([a], [b]) => weigh(b) - weigh(a)).flatMap(([group, members]) => cut(members, group))
}

/** A file below `test/` is mostly a group of its own; others go with those of their workspace that need the same. */
function groupOf(file: string): string {
  if (file.startsWith(contractSuite)) return contractSuite
  if (file.startsWith('test/')) return file
  const workspace = file.split('/').slice(0, 2).join('/')
  return `${workspace} ${file.endsWith('.pg.test.ts') ? 'database' : 'pure'}`
}

/** What has a database or a browser takes longest: started first, it does not end last. */
function weigh(group: string): number {
  if (group.startsWith('test/')) return 2
  return group.endsWith(' database') ? 1 : 0
}

/** Neighbours by path stay together: they import the same modules. */
function cut(files: readonly string[], group: string): string[][] {
  const processes = Math.ceil(files.length / (group === contractSuite ? contractsPerProcessMax : filesPerProcessMax))
  const size = Math.ceil(files.length / processes)
  return Array.from({ length: processes }, (_, index) => files.slice(index * size, (index + 1) * size))
}
