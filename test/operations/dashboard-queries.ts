/**
 * Every query of deploy/dashboard.json and both sides of every alert in deploy/alerts.yaml, asked of a real Prometheus
 * that scrapes an API process and a worker under load. `deploy/check-dashboard.sh` runs it.
 *
 * promtool checks the syntax of a query, and deploy.test.ts that each metric exists. Neither notices a label that
 * Prometheus overwrites, a sum over a label that no series has, or a filter that matches nothing.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { openAdmin } from '@assay/server/admin'
import { parseConfig, readEnvironment } from '@assay/server/config'
import { createLog } from '@assay/server/log'
import { parse } from 'yaml'
import { connect, fetchText, untilRead } from '../application.ts'
import { startPrometheus, type Prometheus, type Series } from './prometheus.ts'
import { reservePort } from '../reserve-port.ts'
import { lastFirst, startTestService, type TestService } from '../service.ts'
import { until } from '../until.ts'

const root = path.resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')

/** A query, and the labels that its legend or its alert's text names. */
interface Query {
  from: string
  text: string
  labels: string[]
}

/** Queries about failures that this installation does not have. */
const emptyWhenHealthy = [
  /^sum\(rate\(assay_http_request_duration_seconds_count\{status=~"5\.\."\}\[5m\]\)\)$/,
  /outcome=~"failed\|refused"/,
  /grade="open"/,
]

interface Panel {
  title: string
  targets?: { refId: string; expr: string; legendFormat: string }[]
}

function listDashboardQueries(): Query[] {
  const { panels } = JSON.parse(read('deploy/dashboard.json')) as { panels: Panel[] }
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr, legendFormat }) => ({
      from: `panel "${title}" ${refId}`,
      text: expr,
      labels: [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label),
    })),
  )
}

interface Rule {
  alert: string
  expr: string
  annotations: Record<string, string>
}

