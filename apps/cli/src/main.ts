/**
 * `assay`, the command line. Finds the command, runs it, and turns every expected failure into a sentence and an exit
 * code: 2 for a wrong call, 1 for everything that could not be done.
 */
import { Refusal } from '@assay/core'
import { ConfigError, readEnvironment } from '@assay/server/config'
import { readBuild } from './build.ts'
import { UsageError, writeError, writeLine } from './console.ts'
import { usage } from './usage.ts'

type Run = (words: string[]) => Promise<void>

interface Command {
  /** Loaded when it is called: the service takes a second to load, and help needs none of it. */
  load(): Promise<Run>
  summary: string
}

const commands: Record<keyof typeof usage, Command> = {
  start: {
    load: async () => (await import('./starting/start.ts')).start,
    summary: 'the whole service in sandbox mode, with simulated providers; --live: with the real ones',
  },
  serve: {
    load: async () => (await import('./starting/serve.ts')).serve,
    summary: 'the service: --role api, worker or all (default all)',
  },
  worker: {
    load: async () => (await import('./starting/serve.ts')).worker,
    summary: 'the same as serve --role worker',
  },
  init: {
    load: async () => (await import('./starting/init.ts')).init,
    summary: 'a production configuration: keys, settings, the first tenant and its application',
  },
  migrate: {
    load: async () => (await import('./commands/migrate.ts')).migrate,
    summary: 'bring the database schema up to date; --check only looks',
  },
  cluster: {
    load: async () => (await import('./commands/cluster.ts')).cluster,
    summary: 'distribute: where each table lies on a Citus cluster; --apply moves them there',
  },
  status: {
    load: async () => (await import('./commands/operate.ts')).status,
    summary: 'workers, queue, connections by state and cause',
  },
  hosts: {
    load: async () => (await import('./commands/operate.ts')).hosts,
    summary: 'every host that it may call for providers and prices',
  },
  doctor: {
    load: async () => (await import('./commands/operate.ts')).doctor,
    summary: 'whether this installation is sound, and what to do where it is not',
  },
  keys: {
    load: async () => (await import('./commands/operate.ts')).keys,
    summary: 'generate: new keys for an installation | rotate: seal every credential with the newest key',
  },
  ledger: {
    load: async () => (await import('./commands/ledger.ts')).ledger,
    summary: 'replay: what deriving every transaction again would change | findings | apply | discard',
  },
  stats: {
    load: async () => (await import('./commands/stats.ts')).stats,
    summary: 'verify: count the statistics of every tenant again and compare | rebuild',
  },
  prices: {
    load: async () => (await import('./commands/prices.ts')).prices,
    summary: 'correct <asset_id> <day> <price>: what an asset was worth on a day, in US dollars',
  },
  backup: {
    load: async () => (await import('./commands/backup.ts')).backup,
    summary: '<file>: the embedded database in one file, also while the service runs',
  },
  restore: {
    load: async () => (await import('./commands/backup.ts')).restore,
    summary: '<file>: a backup becomes the database of a new data directory',
  },
  webhook: {
    load: async () => (await import('./commands/webhook.ts')).webhook,
    summary: 'set <tenant_id> <url> | remove, test, log <tenant_id> | resend <tenant_id> <message_id>',
  },
  audit: {
    load: async () => (await import('./commands/audit.ts')).audit,
    summary: 'export <tenant_id>: who changed what, as NDJSON | verify: whether the chain of entries is unbroken',
  },
  tenant: { load: async () => (await import('./commands/tenant.ts')).tenant, summary: 'create <name> | list' },
  client: {
    load: async () => (await import('./commands/client.ts')).client,
    summary: 'create <tenant_id> <name> … | list <tenant_id> | update, rotate-secret, …-login-key, disable <client_id>',
  },
}

async function main([name, ...words]: string[]): Promise<number> {
  if (name === 'version' || name === '--version') {
    const { version, commit } = readBuild()
    writeLine(commit === undefined ? `assay ${version}` : `assay ${version} (${commit})`)
    return 0
  }
  if (name === 'help' && words[0] !== undefined) return main([words[0], '--help'])
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    writeLine('Usage: assay <command> [options]\n')
    for (const [command, { summary }] of Object.entries(commands)) writeLine(`  ${command.padEnd(9)} ${summary}`)
    writeLine(
      '\n`assay <command> --help` says how one is called; `assay --version` says which version this is.\nSettings come from the environment: see docs/configuration.md.',
    )
    return 0
  }
  if (!isCommand(name)) {
    writeError(`assay: unknown command ${JSON.stringify(name)}; \`assay help\` lists all commands.`)
    return 2
  }
  if (words.includes('--help') || words.includes('-h')) {
    writeLine(usage[name])
    return 0
  }
  try {
    const run = await commands[name].load()
    await run(words)
    return 0
  } catch (error) {
    return await explain(error)
  }
}

function isCommand(name: string): name is keyof typeof usage {
  return Object.hasOwn(commands, name)
}

async function explain(error: unknown): Promise<number> {
  if (error instanceof UsageError || isWrongCall(error)) {
    const isUsageAlone = error.message.startsWith('Usage:')
    writeError(`assay: ${isUsageAlone ? 'wrong or missing arguments\n' : ''}${error.message}`)
    return 2
  }
  if (error instanceof ConfigError || error instanceof Refusal) {
    writeError(`assay: ${error.message}`)
    return 1
  }
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    const port = 'port' in error ? `port ${String(error.port)}` : 'the port'
    writeError(
      `assay: ${port} is in use. Stop what uses it, or choose another: --port (ASSAY_PORT), or --demo-port (ASSAY_DEMO_PORT).`,
    )
    return 1
  }
  writeError(`assay: ${messageOf(error)}`)
  const { isDatabaseAway } = await import('@assay/server/admin')
  if (isDatabaseAway(error)) {
    writeError(
      'The database is not available. Start it, or correct its address (DATABASE_URL); `assay doctor` looks at both. ' +
        'If the command was changing something, it may have been changed: look before you repeat it.',
    )
  }
  if (error instanceof Error && readEnvironment()['ASSAY_LOG_LEVEL'] === 'debug') writeError(error.stack ?? '')
  return 1
}

/** What `parseArgs` of node:util throws. */
function isWrongCall(error: unknown): error is TypeError {
  return error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_')
}

/** A host with several addresses that cannot be reached fails with one error for each, and without its own message. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}

// The reader of the output may leave before its end, for example in `assay hosts | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit()
  throw error
})

// A command that reports a problem has already set its exit code.
const code = await main(process.argv.slice(2))
if (code !== 0) process.exitCode = code
