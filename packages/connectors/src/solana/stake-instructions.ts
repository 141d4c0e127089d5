/**
 * What a transaction told the stake program, as nodes parse it (github.com/anza-xyz/agave,
 * transaction-status/src/parse_stake.rs). Pure.
 */
import { z } from 'zod'
import { digits } from './rpc.ts'

export interface StakeInstruction {
  type: string
  info: Readonly<Record<string, unknown>>
}

const instructions = z.array(
  z.object({
    program: z.string().nullish(),
    parsed: z
      .object({ type: z.string(), info: z.record(z.string(), z.unknown()) })
      .optional()
      .catch(undefined),
  }),
)
const shape = z.object({
  transaction: z.object({ message: z.object({ instructions: instructions.catch([]) }) }),
  meta: z.object({
    err: z.unknown(),
    innerInstructions: z
      .array(z.object({ index: digits, instructions }))
      .nullish()
      .catch(null),
  }),
})

/**
 * In the order in which they were executed; none for a failed transaction. Any sender can write any account and any
 * wallet into an instruction that the stake program then refuses. `transaction` has numbers as text.
 */
export function listStakeInstructions(transaction: unknown): StakeInstruction[] {
  const parsed = shape.safeParse(transaction)
  if (!parsed.success) return []
  const { transaction: given, meta } = parsed.data
  if (meta.err !== null && meta.err !== undefined) return []
  const calls = Map.groupBy(meta.innerInstructions ?? [], ({ index }) => Number(index))
  const executed = given.message.instructions.flatMap((outer, index) => [
    outer,
    ...(calls.get(index) ?? []).flatMap((inner) => inner.instructions),
  ])
  return executed.flatMap(({ program, parsed: found }) => (program === 'stake' && found !== undefined ? [found] : []))
}

const authorizing = new Set(['authorize', 'authorizeChecked', 'authorizeWithSeed', 'authorizeCheckedWithSeed'])

/** The address that may withdraw from `stakeAccount` after the instruction, where the instruction changes it. */
export function findNewWithdrawer({ type, info }: StakeInstruction): unknown {
  if (type === 'initialize') return z.object({ withdrawer: z.string() }).safeParse(info['authorized']).data?.withdrawer
  if (type === 'initializeChecked') return info['withdrawer']
  if (!authorizing.has(type) || info['authorityType'] !== 'Withdrawer') return undefined
  return info['newAuthority'] ?? info['newAuthorized']
}
