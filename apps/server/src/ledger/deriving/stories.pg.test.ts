/** Which records become one transaction: stories, groups, several link keys, and grouping again. */
import { dayMs } from '@assay/core'
import type { Connector, RawRecord, StoredRecord } from '@assay/connectors'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ReplayOptions } from '../index.ts'
import { splitStories } from './draft.ts'
import { ledgerRow, noonMs, openLedger, type TestLedger } from '../test-ledger.ts'

type Opened = Parameters<typeof openLedger>[0]

const look: ReplayOptions = { connectionId: undefined, apply: false, onProgress: () => undefined }

/** A row of Kraken's ledger with further link keys. */
function linkedRow(
  key: string,
  links: [string, ...string[]],
  more: Record<string, string> = {},
  atMs = noonMs,
): RawRecord {
  const row = ledgerRow(key, links[0], more, atMs)
  return { ...row, body: row.body.replace('{', `{"links":${JSON.stringify(links)},`) }
}

const linksOf = ({ body }: StoredRecord): [string, ...string[]] =>
  (JSON.parse(body) as { links: [string, ...string[]] }).links

/** Kraken's rules, with the link keys of `linkedRow`; the test's ledger replays by the same rules. */
async function openLinked(t: Opened): Promise<TestLedger & { keepLinked(...records: RawRecord[]): Promise<void> }> {
  const rules: { linkKeys: Connector['linkKeys'] } = { linkKeys: linksOf }
  const opened = await openLedger(t, { rules })
  const connector: Connector = { ...opened.connector, ...rules }
  return {
    ...opened,
    async keepLinked(...records) {
      const pages = [{ stream: 'ledger', partition: '', records, withdrawn: [] }]
      await opened.db.transaction((tx) => opened.ledger.keepRaw(tx, opened.ref, connector, pages))
    },
  }
}

describe('stories', () => {
  const at = (key: string, occurredAtMs: number): StoredRecord => {
    return { key, occurredAtMs, body: '{}', stream: 'ledger', partition: '' }
  }

  it('begin again after a gap that is longer than the span, whatever the order of the records', () => {
    const records = [at('c', 30), at('a', 0), at('b', 10), at('d', 41)]
    const keysOf = (stories: StoredRecord[][]): string[] => stories.map((story) => story.map(({ key }) => key).join(''))
    assert.deepEqual(keysOf(splitStories(records, 10)), ['ab', 'c', 'd'])
    assert.deepEqual(keysOf(splitStories(records, 11)), ['ab', 'c', 'd'].with(1, 'cd').slice(0, 2))
    assert.deepEqual(keysOf(splitStories(records, 20)), ['abcd'])
    assert.deepEqual(splitStories([], 20), [])
  })

  it('that share a reference months apart are two transactions, and the oldest keeps the id', async (t) => {
    const { ref, keep, derive, listWritten, listRemovedIds } = await openLedger(t)
    const old = ledgerRow('L1', 'R1', {}, noonMs - 200 * dayMs)
    await keep(old)
    await derive()
    const [first] = await listWritten()
    await keep(ledgerRow('L2', 'R1', { amount: '7' }))
    await derive(ref)
    const written = await listWritten()
    assert.equal(written.length, 2)
    assert.equal(written.find(({ id }) => id === first?.id)?.document, first?.document)
    assert.equal(new Set(written.map(({ group_key }) => group_key)).size, 1)
    assert.deepEqual(await listRemovedIds(), [])
  })
})

