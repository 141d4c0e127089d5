/**
 * Which test files share a process, and in which order the processes start.
 *
 * To load the service takes 1.2 s of processor time, and its first tests run code that is not compiled yet: five files
 * with a whole service took 21 s of processor time in one process, and 33 s in five. So files share processes, one
 * after another, except those below. `test-process.ts` keeps their hooks apart.
 */

/**
 * The limit for a file that hangs. A file that passes takes a minute, or ten where four others want the same processor.
 */
export const fileTimeoutMs = 1_800_000

/** These have a process of their own, and start first. One that takes long would hold up the files behind it. */
export const alone: Readonly<Record<string, string>> = {
  'test/failures/database-dies.test.ts':
    'silences console.trace, and connections that it broke may still report errors',
  'test/data/export.test.ts': 'measures memory',
  'test/failures/failover.test.ts': 'silences console.trace, and connections that it broke may still report errors',
  'test/data/feed.test.ts': 'takes long',
  'test/failures/kill.test.ts': 'takes long',
  'test/data/memory.test.ts': 'measures memory',
  'test/cluster/user-keys.test.ts': 'records every statement that its process sends',
  'test/widget/widget-two-ways.test.ts': 'takes long',
  'test/widget/widget-wallet.test.ts': 'takes long',
  'test/widget/widget.test.ts': 'takes long',
  'test/failures/workers.test.ts': 'takes long',
}

type Kind = 'alone' | 'whole' | 'contract' | 'simulator' | 'database' | 'pure'

/**
 * How many files share a process: the slower they are, the fewer, so that the last processes end at about the same
 * time.
 */
const filesMax: Readonly<Record<Kind, number>> = {
  alone: 1,
  whole: 5,
  contract: 4,
  simulator: 24,
  database: 24,
  pure: 12,
}
/**
 * What has a database, a browser or a chain takes longest. It starts first, so that no long process is left alone with
 * a processor at the end.
 */
const order: readonly Kind[] = ['alone', 'whole', 'contract', 'simulator', 'database', 'pure']

/** The processes of a run, the longest first, each with its files. */
export function planTests(files: readonly string[]): string[][] {
  const groups = Map.groupBy(files.toSorted(), (file) => `${kindOf(file)} ${workspaceOf(file)}`)
  return [...groups.values()]
    .toSorted(([a = ''], [b = '']) => order.indexOf(kindOf(a)) - order.indexOf(kindOf(b)))
    .flatMap((members) => cut(members, filesMax[kindOf(members[0] ?? '')]))
}

function kindOf(file: string): Kind {
  if (Object.hasOwn(alone, file)) return 'alone'
  if (file.startsWith('test/contract-suite/')) return 'contract'
  if (file.startsWith('test/')) return 'whole'
  if (file.startsWith('packages/sandbox/')) return 'simulator'
  return file.endsWith('.pg.test.ts') ? 'database' : 'pure'
}

/** Files of a workspace load the same modules. */
function workspaceOf(file: string): string {
  const folders = file.split('/')
  return folders.slice(0, folders[0] === 'test' || folders[0] === 'tools' ? 1 : 2).join('/')
}

/** Neighbours by path stay together: they import the same modules. */
function cut(files: readonly string[], filesPerProcessMax: number): string[][] {
  const processes = Math.ceil(files.length / filesPerProcessMax)
  const size = Math.ceil(files.length / processes)
  return Array.from({ length: processes }, (_, index) => files.slice(index * size, (index + 1) * size))
}
