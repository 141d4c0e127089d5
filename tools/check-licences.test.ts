import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findForbidden, isAllowed, toExpression } from './check-licences.ts'

describe('the licence of a package', () => {
  it('must be permissive; an OR offers a choice, an AND does not', () => {
    for (const good of ['MIT', '(MIT OR GPL-3.0-only)', 'Apache-2.0 AND ISC', 'Apache-2.0 WITH LLVM-exception']) {
      assert.equal(isAllowed(good, false), true, good)
    }
    for (const bad of [
      'GPL-3.0-only',
      'AGPL-3.0-or-later',
      'MIT AND GPL-2.0-only',
      'UNLICENSED',
      '',
      'SEE LICENSE IN x',
    ]) {
      assert.equal(isAllowed(bad, false), false, bad)
    }
  })

  it('is also read from a package’s old list, where the user may choose one', () => {
    assert.equal(toExpression({ license: 'ISC', licenses: [{ type: 'MIT' }] }), 'ISC')
    assert.equal(toExpression({ licenses: [{ type: 'MIT', url: 'https://a.example' }, { type: 'GPL' }] }), 'MIT OR GPL')
    assert.equal(toExpression({ licenses: [{}] }), undefined)
    assert.equal(toExpression({}), undefined)
  })

  it('may bind its own files only if the package is not shipped', () => {
    assert.deepEqual([isAllowed('MPL-2.0', true), isAllowed('MPL-2.0', false)], [true, false])
  })

  it('is named in the lockfile or in the package, or the check fails', async () => {
    const packages = {
      '': {},
      'packages/core': {},
      'node_modules/@assay/core': { link: true },
      'node_modules/named': { license: 'MIT' },
      'node_modules/asked': {},
      'node_modules/silent': {},
      'node_modules/copyleft': { license: 'GPL-3.0-only' },
    }
    const readLicence = async (folder: string): Promise<string | undefined> =>
      folder.endsWith('/asked') ? 'ISC' : undefined
    assert.deepEqual(await findForbidden(packages, readLicence), [
      'node_modules/silent names no licence',
      'node_modules/copyleft is GPL-3.0-only, which is not on the list',
    ])
  })
})
