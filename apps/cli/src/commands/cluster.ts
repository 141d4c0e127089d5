/**
 * `assay cluster distribute [--apply] [--json]`: moves the tables of a stopped service to where they lie on a cluster.
 */
import type { ClusterPlan } from '@assay/server/admin'
import { parseArgs } from 'node:util'
import { UsageError, writeJson, writeLine, writeTable } from '../console.ts'
import { usage } from '../usage.ts'
import { withAdmin } from '../with-admin.ts'

export async function cluster(words: string[]): Promise<void> {
  const options = { apply: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args: words, options, allowPositionals: true })
  if (positionals.join(' ') !== 'distribute') throw new UsageError(usage.cluster)
  await withAdmin(
    async (admin) => {
      const plan = await admin.cluster.plan()
      const moved: string[] = []
      if (!values.json) describe(plan)
      if (values.apply) {
        await admin.cluster.distribute(plan, ({ name }) => {
          moved.push(name)
          if (!values.json) writeLine(`moved ${name}`)
        })
      }
      if (values.json) return writeJson({ ...plan, moved })
      conclude(plan, values.apply)
    },
    { look: true },
  )
}

const headings = {
  distributed: 'Distributed by user_key',
  reference: 'On every node',
  coordinator: 'On the coordinator',
} as const

function describe({ tables, nodes }: ClusterPlan): void {
  writeLine(`Nodes for shards: ${nodes.join(', ')}`)
  for (const place of ['distributed', 'reference', 'coordinator'] as const) {
    writeLine(`\n${headings[place]}:`)
    const rows = tables.filter((table) => table.place === place)
    writeTable(rows.map(({ name, why, isThere }) => [`  ${name}`, isThere ? 'is there' : 'to move', why]))
  }
  writeLine()
}

function conclude({ tables }: ClusterPlan, isApplied: boolean): void {
  const left = tables.filter(({ isThere }) => !isThere).length
  if (left === 0) return writeLine('Every table is where it belongs.')
  if (!isApplied) return writeLine(`${left} tables would be moved. Nothing was changed; to move them: --apply`)
  writeLine(`${left} tables were moved. Start the service again.`)
}
