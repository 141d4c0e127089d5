/** Who wants to see what, what can never happen, until when, and how to end it. Names what is connected already. */
import type { JSX } from 'preact'
import type { Session } from '../api/session-api.ts'
import { fromRoot } from '../config.ts'
import { Card } from '../parts/card.tsx'
import { Icon } from '../parts/icons.tsx'
import { ApplicationMark, ProviderMark } from '../parts/mark.tsx'
import { useSpeech, type TextKey } from '../texts/index.ts'
import type { ScreenProps } from './screen-props.ts'

export function Consent({ flow, onLeave, logo }: ScreenProps & { logo: string | null }): JSX.Element {
  const { t, date } = useSpeech()
  const { session, busy } = flow
  const { client, tenant } = session
  const app = client.name
  const has = session.existing.length > 0
  return (
    <Card
      screen={has ? 'consent existing' : 'consent'}
      title={t('consent.title', { app })}
      lead={tenant.name === app ? undefined : t('consent.by', { app, tenant: tenant.name })}
      sandbox={session.sandbox}
      mark={
        <div class="joined">
          <ApplicationMark name={app} logo={client.logo_uri} />
          <span class="joined-line" />
          <img src={logo === null ? fromRoot('icon.svg').href : fromRoot(logo).href} width="36" height="36" alt="" />
        </div>
      }
    >
      <ul class="promises">
        <Promised icon="eye" title={t('consent.see')} text={t(seenKey(session.scopes))} />
        <Promised icon="shield" title={t('consent.never')} text={t('consent.never_list')} />
        <Promised
          icon="clock"
          title={t('consent.until')}
          text={t('consent.until_date', { app, date: date(session.grant_expires_at) })}
        />
      </ul>
      {has && <Existing session={session} />}
      <div class="actions">
        <button type="button" class="button" disabled={busy} onClick={() => flow.agree()}>
          {t(has ? 'consent.agree_existing' : 'consent.agree')}
        </button>
        <button type="button" class="button button-quiet" disabled={busy} onClick={onLeave}>
          {t('common.not_now')}
        </button>
      </div>
    </Card>
  )
}

function Promised({
  icon,
  title,
  text,
}: {
  icon: 'eye' | 'shield' | 'clock'
  title: string
  text: string
}): JSX.Element {
  return (
    <li>
      <Icon name={icon} />
      <div>
        <strong>{title}</strong>
        <p>{text}</p>
      </div>
    </li>
  )
}

function Existing({ session }: { session: Session }): JSX.Element {
  const { t } = useSpeech()
  return (
    <section class="existing">
      <p>{t('consent.existing', { app: session.client.name })}</p>
      <ul class="plain-list">
        {session.existing.map(({ connection_id, provider_id, name, display_label }) => (
          <li key={connection_id}>
            <ProviderMark id={provider_id} name={name} />
            <span>
              {name}
              {display_label !== null && <span class="secondary"> {display_label}</span>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function seenKey(scopes: readonly string[]): TextKey {
  const assets = scopes.includes('assets:read')
  const transactions = scopes.includes('transactions:read')
  if (assets && transactions) return 'consent.see_both'
  if (assets) return 'consent.see_assets'
  return transactions ? 'consent.see_transactions' : 'consent.see_sources'
}
