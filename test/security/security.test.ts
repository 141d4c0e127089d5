/** SECURITY.md names the test that shows how each attacker is stopped. Each of these tests exists, under that title. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { it } from 'node:test'
import { attacksOnCodes } from '../campaigns/attacks/attacks-on-codes.ts'
import { attacksOnData } from '../campaigns/attacks/attacks-on-data.ts'

const attacks = Object.keys({ ...attacksOnCodes, ...attacksOnData })

function listFiles(): string[] {
  return execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' }).split(
    '\n',
  )
}

it('every attacker of SECURITY.md has an existing test, or a reason for its absence', async () => {
  const text = await readFile('SECURITY.md', 'utf8')
  const model = text.slice(text.indexOf('## Threat model'), text.indexOf('## Audit log'))
  const entries = model.split(/^#### /m).slice(1)
  assert.ok(entries.length > 20)
  const files = listFiles()
  const problems: string[] = []
  for (const entry of entries) {
    const attacker = entry.slice(0, entry.indexOf('\n'))
    const [, shownBy = ''] = /^- Gains: .+\n- Stopped by: .+\n- Shown by: (.+)$/m.exec(entry) ?? []
    const parts = shownBy.split(/;\s*/)
    for (const part of parts) {
      const [, name] = /`([\w./-]+\.test\.ts)`/.exec(part) ?? []
      const titles = [...part.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title.replace(/ ?…$/, ''))
      if (part.startsWith('–')) continue
      if (part.startsWith('campaign')) {
        for (const title of titles)
          if (!attacks.some((one) => one.startsWith(title))) problems.push(`no attack ${title}`)
        continue
      }
      const found =
        name === undefined ? [] : files.filter((file) => `/${file}`.replace('/src/', '/').endsWith(`/${name}`))
      if (found.length !== 1) problems.push(`${attacker}: ${found.length} files are ${name ?? part}`)
      const source = found[0] === undefined ? '' : await readFile(found[0], 'utf8')
      for (const title of titles) if (!source.includes(title)) problems.push(`${name ?? ''} has no "${title}"`)
    }
  }
  assert.deepEqual(problems, [])
})