const listRules = (): Rule[] =>
  (parse(read('deploy/alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules)

/** An alert is a comparison, and returns nothing while all is well. Both of its sides must have series. */
function listAlertQueries(): Query[] {
  return listRules().flatMap(({ alert, expr, annotations }) => {
    const [left = '', ...others] = splitComparison(expr).map((side) => side.replace(/^absent\((.*)\)$/s, '$1'))
    const labels = [
      ...Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g),
    ].map(([, name = '']) => name)
    const bounds = others.filter((side) => !/^[\d.]+$/.test(side))
    return [
      { from: alert, text: left, labels },
      ...bounds.map((text) => ({ from: `${alert}, its bound`, text, labels: [] })),
    ]
  })
}

/** Splits at the comparison outside brackets and quotation marks. */
function splitComparison(expr: string): string[] {
  const bare = expr.replaceAll(/"[^"]*"/g, (quoted) => '_'.repeat(quoted.length))
  let depth = 0
  for (const { index, 0: sign } of bare.matchAll(/[({[\]})]|==|[<>]/g)) {
    if ('({['.includes(sign)) depth += 1
    else if (')}]'.includes(sign)) depth -= 1
    else if (depth === 0) return [expr.slice(0, index).trim(), expr.slice(index + sign.length).trim()]
  }
  return [expr.trim()]
}

interface Installation extends TestService {
  prometheus: Prometheus
}

const users = ['ann', 'ben', 'cleo', 'dora']

const metricsToken = randomBytes(16).toString('hex')
const silenced = 'bitfinex'
const garbled = 'okx'

async function startInstallation(test: TestContext): Promise<Installation> {
  const t = lastFirst(test)
  const service = await startTestService(t, { role: 'api', settings: { ASSAY_METRICS_TOKEN: metricsToken } })
  const statusPort = await reservePort(t)
  const worker = spawn(process.execPath, [path.join(root, 'apps/cli/bin/assay.mjs'), 'serve', '--role', 'worker'], {
    env: { PATH: readEnvironment()['PATH'], ...service.environment, ASSAY_STATUS_PORT: String(statusPort) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  t.after(async () => {
    if (worker.exitCode !== null) return
    worker.kill('SIGTERM')
    await once(worker, 'exit')
  })
  const api = new URL(service.url).host
  const prometheus = await startPrometheus(t, readEnvironment()['PROMETHEUS'] ?? 'prometheus', {
    targets: { 'assay-api': api, 'assay-worker': `127.0.0.1:${statusPort}`, 'assay-fleet': api },
    metricsToken,
  })
  await setFailingWebhook(t, service)
  for (const user of users) {
    const providers = ['kraken', 'binance', silenced, garbled].map((id) => ({ provider_id: id, scenario: 'empty' }))
    const { token } = await connect(service.url, user, user === 'dora' ? [{ provider_id: 'kraken' }] : providers)
    await untilRead(service.url, token)
  }
  return { ...service, prometheus }
}

async function setFailingWebhook(t: Pick<TestContext, 'after'>, { environment }: TestService): Promise<void> {
  const receiver = createServer({ keepAliveTimeout: 0 }, (_, response) => void response.writeHead(500).end()).listen(
    0,
    '127.0.0.1',
  )
  await once(receiver, 'listening')
  t.after(() => receiver.close())
  const admin = await openAdmin(parseConfig(environment, 'command'), createLog({ level: 'error' }))
  try {
    const [tenant] = await admin.tenants.listTenants()
    await admin.webhooks.set(
      tenant?.tenantId ?? '',
      `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
    )
  } finally {
    await admin.close()
  }
}

async function post(url: string, body: object, bearer?: string): Promise<Response> {
  const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
  const headers = { 'content-type': 'application/json', ...authorization }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  assert.ok(response.ok, `${url}: ${response.status}`)
  return response
}

/**
 * Moves the clock by twenty minutes, which makes every connection due, reads a page for every user, and requests a
 * sign-in code.
 */
async function makeLoad({ url }: Installation): Promise<void> {
  await post(`${url}/sandbox/clock`, { advance_ms: 20 * 60_000 })
  // This uses a new authorization, because tokens expire as the clock moves.
  for (const user of users) await fetchText(url, '/accounts/v2/transactions', (await connect(url, user, [])).token)
  const challenge = randomBytes(32).toString('base64url')
  const query = `client_id=cli_demo&code_challenge=${challenge}&code_challenge_method=S256&state=${randomUUID()}`
  const begun = await post(`${url}/connect/v1/session`, { query })
  const { session_secret: secret } = (await begun.json()) as { session_secret: string }
  await post(`${url}/connect/v1/session/email`, { email: `${randomUUID()}@example.com` }, secret)
  await until('the mail', async () => {
    const { mail } = JSON.parse(await fetchText(url, '/connect/v1/session/sandbox', secret)) as { mail: object | null }
    return mail ?? undefined
  })
}

describe('a Prometheus that scrapes an API process and a worker', () => {
  it('has series for every query of the dashboard and the alerts, with the labels that their texts name', async (t) => {
    const installation = await startInstallation(t)
    const { url, prometheus } = installation
    await post(`${url}/sandbox/providers/${silenced}/faults`, { kind: 'down' })
    await post(`${url}/sandbox/providers/${garbled}/faults`, { kind: 'truncated_json' })
    const queries = [...listDashboardQueries(), ...listAlertQueries()]
    assert.ok(queries.length > 40)
    const isExpected = ({ text }: Query): boolean => !emptyWhenHealthy.some((pattern) => pattern.test(text))
    const found = new Map<Query, Series[]>()
    const waitsFor = async (query: Query): Promise<boolean> => {
      const series = (await prometheus.ask(query.text)).filter(({ values }) => values.length > 0)
      if (series.length > 0) found.set(query, series)
      return series.length === 0 && isExpected(query)
    }
    let missing = queries
    await until(
      'series for every query',
      async () => {
        await makeLoad(installation)
        const still: Query[] = []
        for (const query of missing) if (await waitsFor(query)) still.push(query)
        if (still.length < missing.length) t.diagnostic(`no series yet: ${still.map(({ from }) => from).join(', ')}`)
        missing = still
        return still.length === 0 ? true : undefined
      },
      1_000,
    )
    for (const [{ from, labels }, series] of found) {
      const unlabelled = labels.filter((label) => series.some((one) => !(label in one.labels)))
      assert.deepEqual(unlabelled, [], `${from}: series without a label that its text names`)
    }
    t.diagnostic(`${found.size} of ${queries.length} queries have series`)
    for (const query of queries.filter((one) => !found.has(one))) t.diagnostic(`none, as expected: ${query.from}`)
    await checkHealth(prometheus)
  })
})

async function checkHealth(prometheus: Prometheus): Promise<void> {
  assert.deepEqual(await prometheus.listFailedScrapes(), [])
  const rules = await prometheus.listRules()
  assert.equal(rules.length, listRules().length)
  assert.deepEqual(
    rules.filter(({ health }) => health !== 'ok'),
    [],
  )
  const renamed = (await prometheus.listLabels()).filter((label) => label.startsWith('exported_'))
  assert.deepEqual(renamed, [], 'labels of ours that Prometheus renamed, because it sets them itself')
}
