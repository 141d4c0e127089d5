import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { artifactsFile, compileContracts } from './build-contracts.ts'

it('the committed ABI and bytecode are what the compiler makes of the committed contracts', () => {
  assert.equal(readFileSync(artifactsFile, 'utf8'), compileContracts())
})
