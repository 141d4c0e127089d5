/**
 * The README's walk-through: its bash blocks are run one after the other in one shell, against a service of this test,
 * and the output of each is compared with the block that shows it, where `…` stands for anything. White space is not
 * compared: answers come on one line and are shown on many.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import path from 'node:path'
import { it } from 'node:test'
import { startTestService } from '../service.ts'

interface Step {
  script: string
  /** Undefined when the README shows nothing for it. */
  shown: string | undefined
}

function readSteps(): Step[] {
  const readme = readFileSync(path.join(import.meta.dirname, '../../README.md'), 'utf8')
  const steps: Step[] = []
  for (const [, language, script = ''] of readme.matchAll(/^```(.+)\n([^]*?)^```$/gm)) {
    const last = steps.at(-1)
    if (language === 'bash walk-through') steps.push({ script, shown: undefined })
    else if (last !== undefined && (language === 'json' || language === 'text')) last.shown ??= script
  }
  return steps
}

const endOfStep = '--- end of step ---'

/** The output of each step. The shell ends at the first command that fails, and so does the test. */
async function runSteps(steps: readonly Step[], url: string): Promise<string[]> {
  const PATH = `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`
  const shell = spawn('bash', ['-euo', 'pipefail'], { env: { PATH, ASSAY: url }, stdio: ['pipe', 'pipe', 'pipe'] })
  shell.stdin.end(steps.map(({ script }) => `${script}\necho '${endOfStep}'\n`).join(''))
  const [output, complaints] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
  const outputs = output.split(endOfStep).slice(0, -1)
  const failed = steps[outputs.length]
  assert.equal(failed, undefined, `a step failed:\n${failed?.script}\n${output}\n${complaints}`)
  return outputs
}

function toPattern(shown: string): RegExp {
  const parts = shown.replaceAll(/\s/g, '').split('…')
  return new RegExp(`^${parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('[^]+?')}$`)
}

it('the walk-through of the README runs, and prints what the README shows', async (t) => {
  const steps = readSteps()
  assert.ok(steps.length >= 8, 'the walk-through was not found')
  const { url } = await startTestService(t)
  const outputs = await runSteps(steps, url)
  for (const [place, { script, shown }] of steps.entries()) {
    if (shown === undefined) continue
    const output = outputs[place] ?? ''
    assert.ok(output.endsWith('\n'), `the prompt follows on the last line of:\n${script}`)
    assert.match(output.replaceAll(/\s/g, ''), toPattern(shown), `the README shows something else for:\n${script}`)
  }
})
