/**
 * The import rules as data, and their check. Pure: from file texts to a list of breaches.
 *
 * A room is a workspace, or a folder of the server. Between rooms of the server only front doors (index.ts) are
 * imported. Test files may import anything, except across the wall around the sandbox.
 */
import path from 'node:path'
import ts from 'typescript'

interface Room {
  name: string
  folder: string
  /** Other rooms, by name; its own is always allowed. */
  mayImport: readonly string[]
}

/** The first folder that fits is the room, so the deeper ones come first. */
const rooms: readonly Room[] = [
  { name: 'core', folder: 'packages/core/', mayImport: [] },
  { name: 'contract', folder: 'packages/contract/', mayImport: ['core'] },
  { name: 'connectors', folder: 'packages/connectors/', mayImport: ['core'] },
  // Never connectors: a simulator that shares code with what it tests proves nothing.
  { name: 'sandbox', folder: 'packages/sandbox/', mayImport: ['core'] },
  // Main reads settings and keys and passes them on. Every room needs owners and notices.
  { name: 'foundation', folder: 'apps/server/src/config/', mayImport: ['core'] },
  { name: 'foundation', folder: 'apps/server/src/keys.ts', mayImport: [] },
  { name: 'foundation', folder: 'apps/server/src/sealing.ts', mayImport: ['db'] },
  { name: 'foundation', folder: 'apps/server/src/owner.ts', mayImport: [] },
  { name: 'foundation', folder: 'apps/server/src/trace-context.ts', mayImport: [] },
  { name: 'foundation', folder: 'apps/server/src/notices.ts', mayImport: ['db'] },
  { name: 'foundation', folder: 'apps/server/src/audit.ts', mayImport: ['db'] },
  { name: 'db', folder: 'apps/server/src/db/', mayImport: ['foundation'] },
  { name: 'telemetry', folder: 'apps/server/src/telemetry/', mayImport: [] },
  { name: 'tracing', folder: 'apps/server/src/tracing/', mayImport: ['foundation'] },
  { name: 'processes', folder: 'apps/server/src/processes/', mayImport: ['limits', 'telemetry'] },
  { name: 'audit log', folder: 'apps/server/src/audit-log/', mayImport: ['core', 'db'] },
  { name: 'cluster', folder: 'apps/server/src/cluster/', mayImport: ['db'] },
  { name: 'jobs', folder: 'apps/server/src/jobs/', mayImport: ['db', 'foundation'] },
  { name: 'mail', folder: 'apps/server/src/mail/', mayImport: ['db'] },
  { name: 'assets', folder: 'apps/server/src/assets/', mayImport: ['core', 'db'] },
  { name: 'webhooks', folder: 'apps/server/src/webhooks/', mayImport: ['core', 'db', 'jobs', 'foundation'] },
  { name: 'limits', folder: 'apps/server/src/limits/', mayImport: [] },
  { name: 'tenants', folder: 'apps/server/src/tenants/', mayImport: ['core', 'db', 'foundation'] },
  { name: 'oauth', folder: 'apps/server/src/oauth/', mayImport: ['core', 'db', 'tenants', 'foundation'] },
  { name: 'metering', folder: 'apps/server/src/metering/', mayImport: ['core', 'connectors', 'db'] },
  {
    name: 'connections',
    folder: 'apps/server/src/connections/',
    mayImport: ['core', 'connectors', 'db', 'jobs', 'metering', 'foundation'],
  },
  { name: 'prices', folder: 'apps/server/src/prices/', mayImport: ['core', 'connectors', 'db'] },
  {
    name: 'ledger',
    folder: 'apps/server/src/ledger/',
    mayImport: ['core', 'connectors', 'db', 'assets', 'connections', 'prices', 'foundation'],
  },
  {
    name: 'portfolio',
    folder: 'apps/server/src/portfolio/',
    mayImport: ['core', 'db', 'oauth', 'connections', 'foundation'],
  },
  { name: 'claims', folder: 'apps/server/src/claims/', mayImport: ['core', 'db', 'portfolio', 'foundation'] },
  {
    name: 'proof',
    folder: 'apps/server/src/proof/',
    mayImport: ['core', 'connectors', 'db', 'connections', 'ledger', 'foundation'],
  },
  {
    name: 'sync',
    folder: 'apps/server/src/sync/',
    mayImport: ['core', 'connectors', 'db', 'jobs', 'connections', 'ledger', 'metering', 'proof', 'foundation'],
  },
  {
    name: 'connect',
    folder: 'apps/server/src/connect/',
    mayImport: [
      'core',
      'db',
      'jobs',
      'mail',
      'limits',
      'tenants',
      'oauth',
      'connections',
      'sync',
      'claims',
      'proof',
      'audit log',
      'foundation',
    ],
  },
  {
    name: 'enterprise',
    folder: 'apps/server/src/enterprise/',
    mayImport: ['core', 'db', 'jobs', 'oauth', 'connections', 'portfolio', 'foundation'],
  },
  {
    name: 'operations',
    folder: 'apps/server/src/operations/',
    mayImport: ['core', 'db', 'connect', 'connections', 'webhooks', 'telemetry', 'foundation'],
  },
  { name: 'control', folder: 'apps/server/src/sandbox/', mayImport: ['core'] },
  {
    name: 'http',
    folder: 'apps/server/src/http/',
    mayImport: [
      'core',
      'contract',
      'connectors',
      'db',
      'jobs',
      'mail',
      'limits',
      'tenants',
      'oauth',
      'connect',
      'connections',
      'enterprise',
      'portfolio',
      'claims',
      'proof',
      'sync',
      'prices',
      'control',
      'telemetry',
      'tracing',
      'foundation',
    ],
  },
  { name: 'main', folder: 'apps/server/src/', mayImport: ['*'] },
  {
    name: 'cli',
    folder: 'apps/cli/',
    mayImport: ['core', 'main', 'processes', 'foundation', 'http', 'sandbox', 'demo'],
  },
  { name: 'widget', folder: 'packages/connect/', mayImport: ['contract', 'core'] },
  { name: 'sdk', folder: 'packages/sdk/', mayImport: ['contract'] },
  { name: 'demo', folder: 'apps/demo/', mayImport: ['sdk'] },
  { name: 'tools', folder: 'tools/', mayImport: ['core', 'connectors', 'tests', 'foundation'] },
  { name: 'tests', folder: 'test/', mayImport: ['*'] },
]

