/** The connected accounts, with their state and what was read last. */
import type { JSX } from 'preact'
import type { ManageApi, Me, OwnConnection } from '../api/manage-api.ts'
import { ProviderMark } from '../parts/icons.tsx'
import { useSpeech } from '../texts/index.ts'
import type { Question } from '../parts/confirm.tsx'

type Counted = Pick<OwnConnection, 'status' | 'record_count' | 'transaction_count'>

interface AccountsProps {
  me: Me
  api: ManageApi
  ask: (question: Question) => void
}

export function Accounts({ me, api, ask }: AccountsProps): JSX.Element {
  const { t, moment } = useSpeech()
  // Transactions are made when a list was read to its end; until then the number of entries shows that reading
  // continues.
  const toCount = ({ status, record_count, transaction_count }: Counted): string =>
    status === 'syncing'
      ? t('connected.so_far', { count: record_count })
      : t('manage.count', { count: transaction_count })
  return (
    <section class="manage-section">
      <h2>{t('manage.connections')}</h2>
      {me.connections.length === 0 && <p class="secondary">{t('manage.no_connections')}</p>}
      <ul>
        {me.connections.map(
          ({ connection_id, provider_id, name, display_label, status, last_synced_at, ...counts }) => (
            <li key={connection_id} class="account">
              <ProviderMark id={provider_id} name={name} />
              <div class="account-text">
                <h3>
                  {name}
                  {display_label !== null && <span class="secondary"> {display_label}</span>}
                </h3>
                <p class="secondary numbers">
                  <span class={status === 'needs_reauth' ? 'remark-stop' : ''}>{t(`status.${status}`)}</span>
                  {` · ${toCount({ status, ...counts })}`}
                  {last_synced_at !== null && ` · ${t('manage.updated', { date: moment(last_synced_at) })}`}
                </p>
              </div>
              <button
                type="button"
                class="text-button"
                aria-label={`${t('manage.remove')} ${name}`}
                onClick={() =>
                  ask({
                    title: t('manage.remove_title', { name }),
                    body: t('manage.remove_body'),
                    yes: t('manage.remove'),
                    act: () => api.removeConnection(connection_id),
                  })
                }
              >
                {t('manage.remove')}
              </button>
            </li>
          ),
        )}
      </ul>
    </section>
  )
}
