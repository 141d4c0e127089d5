/**
 * `npm run campaign -- <name> [options]`: what is too long for every test run. Exits with 1 when something is wrong.
 */

interface Campaign {
  /** True when it passed. */
  load(): Promise<(words: string[]) => Promise<boolean>>
  summary: string
}

const campaigns: Record<string, Campaign> = {
  kill: {
    load: async () => (await import('./kill/kill-report.ts')).kill,
    summary:
      '[--kills 100] [--seed n] [--entries 100000] [--provider kraken] [--sabotage] [--cluster]: kill -9 at random moments of a sync, nothing lost',
  },
  faults: {
    load: async () => (await import('./faults.ts')).run,
    summary:
      '[--seed n] [--rounds 3] [--accounts kraken,evm,…]: calls fail at random, and the read ends as an undisturbed one',
  },
  load: {
    load: async () => (await import('./load.ts')).run,
    summary: '[--minutes 10]: 80 % of the peak with PostgreSQL killed half-way, every request answered',
  },
  failover: {
    load: async () => (await import('./failover/failover.ts')).run,
    summary:
      '[--kills 10] [--seed n] [--entries 100000] [--rate 20] [--asynchronous]: the primary under Patroni killed under load, nothing lost',
  },
  memory: {
    load: async () => (await import('./memory/memory.ts')).run,
    summary: '[--small 10000] [--large 100000]: the memory of a worker does not grow with the history it reads',
  },
  export: {
    load: async () => (await import('./memory/export.ts')).run,
    summary:
      '[--small 10000] [--large 100000]: the memory of the API does not grow with what it exports to a slow reader',
  },
  'bad-input': {
    load: async () => (await import('./bad-input.ts')).run,
    summary: '[--requests 20000] [--seed n]: spoiled requests to every endpoint, never a 5xx',
  },
  attacks: {
    load: async () => (await import('./attacks/attacks.ts')).run,
    summary: '[--seed n] [words of a name …]: every named attack on OAuth and on the service, against a running one',
  },
  feed: {
    load: async () => (await import('./feed/feed.ts')).run,
    summary:
      '[--seed n] [--rounds 25] [--users 4] [--sabotage counter|page|tenant] [--cluster]: copies kept through the feeds equal the lists',
  },
  proof: {
    load: async () => (await import('./proof/proof.ts')).run,
    summary: '[--seed n] [--sabotages 200] [--accounts kraken,evm,…]: sabotaged records are noticed, each in its place',
  },
  verdicts: {
    load: async () => (await import('./proof/verdicts.ts')).run,
    summary:
      '[--all] [--only bybit,evm,…] [--scenarios large,…]: the proof of long accounts is what the simulators’ books lead to',
  },
  distribution: {
    load: async () => (await import('./cluster/distribution.ts')).run,
    summary: '--database-url postgres://… [--reset]: on a Citus cluster every hot statement goes to one shard',
  },
  cluster: {
    load: async () => (await import('./cluster/cluster.ts')).run,
    summary:
      '[--database-url postgres://…] [--only command|tests|nodes|walk] [--kills 12] [--seed n]: the service on a Citus cluster whose nodes are killed',
  },
}

const [name = '', ...words] = process.argv.slice(2)
const campaign = Object.hasOwn(campaigns, name) ? campaigns[name] : undefined
if (campaign === undefined) {
  const lines = Object.entries(campaigns).map(([known, { summary }]) => `  ${known.padEnd(13)} ${summary}\n`)
  process.stderr.write(`Usage: npm run campaign -- <name> [options]\n\n${lines.join('')}`)
  process.exitCode = 2
} else {
  const run = await campaign.load()
  if (!(await run(words))) process.exitCode = 1
}