const serverRooms = new Set(rooms.filter(({ folder }) => folder.startsWith('apps/server/')).map(({ name }) => name))
/**
 * Reached by dynamic import only: they would cost a process that serves requests time and memory (one exchange of ccxt
 * takes 0.2 s and 30 MB), or do not belong there at all.
 */
const heavyPackages = ['ccxt', 'viem', '@assay/sandbox']

export interface SourceFile {
  /** The path from the root, with forward slashes. */
  path: string
  text: string
}

interface Import {
  from: string
  /** A file of the tree, or the name of a package. */
  to: string
  dynamic: boolean
}

export function findBreaches(files: readonly SourceFile[], entryPoints: ReadonlyMap<string, string>): string[] {
  const imports = files.flatMap((file) => readImports(file, entryPoints))
  const own = imports.filter(({ from }) => !isTest(from))
  return [
    ...imports.flatMap((one) => checkRooms(one)),
    ...own.flatMap((one) => checkFrontDoor(one)),
    ...findCycles(own.filter(({ dynamic }) => !dynamic)),
    ...findHeavy(own.filter(({ dynamic }) => !dynamic)),
    ...files.filter(({ path: name }) => !isTest(name)).flatMap(checkGlobals),
  ]
}

function isTest(file: string): boolean {
  return /\.test\.ts$|(^|\/)test-[a-z-]+\.ts$/.test(file) || file.startsWith('test/')
}

function roomOf(file: string): Room | undefined {
  return rooms.find(({ folder }) => file.startsWith(folder))
}

function readImports(file: SourceFile, entryPoints: ReadonlyMap<string, string>): Import[] {
  const dynamic = new Set([...file.text.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g)].map(([, name]) => name))
  return ts.preProcessFile(file.text, true, true).importedFiles.map(({ fileName }) => ({
    from: file.path,
    to: fileName.startsWith('.')
      ? path.posix.normalize(path.posix.join(path.posix.dirname(file.path), fileName))
      : (entryPoints.get(fileName) ?? fileName),
    dynamic: dynamic.has(fileName),
  }))
}

function checkRooms({ from, to }: Import): string[] {
  const room = roomOf(from)
  const target = roomOf(to)
  if (room === undefined) return [`${from} is in no room: give its folder a place in tools/boundaries.ts`]
  if (target === undefined || target.name === room.name) return []
  const isWall = room.name === 'sandbox' && target.name === 'connectors'
  if (isTest(from) && !isWall) return []
  if (room.mayImport.includes('*') || room.mayImport.includes(target.name)) return []
  return [`${from} imports ${to}: ${room.name} may not import ${target.name}`]
}

function checkFrontDoor({ from, to }: Import): string[] {
  const room = roomOf(from)
  const target = roomOf(to)
  if (room === undefined || target === undefined || room.name === target.name) return []
  const guarded = serverRooms.has(target.name) && target.name !== 'main' && target.name !== 'foundation'
  // The entry points of a package are named in its manifest; they are doors too.
  if (!guarded || to.endsWith('/index.ts') || !serverRooms.has(room.name) || room.name === 'main') return []
  return [`${from} imports ${to}: only ${target.folder}index.ts may be imported from outside`]
}

function findCycles(imports: readonly Import[]): string[] {
  const next = Map.groupBy(imports, ({ from }) => from)
  const done = new Set<string>()
  const cycles: string[] = []
  const walk = (file: string, trail: readonly string[]): void => {
    const seenAt = trail.indexOf(file)
    if (seenAt !== -1) {
      cycles.push(`a cycle of imports: ${[...trail.slice(seenAt), file].join(' → ')}`)
      return
    }
    if (done.has(file)) return
    for (const { to } of next.get(file) ?? []) walk(to, [...trail, file])
    done.add(file)
  }
  for (const file of next.keys()) walk(file, [])
  return cycles
}

/** What `assay serve --role api` loads: everything main reaches without a dynamic import. */
function findHeavy(imports: readonly Import[]): string[] {
  const next = Map.groupBy(imports, ({ from }) => from)
  const reached = new Set(['apps/server/src/main.ts'])
  const breaches: string[] = []
  for (const file of reached) {
    for (const { to } of next.get(file) ?? []) {
      const heavy = heavyPackages.includes(to) || to.startsWith('packages/sandbox/')
      if (heavy) breaches.push(`${file} imports ${to}, and the api role loads ${file}`)
      else reached.add(to)
    }
  }
  return breaches
}

/** A connector receives everything as `io`; core is pure. */
function checkGlobals({ path: file, text }: SourceFile): string[] {
  const room = roomOf(file)?.name
  if (room !== 'connectors' && room !== 'core') return []
  const forbidden = [/\bDate\.now\(/, /\bnew Date\(\)/, /\bprocess\./, /\bMath\.random\(/, /(?<![.\w])fetch\(/]
  return forbidden
    .filter((pattern) => pattern.test(text.replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '')))
    .map((pattern) => `${file} uses ${pattern.source}: ${room} may touch the outside only through what it is handed`)
}
