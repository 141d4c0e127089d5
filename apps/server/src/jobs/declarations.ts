/**
 * Every job of the service, declared once: its payload, its subject, its lane and its priority.
 * Adding a job and handling it are both typed from here, so a payload that its handler could not read does not compile.
 *
 * Payloads carry keys and ids, never secrets: operators of the database read the job tables.
 */
import { z } from 'zod'
import type { ConnectionRef, Owner } from '../owner.ts'
import { checkFlags, mailFlags, userFlags, webhookFlags } from './shares.ts'

/**
 * Interactive: a person waits for it. Crowded: a person waits for it, and several jobs of the same tenant wait already;
 * the first ones of every tenant go before it. Yielding: every other due job goes first, for a minute at most.
 */
export type Priority = 'interactive' | 'crowded' | 'background' | 'yielding'

export interface Declaration<Schema extends z.ZodType = z.ZodType> {
  payload: Schema
  /**
   * The subject of the job. Its key is its name and its subject: one job waits for each key, adding it again moves it,
   * and a running job is not disturbed. Undefined when the whole fleet has one such job.
   */
  subject?(payload: z.output<Schema>): string
  /** Jobs of one lane run one after another, whichever worker takes them. */
  lane?(payload: z.output<Schema>): string
  priority(payload: z.output<Schema>): Priority
  /** What it shares the places of a worker with (shares.ts). */
  flags?(payload: z.output<Schema>): string[]
  /** What becomes of `interactive` where dozens of the tenant's jobs wait already; crowded by default. */
  amongMany?: 'background'
  /** Can be asked to end early when a person waits for its place (make-room.ts). */
  makesRoom: boolean
}

function declare<Schema extends z.ZodType>(declaration: Declaration<Schema>): Declaration<Schema> {
  return declaration
}

const owner = z.object({
  tenantKey: z.int(),
  tenantId: z.string(),
  userKey: z.string().regex(/^-?\d{1,19}$/),
  userId: z.string(),
}) satisfies z.ZodType<Owner>

const connection = owner.extend({
  connectionKey: z.int(),
  connectionId: z.string(),
}) satisfies z.ZodType<ConnectionRef>

/** The lane of a key begins with its provider. */
export const toProviderLane = (providerId: string, key: string): string => `${providerId} ${key}`
export const providerOfLane = (lane: string): string => lane.split(' ', 1)[0] ?? ''

/** The lane of a key is part of the payload: a connection that was repaired since has another one. */
const reading = {
  ref: connection,
  lane: z.string(),
  /** How far the run has come; absent when a run begins. */
  run: z
    .object({
      untilMs: z.int(),
      stage: z.enum(['recent', 'rest']),
      /** Names of balances that were left out when it began. */
      leftOut: z.array(z.string()).exactOptional(),
    })
    .exactOptional(),
}

/**
 * A refresh has priority over the background until its first page only, in the queue and in the budgets of providers. One
 * during a long first read has all of that history to read, and would otherwise keep every other job waiting.
 */
export function isInteractiveRefresh(of: { run?: object; kind: 'assets' | 'transactions'; inBackground?: boolean }) {
  return of.inBackground !== true && (of.run === undefined || of.kind === 'assets')
}

