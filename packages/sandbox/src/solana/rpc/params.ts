/** The parameters of calls, and a node's words for those it refuses. Source: anza-xyz/agave, rpc/src/rpc.rs. */
import type { Address } from '@solana/kit'
import { z } from 'zod'
import type { CallContext } from '../../core/serving/provider-server.ts'
import { fromBase58 } from '../chain/addresses.ts'
import { newestSlot, type Commitment } from '../chain/slots.ts'
import { invalidParams, RpcError } from './wire.ts'
import type { World } from '../world.ts'

export interface Call {
  world: World
  context: CallContext
  params: readonly unknown[]
  nowMs: number
}

export type Method = (call: Call) => unknown

/** The release that the simulator's answers are modelled on. */
export const apiVersion = '3.0.10'

/** Members that every configuration may have. Nodes ignore members that they do not know. */
export const commonConfig = z.object({
  commitment: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
  minContextSlot: z.int().min(0).nullish(),
})

const encodings = ['base58', 'base64', 'base64+zstd', 'binary', 'jsonParsed'] as const
export const accountConfig = commonConfig.extend({
  encoding: z.enum(encodings).nullish(),
  dataSlice: z.object({ offset: z.int().min(0), length: z.int().min(0) }).nullish(),
})

export function configAt<T extends z.ZodType>({ params }: Call, index: number, schema: T): z.output<T> {
  const parsed = schema.safeParse(params[index] ?? {})
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalidParams(`Invalid params: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'invalid'}.`)
}

function textAt({ params }: Call, index: number): string {
  if (params.length <= index) throw invalidParams(`\`params\` should have at least ${index + 1} argument(s)`)
  const text = params[index]
  if (typeof text !== 'string') throw invalidParams(`Invalid params: invalid type: ${typeof text}, expected a string.`)
  return text
}

export function addressAt(call: Call, index: number): Address {
  return requireAddress(textAt(call, index))
}

export function signatureAt(call: Call, index: number): string {
  return requireSignature(textAt(call, index))
}

/** A list of at most so many texts. */
export function listAt({ params }: Call, index: number, max: number): string[] {
  if (params.length <= index) throw invalidParams(`\`params\` should have at least ${index + 1} argument(s)`)
  const parsed = z.array(z.string()).safeParse(params[index])
  if (!parsed.success) throw invalidParams('Invalid params: invalid type, expected a sequence.')
  if (parsed.data.length > max) throw invalidParams(`Too many inputs provided; max ${max}`)
  return parsed.data
}

export function requireAddress(text: string): Address {
  requireBytes(text, 32)
  return text as Address
}

export function requireSignature(text: string): string {
  requireBytes(text, 64)
  return text
}

function requireBytes(text: string, length: number): void {
  // Longer ones are not even decoded.
  const bytes = text.length > 2 * length ? Buffer.alloc(0) : fromBase58(text)
  if (bytes === undefined) throw invalidParams('Invalid param: Invalid')
  if (bytes.length !== length) throw invalidParams('Invalid param: WrongSize')
}

/** The slot that a call sees, which is the newest of its commitment: finalized, unless it asks for another. */
export function slotFor({ nowMs }: Call, config: z.output<typeof commonConfig>): number {
  const commitment: Commitment = config.commitment ?? 'finalized'
  const slot = newestSlot(nowMs, commitment)
  if ((config.minContextSlot ?? 0) > slot) {
    throw new RpcError(-32016, 'Minimum context slot has not been reached', { contextSlot: slot })
  }
  return slot
}

export function requireConfirmed(config: z.output<typeof commonConfig>): void {
  if (config.commitment === 'processed') {
    throw invalidParams('Method does not support commitment below `confirmed`')
  }
}

export function withContext(slot: number, value: unknown): object {
  return { context: { apiVersion, slot }, value }
}
