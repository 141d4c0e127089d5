/** What was found, in one line and a small bar for each account; then another one, or the way back. */
import type { JSX } from 'preact'
import type { SessionConnection } from '../api/session-api.ts'
import type { Flow } from '../flow/use-flow.ts'
import { toTrouble } from '../flow/view.ts'
import { AssetBar } from '../parts/asset-bar.tsx'
import { Card } from '../parts/card.tsx'
import { ProviderMark } from '../parts/mark.tsx'
import { useSpeech } from '../texts/index.ts'
import { ProofLine } from './proof-line.tsx'
import type { ScreenProps } from './screen-props.ts'

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
