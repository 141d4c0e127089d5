/**
 * A Prometheus with the jobs and alert rules of deploy/, on an installation that a test has started. It scrapes every
 * second instead of every fifteen, so that rates have samples soon. Debian's package `prometheus` has the program.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parse, stringify } from 'yaml'
import { reservePort } from '../reserve-port.ts'
import { lastFirst } from '../service.ts'
import { until } from '../until.ts'

type Scope = Parameters<typeof lastFirst>[0]

export interface Scraped {
  /** The address, such as 127.0.0.1:4000, that each job of deploy/prometheus.yaml scrapes. */
  targets: Readonly<Record<string, string>>
  metricsToken: string
}

export interface Series {
  labels: Readonly<Record<string, string>>
  /** All samples since the start, without those that are not a number. */
  values: readonly number[]
}

export interface Prometheus {
  /** As Grafana asks: the query at every second since the start. */
  ask(query: string): Promise<Series[]>
  /** The rules and how their last evaluation went: `ok`, `err` or `unknown` before the first. */
  listRules(): Promise<{ name: string; health: string; lastError?: string }[]>
  listLabels(): Promise<string[]>
  /** Targets that could not be scraped, with the reason. */
  listFailedScrapes(): Promise<string[]>
}

const deploy = path.resolve(import.meta.dirname, '../../deploy')

export async function startPrometheus(test: Scope, program: string, scraped: Scraped): Promise<Prometheus> {
  const t = lastFirst(test)
  const directory = await mkdtemp(path.join(os.tmpdir(), 'assay-prometheus-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  const config = path.join(directory, 'prometheus.yml')
  await writeFile(path.join(directory, 'token'), scraped.metricsToken, { mode: 0o600 })
  await writeFile(config, await toConfig(directory, scraped))
  const address = `127.0.0.1:${await reservePort(t)}`
  const storage = `--storage.tsdb.path=${path.join(directory, 'samples')}`
  const words = [`--config.file=${config}`, storage, `--web.listen-address=${address}`, '--log.level=warn']
  const child = spawn(program, words, { stdio: ['ignore', 'ignore', 'inherit'] })
  const failed = new Promise<never>((_, reject) => child.once('error', reject))
  const startedAt = Date.now() / 1_000
  t.after(async () => {
    if (child.pid === undefined || child.exitCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  const answers = async (): Promise<true | undefined> => {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`)
    const response = await fetch(`http://${address}/-/ready`).catch(() => undefined)
    return response?.ok === true ? true : undefined
  }
  await Promise.race([failed, until('Prometheus to be ready', answers, 100)])
  return createClient(`http://${address}`, startedAt)
}

interface ScrapeConfig {
  job_name: string
  authorization: { credentials_file: string }
  [setting: string]: unknown
}

/** The jobs as they are deployed, except for where they find their targets and how often they look. */
async function toConfig(directory: string, { targets }: Scraped): Promise<string> {
  const deployed = parse(await readFile(path.join(deploy, 'prometheus.yaml'), 'utf8')) as {
    scrape_configs: ScrapeConfig[]
  }
  const jobs = deployed.scrape_configs.map((job) => {
    const target = targets[job.job_name]
    if (target === undefined) throw new Error(`nothing to scrape for the job ${job.job_name}`)
    return {
      ...job,
      dns_sd_configs: [],
      scrape_interval: '1s',
      authorization: { credentials_file: path.join(directory, 'token') },
      static_configs: [{ targets: [target] }],
    }
  })
  return stringify({
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [path.join(deploy, 'alerts.yaml')],
    scrape_configs: jobs,
  })
}

function createClient(url: string, startedAt: number): Prometheus {
  async function get<T>(route: string): Promise<T> {
    const response = await fetch(`${url}/api/v1/${route}`)
    const body = (await response.json()) as { data: T; error?: string }
    if (!response.ok) throw new Error(`${route}: ${body.error ?? response.status}`)
    return body.data
  }
  return {
    async ask(query) {
      const range = { start: String(startedAt), end: String(Date.now() / 1_000), step: '1' }
      type Matrix = { result: { metric: Record<string, string>; values: [number, string][] }[] }
      const { result } = await get<Matrix>(`query_range?${new URLSearchParams({ query, ...range }).toString()}`)
      return result.map(({ metric, values }) => ({
        labels: metric,
        values: values.map(([, text]) => Number(text)).filter((value) => !Number.isNaN(value)),
      }))
    },
    async listRules() {
      type Rules = { groups: { rules: { name: string; health: string; lastError?: string }[] }[] }
      return (await get<Rules>('rules')).groups.flatMap(({ rules }) => rules)
    },
    listLabels: () => get('labels'),
    async listFailedScrapes() {
      type Targets = { activeTargets: { scrapeUrl: string; health: string; lastError: string }[] }
      const { activeTargets } = await get<Targets>('targets')
      return activeTargets.filter(({ health }) => health !== 'up').map((one) => `${one.scrapeUrl}: ${one.lastError}`)
    },
  }
}
