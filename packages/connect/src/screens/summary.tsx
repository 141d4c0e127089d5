/**
 * What was found in each account: one line, a small bar, and whether it adds up. Then another account, or the way back.
 */
import type { JSX } from 'preact'
import type { Difference, Proof, SessionConnection } from '../api/session-api.ts'
import type { Flow } from '../flow/use-flow.ts'
import { toTrouble } from '../flow/view.ts'
import { Card } from '../parts/card.tsx'
import { Icon, ProviderMark } from '../parts/icons.tsx'
import { useSpeech, type Speech } from '../texts/index.ts'
import type { ScreenProps } from './screen-props.ts'
import { toWholePercents } from './whole-percents.ts'

export function Summary({ flow, onLeave }: ScreenProps): JSX.Element {
  const { t } = useSpeech()
  const { session, busy } = flow
  const { connections } = session
  const count = connections.length
  return (
    <Card
      screen="summary"
      title={count === 1 ? t('connected.title') : t('connected.title_many', { count })}
      sandbox={session.sandbox}
      onLeave={onLeave}
    >
      <ul class="accounts">
        {connections.map((connection) => (
          <Account key={connection.connection_id} connection={connection} flow={flow} />
        ))}
      </ul>
      <div class="actions">
        <button type="button" class="button" disabled={busy} onClick={() => flow.finish()}>
          {t('connected.finish')}
        </button>
        <button type="button" class="button button-quiet" disabled={busy} onClick={() => flow.go({ name: 'choose' })}>
          {t('connected.add')}
        </button>
      </div>
    </Card>
  )
}

function Account({ connection, flow }: { connection: SessionConnection; flow: Flow }): JSX.Element {
  const { t } = useSpeech()
  const { connection_id, provider_id, name, status, progress } = connection
  const broken = status === 'needs_reauth'
  return (
    <li class="account">
      <ProviderMark id={provider_id} name={name} />
      <div class="account-text">
        <h2>{name}</h2>
        {broken ? (
          <p class="remark remark-stop">{t('connected.attention')}</p>
        ) : (
          <>
            <FoundLine connection={connection} />
            <ProofLine connection={connection} />
          </>
        )}
      </div>
      {broken && (
        <button type="button" class="text-button" onClick={() => flow.go(toTrouble(connection))}>
          {t('connected.repair')}
        </button>
      )}
      <button
        type="button"
        class="text-button text-button-quiet"
        disabled={flow.busy}
        aria-label={`${t('connected.remove')} ${name}`}
        onClick={() => flow.remove(connection_id)}
      >
        {t('connected.remove')}
      </button>
      <AssetBar top={progress.top} label={t('connected.largest')} other={t('connected.other')} />
    </li>
  )
}

function FoundLine({ connection }: { connection: SessionConnection }): JSX.Element {
  const { t, month, dollars } = useSpeech()
  const { assets, records, transactions, history_from, done, value_in_usd } = connection.progress
  if (done && (assets ?? 0) === 0 && transactions === 0) return <p class="secondary">{t('connected.empty')}</p>
  const parts = [
    ...(assets === null ? [] : [t('connected.found', { count: assets })]),
    ...(value_in_usd === null ? [] : [t('connected.worth', { value: dollars(value_in_usd) })]),
    ...(!done || history_from === null
      ? [t('connected.reading'), ...(records === 0 ? [] : [t('connected.so_far', { count: records })])]
      : [t('connected.transactions', { count: transactions, date: month(history_from) })]),
  ]
  return <p class="secondary numbers">{parts.join(' · ')}</p>
}

/** Whether an account adds up, in plain words. Applications read the same verdict as a grade (docs/proof.md). */
function ProofLine({ connection }: { connection: SessionConnection }): JSX.Element | null {
  const speech = useSpeech()
  const { progress, name } = connection
  // Before the history is read there is nothing to check, and an empty account has nothing to add up.
  if (!progress.done || (progress.transactions === 0 && progress.assets === 0)) return null
  const { proof } = progress
  const tone = toTone(proof)
  return (
    <p class={tones[tone]} role="status">
      {tone !== 'quiet' && <Icon name={tone === 'good' ? 'check' : 'warn'} size={16} />}
      <span>{toWords(speech, name, proof)}</span>
    </p>
  )
}

const tones = { good: 'remark remark-good', quiet: 'secondary', caution: 'remark' } as const

/** A difference with a known cause is neither a success nor a warning: the sentence says what it is. */
function toTone(proof: Proof | null): keyof typeof tones {
  if (proof === null) return 'quiet'
  if (proof.grade !== 'proved' && proof.grade !== 'explained') return 'caution'
  return proof.difference === null ? 'good' : 'quiet'
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

interface AssetBarProps {
  top: readonly { asset_symbol: string; share: number }[]
  label: string
  other: string
}

/** A smaller slice is too thin to see and joins the rest. */
const shareMin = 0.015
const slicesMax = 4

/** The largest assets as one bar with a legend. Shares are for display only: no amount is computed from them. */
function AssetBar({ top, label, other }: AssetBarProps): JSX.Element | null {
  const { language } = useSpeech()
  const shown = top.filter(({ share }) => share >= shareMin).slice(0, slicesMax)
  if (shown.length === 0) return null
  const rest = Math.max(0, 1 - shown.reduce((sum, { share }) => sum + share, 0))
  const slices = rest >= 0.005 ? [...shown, { asset_symbol: other, share: rest }] : shown
  const percents = toWholePercents(slices.map(({ share }) => share))
  const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 0 })
  return (
    <figure class="asset-bar">
      <figcaption class="visually-hidden">{label}</figcaption>
      <div class="bar" aria-hidden="true">
        {slices.map(({ asset_symbol, share }, index) => (
          <span key={asset_symbol} class={`slice slice-${index}`} style={{ flexGrow: share }} />
        ))}
      </div>
      <ul class="legend numbers">
        {slices.map(({ asset_symbol }, index) => (
          <li key={asset_symbol}>
            <span class={`dot slice-${index}`} aria-hidden="true" />
            {asset_symbol} <span class="quiet">{percent.format((percents[index] ?? 0) / 100)}</span>
          </li>
        ))}
      </ul>
    </figure>
  )
}