export const declarations = {
  verify: declare({
    payload: z.object({
      ref: connection,
      lane: z.string(),
      providerId: z.string(),
      /** What it has tried so far; absent at first. */
      tried: z.object({ attempts: z.int(), wasCalled: z.boolean(), lastTryAtMs: z.int() }).exactOptional(),
    }),
    subject: ({ ref }) => ref.connectionId,
    lane: ({ lane }) => lane,
    priority: () => 'interactive',
    flags: ({ providerId }) => checkFlags(providerId),
    makesRoom: false,
  }),
  destroy: declare({
    payload: z.object({ ref: connection }),
    subject: ({ ref }) => ref.connectionId,
    priority: () => 'yielding',
    makesRoom: true,
  }),
  /** A run: balances and history of one connection. */
  sync: declare({
    payload: z.object({ ...reading, interactive: z.boolean().exactOptional() }),
    subject: ({ ref }) => ref.connectionId,
    lane: ({ lane }) => lane,
    priority: ({ interactive }) => (interactive === true ? 'interactive' : 'background'),
    // Also while a person waits: the balances of a large wallet take minutes, and anyone can connect hundreds of them.
    flags: ({ lane, ref }) => userFlags(providerOfLane(lane), ref.userKey),
    makesRoom: true,
  }),
  refresh: declare({
    payload: z.object({
      ...reading,
      kind: z.enum(['assets', 'transactions']),
      attempt: z.int(),
      /** One of many that a user has asked for within a minute. */
      inBackground: z.boolean().exactOptional(),
    }),
    subject: ({ ref, kind }) => `${kind}:${ref.connectionId}`,
    lane: ({ lane }) => lane,
    priority: (payload) => (isInteractiveRefresh(payload) ? 'interactive' : 'background'),
    // A person may ask for twenty of them within a minute.
    flags: ({ lane, ref }) => userFlags(providerOfLane(lane), ref.userKey),
    // An application may ask for it for all its users, every minute.
    amongMany: 'background',
    makesRoom: true,
  }),
  webhook: declare({
    /**
     * Each message wakes the sender with its own job: one key per tenant would make transactions wait for each other.
     */
    payload: z.object({
      tenantId: z.string(),
      messageId: z.string().exactOptional(),
      /** The receiver takes long to answer. */
      slow: z.boolean().exactOptional(),
    }),
    subject: ({ tenantId, messageId }) => messageId ?? tenantId,
    lane: ({ tenantId }) => `webhook:${tenantId}`,
    priority: () => 'yielding',
    flags: ({ slow }) => webhookFlags(slow === true),
    makesRoom: true,
  }),
  match: declare({
    payload: z.object({ owner }),
    subject: ({ owner: { userId } }) => userId,
    priority: () => 'background',
    makesRoom: false,
  }),
  upkeep: declare({ payload: z.object({}), priority: () => 'background', makesRoom: false }),
  sign_in_mail: declare({
    payload: z.object({ sessionId: z.string() }),
    subject: ({ sessionId }) => sessionId,
    priority: () => 'interactive',
    flags: mailFlags,
    makesRoom: false,
  }),
} satisfies Record<string, Declaration>

export type JobName = keyof typeof declarations

/** The payload that code passes to `addJob` and a handler receives. */
export type PayloadOf<Name extends JobName> = z.output<(typeof declarations)[Name]['payload']>

/**
 * `signal` is aborted when the process is asked to stop, and for jobs that make room also when a person waits for their
 * place: finish the page under way, queue the rest, and return.
 */
export type Handler<Name extends JobName> = (payload: PayloadOf<Name>, signal: AbortSignal) => Promise<void>

/**
 * One for each job, so that a new job without a handler does not compile. Undefined leaves its jobs to other workers.
 */
export type Handlers = { [Name in JobName]: Handler<Name> | undefined }

/**
 * The one place where names change: snake_case in the table, camelCase in code. Values stay as they are. `traceparent`
 * is the trace that the job continues; a handler does not see it in its payload.
 */
export function toStored(name: JobName, payload: unknown, traceparent?: string): string {
  // Parsed on the way in too, so that members the job does not need are dropped.
  const stored = renameKeys(declarations[name].payload.parse(payload), toSnake)
  return JSON.stringify(traceparent === undefined ? stored : { ...(stored as object), traceparent })
}

export function parseStored<Name extends JobName>(name: Name, stored: unknown): PayloadOf<Name> {
  return declarations[name].payload.parse(renameKeys(stored, toCamel)) as PayloadOf<Name>
}

export function findStoredTrace(stored: unknown): string | undefined {
  if (typeof stored !== 'object' || stored === null || !('traceparent' in stored)) return undefined
  return typeof stored.traceparent === 'string' ? stored.traceparent : undefined
}

const toSnake = (key: string): string => key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
const toCamel = (key: string): string => key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

function renameKeys(value: unknown, rename: (key: string) => string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [rename(key), renameKeys(one, rename)]))
}
