// Runs a load that world/measuring/load.ts wrote, and prints the result as JSON. It is plain JavaScript, like
// everything that imports from bench/node_modules, because the tree must type-check where that is not installed.
import { readFileSync } from 'node:fs'
import autocannon from 'autocannon'

const load = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const share = Math.ceil(load.requests.length / load.connections)
let dealt = 0
let failures = 0
let firstFailure = ''

const result = await autocannon({
  url: load.url,
  connections: load.connections,
  duration: load.seconds,
  // One pass over all of a connection's requests after the other; the shares differ, so no two connections act in
  // unison.
  setupClient(client) {
    const begin = (dealt++ % load.connections) * share
    client.setRequests(load.requests.slice(begin, begin + share))
    client.on('response', (status) => {
      if (status === 200) return
      failures += 1
      firstFailure ||= `status ${status}`
    })
  },
})

console.log(
  JSON.stringify({
    requests: result.requests.total,
    seconds: result.duration,
    failures: failures + result.errors + result.timeouts,
    firstFailure: firstFailure || `${result.errors} errors, ${result.timeouts} timeouts`,
  }),
)
