/** Whether an account adds up, in plain words: the same verdict that applications read as a grade (docs/proof.md). */
import type { JSX } from 'preact'
import type { Difference, Proof, SessionConnection } from '../api/session-api.ts'
import { Icon } from '../parts/icons.tsx'
import { useSpeech, type Speech } from '../texts/index.ts'

export function ProofLine({ connection }: { connection: SessionConnection }): JSX.Element | null {
  const speech = useSpeech()
  const { progress, name } = connection
  // Before the history is read there is nothing to check, and an empty account has nothing to add up.
  if (!progress.done || (progress.transactions === 0 && progress.assets === 0)) return null
  const { proof } = progress
  const isGood = proof !== null && (proof.grade === 'proved' || proof.grade === 'explained')
  return (
    <p class={proof === null ? 'secondary' : isGood ? 'remark remark-good' : 'remark'} role="status">
      {proof !== null && <Icon name={isGood ? 'check' : 'warn'} size={16} />}
      <span>{toWords(speech, name, proof)}</span>
    </p>
  )
}

function toWords(speech: Speech, provider: string, proof: Proof | null): string {
  const { t, month } = speech
  if (proof === null) return t('proof.checking')
  const { grade, proved_since: since, difference } = proof
  if (grade === 'unprovable') return t('proof.unprovable', { provider })
  if (difference !== null) return toDifferenceWords(speech, provider, difference)
  return since === null ? t('proof.proved_plain') : t('proof.proved', { date: month(since) })
}

function toDifferenceWords({ t, amount, month }: Speech, provider: string, difference: Difference): string {
  const { cause, asset_symbol: asset, assets } = difference
  const isExact = /^-?0(\.0+)?$/.test(difference.amount)
  const from = month(difference.start_time)
  const until = month(difference.end_time)
  const words =
    cause === 'coverage_hole' && isExact
      ? t('proof.not_read', { from, until })
      : t(`proof.${cause}`, { amount: amount(difference.amount), asset, provider, from, until })
  return assets === 1 ? words : `${words} ${t('proof.more', { count: assets - 1 })}`
}
