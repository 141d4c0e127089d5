/**
 * For tests: a process that runs commands of `assay` one after another. A process for each would spend most of its
 * second on loading the same modules.
 *
 * Each command has its own arguments, environment, output and exit code. It has ended when nothing but the channel to
 * the test keeps this process alive, so a command that leaves a connection or a timer behind never ends, as it would
 * not in a process of its own. What it throws ends this process.
 */
import { setImmediate } from 'node:timers/promises'

export interface HostedCommand {
  words: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
  /** Written to both outputs after the command, so that the reader knows where its text ends. */
  endMark: string
}

const main = new URL('../apps/cli/src/main.ts', import.meta.url)
let commands = 0

function countOpen(): number {
  return process.getActiveResourcesInfo().filter((name) => name !== 'Immediate').length
}

async function runCommand({ words, environment, endMark }: HostedCommand, openBefore: number): Promise<void> {
  process.argv.splice(2, Infinity, ...words)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, environment)
  commands += 1
  // The module runs its command when it is loaded. A new query makes it a new module; what it imports stays loaded.
  await import(`${main.href}?command=${commands}`)
  while (countOpen() > openBefore) await setImmediate()
  const code = Number(process.exitCode ?? 0)
  process.exitCode = undefined
  process.stdout.removeAllListeners('error')
  process.stderr.write(endMark)
  process.stdout.write(endMark)
  process.send?.({ code })
}

process.on('message', (command) => {
  // The resources that this process has anyway; its outputs are opened by their first use.
  process.stdout.write('')
  process.stderr.write('')
  void runCommand(command as HostedCommand, countOpen())
})
