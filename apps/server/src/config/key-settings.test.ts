import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { parseConfig, ConfigError } from './config.ts'
import type { ProcessKind } from './key-settings.ts'
import { writeRing } from '../keys.ts'
import { testKeyTexts } from '../test-keys.ts'

const all = testKeyTexts('main')
const {
  ASSAY_SERVER_KEYS: server,
  ASSAY_SEALING_PUBLIC_KEYS: publicKeys,
  ASSAY_SEALING_PRIVATE_KEYS: privateKeys,
} = all
const forApi = { ASSAY_SERVER_KEYS: server, ASSAY_SEALING_PUBLIC_KEYS: publicKeys }

function problemsOf(environment: Record<string, string>, as: ProcessKind): readonly string[] {
  try {
    parseConfig(environment, as)
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error))
    return error.problems
  }
  return []
}

describe('the keys of a process', () => {
  const accepted: [ProcessKind, Record<string, string>][] = [
    ['api', forApi],
    ['worker', { ASSAY_SERVER_KEYS: server, ASSAY_SEALING_PRIVATE_KEYS: privateKeys }],
    ['worker', all],
    ['all', all],
    ['command', { ASSAY_SERVER_KEYS: server }],
    ['files', {}],
    ['api', { ASSAY_MODE: 'sandbox' }],
  ]
  for (const [as, environment] of accepted) {
    it(`${as}: ${Object.keys(environment).join(', ') || 'none'} are enough`, () => {
      assert.deepEqual(problemsOf(environment, as), [])
    })
  }

  const make = 'make all keys: assay keys generate'
  const refused: [string, ProcessKind, Record<string, string>, string[]][] = [
    [
      'the private keys in a process that answers requests',
      'api',
      all,
      ['ASSAY_SEALING_PRIVATE_KEYS must not be given to the role api: only workers open credentials'],
    ],
    [
      'a file of private keys there',
      'api',
      { ...forApi, ASSAY_SEALING_PRIVATE_KEYS_FILE: '/nowhere' },
      ['ASSAY_SEALING_PRIVATE_KEYS_FILE must not be given to the role api: only workers open credentials'],
    ],
    [
      'nothing to seal to',
      'api',
      { ASSAY_SERVER_KEYS: server },
      [`ASSAY_SEALING_PUBLIC_KEYS is required for the role api; ${make}`],
    ],
    [
      'a worker that opens nothing',
      'worker',
      forApi,
      [`ASSAY_SEALING_PRIVATE_KEYS is required for the role worker; ${make}`],
    ],
    [
      'halves that are not of one pair',
      'worker',
      { ...all, ASSAY_SEALING_PUBLIC_KEYS: testKeyTexts('main/other').ASSAY_SEALING_PUBLIC_KEYS },
      ['ASSAY_SEALING_PUBLIC_KEYS: ASSAY_SEALING_PRIVATE_KEYS must have the other half of "main"'],
    ],
    [
      'a public half without its private one',
      'all',
      { ...all, ASSAY_SEALING_PUBLIC_KEYS: testKeyTexts('new', 'main').ASSAY_SEALING_PUBLIC_KEYS },
      ['ASSAY_SEALING_PUBLIC_KEYS: ASSAY_SEALING_PRIVATE_KEYS must have the other half of "new"'],
    ],
    [
      'a private key among those that every process holds',
      'api',
      { ...forApi, ASSAY_SERVER_KEYS: `${server},${privateKeys.replace('main', 'also')}` },
      ['ASSAY_SERVER_KEYS must not have a key of ASSAY_SEALING_PRIVATE_KEYS: every process holds them'],
    ],
    [
      'a setting that was given twice',
      'api',
      { ...forApi, ASSAY_SERVER_KEYS_FILE: '/nowhere' },
      ['ASSAY_SERVER_KEYS and ASSAY_SERVER_KEYS_FILE must not be given together'],
    ],
    [
      'some keys and not all in a sandbox',
      'all',
      { ASSAY_MODE: 'sandbox', ASSAY_SEALING_PRIVATE_KEYS: privateKeys },
      [`ASSAY_SERVER_KEYS is required; ${make}`],
    ],
    [
      'the setting of an earlier version',
      'api',
      { ...forApi, ASSAY_SEALING_KEYS: server },
      ['ASSAY_SEALING_KEYS is not a setting; did you mean ASSAY_SEALING_PUBLIC_KEYS?'],
    ],
  ]
  for (const [title, as, environment, problems] of refused) {
    it(`${title}: refused`, () => assert.deepEqual(problemsOf(environment, as), problems))
  }

  it('with several mistakes are refused together with the other settings, and no key is quoted', () => {
    const broken = { ASSAY_SERVER_KEYS: 'main', ASSAY_SEALING_PRIVATE_KEYS: `${privateKeys},`, ASSAY_PORT: 'http' }
    const problems = problemsOf(broken, 'all')
    assert.deepEqual(
      problems.map((problem) => problem.split(' ', 1)[0]),
      ['ASSAY_PORT', 'ASSAY_SERVER_KEYS', 'ASSAY_SEALING_PRIVATE_KEYS'],
    )
    assert.ok(!problems.join().includes(privateKeys.slice('main:'.length)))
  })
})

describe('where keys come from', () => {
  const read = (environment: Record<string, string>): string =>
    writeRing(parseConfig({ ...all, ASSAY_SERVER_KEYS: '', ...environment }).keys.server ?? [])

  it('a key can come from a file, with or without a final line break', async (t) => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-keys-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    const file = path.join(directory, 'server.keys')
    for (const end of ['', '\n']) {
      await writeFile(file, server + end)
      assert.equal(read({ ASSAY_SERVER_KEYS_FILE: file }), server)
    }
  })

  it('a key can come from the standard output of a command', () => {
    assert.equal(read({ ASSAY_SERVER_KEYS_COMMAND: `printf '%s\\n' '${server}' | cat` }), server)
  })

  it('a file that cannot be read and a command that fails are reported, without their output', () => {
    const rest = { ...all, ASSAY_SERVER_KEYS: '' }
    assert.deepEqual(problemsOf({ ...rest, ASSAY_SERVER_KEYS_FILE: '/nowhere/keys' }, 'all'), [
      'ASSAY_SERVER_KEYS_FILE must be a file that can be read, got "/nowhere/keys" (ENOENT)',
    ])
    assert.deepEqual(problemsOf({ ...rest, ASSAY_SERVER_KEYS_COMMAND: 'printf hunter2; exit 3' }, 'all'), [
      'ASSAY_SERVER_KEYS_COMMAND must be a command that prints the keys; it failed (exit status 3)',
    ])
    assert.deepEqual(problemsOf({ ...rest, ASSAY_SERVER_KEYS_COMMAND: 'printf hunter2' }, 'all'), [
      'ASSAY_SERVER_KEYS_COMMAND must be name:base64 of 32 bytes, comma-separated',
    ])
  })

  it('the command for private keys is never run by a process that answers requests', async (t) => {
    const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-keys-'))
    t.after(() => rm(directory, { recursive: true, force: true }))
    const command = `touch ${path.join(directory, 'ran')}; printf '%s' '${privateKeys}'`
    assert.equal(problemsOf({ ...forApi, ASSAY_SEALING_PRIVATE_KEYS_COMMAND: command }, 'api').length, 1)
    assert.deepEqual(await readdir(directory), [])
    assert.deepEqual(problemsOf({ ...forApi, ASSAY_SEALING_PRIVATE_KEYS_COMMAND: command }, 'worker'), [])
    assert.deepEqual(await readdir(directory), ['ran'])
  })
})