describe('records with several link keys', () => {
  it('join the groups that their keys lead to, even when the record that joins them comes last', async (t) => {
    const { db, keepLinked, derive, listWritten } = await openLinked(t)
    await keepLinked(
      linkedRow('L1', ['B'], { type: 'trade', amount: '-1' }),
      linkedRow('L2', ['C'], { type: 'trade', asset: 'ZUSD' }),
    )
    await derive()
    assert.equal((await listWritten()).length, 2)
    await keepLinked(linkedRow('L3', ['C', 'B', 'A'], { type: 'trade', amount: '0', fee: '0.1', asset: 'ZUSD' }))
    const groups = await db.rows<{ group_key: string }>('select distinct group_key from raw_records')
    assert.deepEqual(groups, [{ group_key: 'A' }])
    const aliases = await db.rows('select link_key, group_key from group_aliases order by 1')
    assert.deepEqual(aliases, [
      { link_key: 'B', group_key: 'A' },
      { link_key: 'C', group_key: 'A' },
    ])
    await derive()
    const grouped = await listWritten()
    assert.deepEqual([...new Set(grouped.map(({ group_key }) => group_key))], ['A'])
    // A later record with one of these keys finds the group, and a smaller key moves all of them.
    await keepLinked(linkedRow('L4', ['C']))
    assert.deepEqual(await db.rows('select distinct group_key from raw_records'), [{ group_key: 'A' }])
    await keepLinked(linkedRow('L5', ['A', '0']))
    assert.deepEqual(await db.rows('select distinct group_key from raw_records'), [{ group_key: '0' }])
    assert.deepEqual(await db.rows("select from group_aliases where group_key <> '0'"), [])
    await derive()
    assert.deepEqual(await db.rows('select from due_groups'), [])
  })

  it('cost nothing where every record has one key', async (t) => {
    const { db, keepLinked } = await openLinked(t)
    await keepLinked(linkedRow('L1', ['A']), linkedRow('L2', ['A']), linkedRow('L3', ['B']))
    assert.deepEqual(await db.rows('select from group_aliases'), [])
  })
})

describe('grouping again', () => {
  it('can be previewed without changing anything, and then makes exactly the previewed changes', async (t) => {
    const opened = await openLinked(t)
    const { db, ledger, keepLinked, derive, listWritten, listRemovedIds } = opened
    await keepLinked(
      linkedRow('L1', ['A'], { type: 'trade', amount: '-1' }),
      linkedRow('L2', ['B'], { type: 'trade', asset: 'ZUSD' }),
      linkedRow('L3', ['C']),
    )
    await derive()
    const before = await listWritten()
    assert.equal(before.length, 3)
    // Simulates a rule that discovers that the two belong together.
    opened.setRules({ linkKeys: (record) => (record.key === 'L2' ? ['B', 'A'] : linksOf(record)) })
    const seen = await ledger.replay(look)
    assert.equal(seen.regrouped, 1)
    const total = (name: 'added' | 'changed' | 'removed'): number =>
      seen.changes.reduce((sum, change) => sum + change[name], 0)
    assert.deepEqual([total('added'), total('changed') > 0, total('removed')], [0, true, 1])
    assert.deepEqual(await listWritten(), before)
    assert.deepEqual(await db.rows('select from group_aliases'), [])
    assert.deepEqual(await db.rows('select from due_groups'), [])

    const made = await ledger.replay({ ...look, apply: true })
    assert.deepEqual([made.regrouped, made.changes], [seen.regrouped, seen.changes])
    const after = await listWritten()
    assert.equal(after.length, 2)
    assert.match(after[0]?.document ?? '', /"type":"input_and_output"/)
    assert.equal((await listRemovedIds()).length, 1)
    assert.deepEqual(await db.rows('select link_key, group_key from group_aliases'), [
      { link_key: 'B', group_key: 'A' },
    ])
    const again = await ledger.replay(look)
    assert.deepEqual([again.regrouped, again.changes], [0, []])
  })

  it('derives records that older rules could not', async (t) => {
    const opened = await openLinked(t)
    const { db, ledger, derive, listWritten } = opened
    const broken: Pick<Connector, 'linkKeys'> = {
      linkKeys() {
        throw new Error('what is this?')
      },
    }
    const pages = [{ stream: 'ledger', partition: '', records: [linkedRow('L1', ['A'])], withdrawn: [] }]
    await db.transaction((tx) => ledger.keepRaw(tx, opened.ref, broken, pages))
    await derive()
    assert.deepEqual(await db.rows('select reason from poison_groups'), [{ reason: 'what is this?' }])
    assert.equal((await ledger.replay(look)).regrouped, 1)
    await ledger.replay({ ...look, apply: true })
    assert.deepEqual(await db.rows('select from poison_groups'), [])
    assert.equal((await listWritten()).length, 1)
  })
})
