/**
 * `assay`, the command line. Finds the command, runs it, and turns every expected failure into a sentence and an exit
 * code: 2 for a wrong call, 1 for everything that could not be done.
 */
import { Refusal } from '@assay/core'
import { ConfigError, readEnvironment } from '@assay/server/config'
import { client } from './client.ts'
import { UsageError, writeError, writeLine } from './console.ts'
import { migrate } from './migrate.ts'
import { doctor, keys, status } from './operate.ts'
import { serve, worker } from './serve.ts'
import { start } from './start.ts'
import { tenant } from './tenant.ts'
import { webhook } from './webhook.ts'

interface Command {
  run(words: string[]): Promise<void>
  summary: string
}

const commands: Record<string, Command> = {
  start: { run: start, summary: 'the whole service in sandbox mode, with simulated providers and test clients' },
  serve: { run: serve, summary: 'the service: --role api, worker or all (default all)' },
  worker: { run: worker, summary: 'the same as serve --role worker' },
  migrate: { run: migrate, summary: 'bring the database schema up to date; --check only looks' },
  status: { run: status, summary: 'workers, queue, connections by state and cause' },
  doctor: { run: doctor, summary: 'whether this installation is sound, and what to do where it is not' },
  keys: { run: keys, summary: 'rotate: seal every credential with the newest key' },
  webhook: { run: webhook, summary: 'set <tenant_id> <url> | remove <tenant_id>' },
  tenant: { run: tenant, summary: 'create <name> | list' },
  client: {
    run: client,
    summary: 'create <tenant_id> <name> … | list <tenant_id> | rotate-secret <client_id> | disable <client_id>',
  },
}

async function main([name, ...words]: string[]): Promise<number> {
  if (name === undefined || name === 'help' || name === '--help') {
    writeLine('Usage: assay <command> [options]\n')
    for (const [command, { summary }] of Object.entries(commands)) writeLine(`  ${command.padEnd(9)} ${summary}`)
    writeLine('\nSettings come from the environment: see docs/configuration.md.')
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) {
    writeError(`assay: there is no command ${JSON.stringify(name)}; \`assay help\` lists them.`)
    return 2
  }
  try {
    await command.run(words)
    return 0
  } catch (error) {
    return explain(error)
  }
}

function explain(error: unknown): number {
  if (error instanceof UsageError || (error instanceof TypeError && 'code' in error)) {
    writeError(`assay: ${error.message}`)
    return 2
  }
  if (error instanceof ConfigError || error instanceof Refusal) {
    writeError(`assay: ${error.message}`)
    return 1
  }
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    const port = 'port' in error ? String(error.port) : 'the port'
    writeError(
      `assay: port ${port} is in use. Stop what uses it, or choose another: --port (ASSAY_PORT), or --demo-port (ASSAY_DEMO_PORT).`,
    )
    return 1
  }
  writeError(error instanceof Error ? `assay: ${error.message}` : String(error))
  if (error instanceof Error && readEnvironment()['ASSAY_LOG_LEVEL'] === 'debug') writeError(error.stack ?? '')
  return 1
}

// A command that only wants to say "not well" has set its code already.
const code = await main(process.argv.slice(2))
if (code !== 0) process.exitCode = code
