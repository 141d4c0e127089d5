/**
 * The trace that the present work belongs to. Node's async context carries it, because a job is added deep inside a
 * room that has no other reason to know of traces. Nothing is set while tracing is off.
 *
 * The text is a `traceparent` (W3C Trace Context §3.2): version, trace id, id of the present span, flags.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

const present = new AsyncLocalStorage<string>()

export function findTraceparent(): string | undefined {
  return present.getStore()
}

export function runInTrace<T>(traceparent: string, work: () => T): T {
  return present.run(traceparent, work)
}
