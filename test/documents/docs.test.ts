/** Checks the documents against the tree: every table is explained, and every link has a target. */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it } from 'node:test'
import { usage } from '../../apps/cli/src/usage.ts'

const root = path.resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')

describe('docs/storage.md', () => {
  it('has a row for every table of the schema, and for no other', () => {
    const sources = ['apps/server/src/db/migrate.ts', ...globSync('apps/server/src/db/migrations/*.sql', { cwd: root })]
    const made = sources.flatMap((file) =>
      [...read(file).matchAll(/^.*\bcreate table (?:if not exists )?(\w+)/gm)].map(([, name]) => name),
    )
    const explained = [...read('docs/storage.md').matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name)
    assert.ok(made.length > 20, 'the schema was not found')
    assert.deepEqual(explained.toSorted(), made.toSorted())
  })
})

describe('docs/guides/register.md', () => {
  const text = read('docs/guides/register.md')

  it('names every option of `assay client`, and no other', () => {
    // `--[no-]strict` in the usage is `--strict`; the guide says once how a rule is taken back.
    const optionsIn = (words: string): string[] =>
      [...new Set(words.match(/(?<![\w-])--(?:\[no-\])?[a-z0-9][a-z0-9-]*/g) ?? [])]
        .map((option) => option.replace('[no-]', ''))
        .filter((option) => !option.startsWith('--no-'))
    const known = new Set(optionsIn(usage.client))
    const explained = new Set(optionsIn(text.replaceAll(/^.*npm start.*$/gm, '')))
    assert.ok(known.size > 10, 'the usage was not understood')
    // The guide also says once that every command has help.
    assert.deepEqual([...explained].toSorted(), [...known, '--help'].toSorted())
  })

  for (const command of ['client', 'webhook'] as const) {
    it(`names every command of \`assay ${command}\``, () => {
      const actions = [...usage[command].matchAll(/^ +assay \w+ ([a-z-]+)/gm)].map(([, action = '']) => action)
      assert.ok(actions.length > 4, 'the usage was not understood')
      assert.deepEqual(
        actions.filter((action) => !new RegExp(`\\b${command} ${action}\\b`).test(text)),
        [],
      )
    })
  }
})

describe('links in the documents', () => {
  const documents = globSync(['*.md', 'docs/**/*.md', '{apps,packages,examples}/*/*.md'], { cwd: root })
  for (const document of documents) {
    it(`${document}: every relative link leads to a file`, () => {
      const links = [...read(document).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link = '']) => link)
      const broken = links.filter((link) => !existsSync(path.join(root, path.dirname(document), link)))
      assert.deepEqual(broken, [])
    })
  }
})

describe('commands in the documents', () => {
  /** The words after the language, of the blocks that a test runs. Any other block says why no test runs it. */
  const run: Readonly<Record<string, readonly string[]>> = {
    // The two plain ones are `npm start` and `npm test`: .ci/run runs the second, which starts the first.
    'README.md': ['', 'walk-through'],
    'docs/guides/integrate.md': ['', 'makes a login key'],
    'docs/guides/quickstart.md': ['', 'starts app.mjs'],
  }
  const documents = globSync(['*.md', 'docs/*.md', 'docs/guides/*.md', '{apps,packages,examples}/*/*.md'], {
    cwd: root,
  })
  for (const document of documents) {
    it(`${document}: every command is run by a test, or says why not`, () => {
      const tested = run[document] ?? (document.startsWith('docs/guides/') ? [''] : [])
      const blocks = [...read(document).matchAll(/^ *```(?:bash|sh|shell|console)\b(.*)$/gm)].map(([, words = '']) =>
        words.trim(),
      )
      const untested = blocks.filter((words) => !tested.includes(words) && !/^no-test="[^"]{10,}"$/.test(words))
      assert.deepEqual(untested, [])
    })

    it(`${document}: a file that is said to run a command exists`, () => {
      const reasons = [...read(document).matchAll(/no-test="([^"]*)"/g)].map(([, reason = '']) => reason)
      const named = reasons.flatMap((reason) => reason.match(/[\w./-]+\.(?:test\.ts|sh|md)\b/g) ?? [])
      const isThere = (file: string): boolean =>
        existsSync(path.join(root, file)) || globSync(`{apps,packages,test}/**/${file}`, { cwd: root }).length > 0
      assert.deepEqual(
        named.filter((file) => !isThere(file)),
        [],
      )
    })
  }
})
