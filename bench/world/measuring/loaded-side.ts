/** A side of a measurement that is a server under load. */
import { median, type Side } from '../../measure.ts'
import { show } from '../../report.ts'
import { prepareLoad, type LoadRequest } from './load.ts'
import type { Process } from '../process.ts'

export interface LoadedSide extends Side {
  /** Processor time for each request, once it has run. */
  describeCpu(): string
}

export interface LoadedServer {
  /** Also of the file with its requests. */
  name: string
  server: Pick<Process, 'pid'> & { url: string }
  requests: readonly LoadRequest[]
  seconds: number
}

/** Its figure is answers per second. */
export async function loadedSide({ name, server, requests, seconds }: LoadedServer): Promise<LoadedSide> {
  const load = await prepareLoad(name, { url: server.url, pid: server.pid, seconds, requests })
  const cpus: number[] = []
  return {
    name,
    async run() {
      const { perSecond, cpuUs } = await load()
      cpus.push(cpuUs)
      return perSecond
    },
    describeCpu: () => describeCpu(name, cpus),
  }
}

/** Of all runs but the first, which warmed it up. */
export function describeCpu(name: string, cpusUs: readonly number[]): string {
  return `${name} ${show(median(cpusUs.slice(1)))} µs`
}

/** For the notes of a finding: a ratio of processor times is reliable on a busy machine. */
export function describeCpus(sides: readonly LoadedSide[]): string {
  return `Processor time of the process for each answer: ${sides.map((side) => side.describeCpu()).join(', ')}.`
}
