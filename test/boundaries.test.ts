/** The imports of the whole tree, checked against tools/boundaries.ts. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { findBreaches, type SourceFile } from '../tools/boundaries.ts'

const root = path.resolve(import.meta.dirname, '..')

function readTree(): SourceFile[] {
  return globSync('{packages,apps}/*/src/**/*.{ts,tsx}', { cwd: root })
    .concat(globSync(['tools/**/*.ts', 'test/*.ts'], { cwd: root }))
    .map((file) => ({ path: file.replaceAll(path.sep, '/'), text: readFileSync(path.join(root, file), 'utf8') }))
}

/** `@assay/core` → `packages/core/src/index.ts`, from the manifests. */
function readEntryPoints(): Map<string, string> {
  const manifests = globSync('{packages,apps}/*/package.json', { cwd: root })
  return new Map(
    manifests.flatMap((file) => {
      const { name, exports = {} } = JSON.parse(readFileSync(path.join(root, file), 'utf8')) as {
        name: string
        exports?: Record<string, unknown>
      }
      return Object.entries(exports).flatMap(([key, target]): [string, string][] =>
        typeof target === 'string'
          ? [[path.posix.join(name, key), path.posix.join(path.posix.dirname(file.replaceAll(path.sep, '/')), target)]]
          : [],
      )
    }),
  )
}

const entryPoints = readEntryPoints()
const breachesOf = (file: string, text: string): string[] =>
  findBreaches([...readTree(), { path: file, text }], entryPoints)

describe('import boundaries', () => {
  it('hold over the whole tree', () => {
    const tree = readTree()
    assert.ok(tree.length > 50, 'the tree was not found')
    assert.deepEqual(findBreaches(tree, entryPoints), [])
  })

  const forbidden: [string, string, string, RegExp][] = [
    [
      'the sandbox imports a connector',
      'packages/sandbox/src/x.ts',
      "import { catalog } from '@assay/connectors'",
      /sandbox may not import connectors/,
    ],
    [
      'a test of the sandbox imports a connector',
      'packages/sandbox/src/x.test.ts',
      "import { catalog } from '@assay/connectors'",
      /sandbox may not import connectors/,
    ],
    [
      'a feature imports http',
      'apps/server/src/ledger/x.ts',
      "import { createLog } from '../http/index.ts'",
      /ledger may not import http/,
    ],
    [
      'a feature passes by a front door',
      'apps/server/src/sync/x.ts',
      "import { upsertRaw } from '../ledger/store.ts'",
      /only apps\/server\/src\/ledger\/index.ts/,
    ],
    ['the api role reaches ccxt', 'apps/server/src/config/config.ts', "import ccxt from 'ccxt'", /the api role loads/],
    [
      'the api role reaches the sandbox',
      'apps/server/src/config/config.ts',
      "import { startSandbox } from '@assay/sandbox'",
      /the api role loads|may not import sandbox/,
    ],
    [
      'core imports anything of ours',
      'packages/core/src/x.ts',
      "import { serve } from '@assay/contract'",
      /core may not import contract/,
    ],
    [
      'a connector reads the clock',
      'packages/connectors/src/x.ts',
      'export const at = Date.now()',
      /only through what it is handed/,
    ],
    ['a file stands in no room', 'packages/attic/src/x.ts', "import { zero } from '@assay/core'", /is in no room/],
  ]
  for (const [what, file, text, message] of forbidden) {
    it(`break when ${what}`, () => assert.match(breachesOf(file, text).join('\n'), message))
  }

  it('break when two files import each other', () => {
    const breaches = findBreaches(
      [
        { path: 'packages/core/src/a.ts', text: "import { b } from './b.ts'" },
        { path: 'packages/core/src/b.ts', text: "import { a } from './a.ts'" },
      ],
      entryPoints,
    )
    assert.match(breaches.join('\n'), /a cycle of imports: packages\/core\/src\/a.ts → packages\/core\/src\/b.ts/)
  })
})
