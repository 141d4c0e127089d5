/** Who may see and do what, what can never happen, until when, and how to end it. Names what is connected already. */
import {
  toAccountName,
  toConsentLanguage,
  toConsentText,
  type ConsentFacts,
  type ConsentSection,
} from '@assay/core/consent'
import type { JSX } from 'preact'
import type { ConnectSession } from '../api/session-api.ts'
import { fromRoot } from '../config.ts'
import { Card } from '../parts/card.tsx'
import { ApplicationMark, Icon, ProviderMark } from '../parts/icons.tsx'
import { useSpeech } from '../texts/index.ts'
import type { ScreenProps } from './screen-props.ts'

const icons = { see: 'eye', act: 'link', never: 'shield', until: 'clock' } as const

export function Consent({ flow, onLeave, logo }: ScreenProps & { logo: string | null }): JSX.Element {
  const { t, language } = useSpeech()
  const { session, busy } = flow
  const { client, existing } = session
  const text = toConsentText(toFacts(session), toConsentLanguage(language))
  const has = existing.length > 0
  return (
    <Card
      screen={has ? 'consent existing' : 'consent'}
      title={text.title}
      lead={text.lead ?? undefined}
      sandbox={session.sandbox}
      mark={
        <div class="joined">
          <ApplicationMark name={client.name} logo={client.logo_uri} />
          <span class="joined-line" />
          <img src={logo === null ? fromRoot('icon.svg').href : fromRoot(logo).href} width="36" height="36" alt="" />
        </div>
      }
    >
      <ul class="promises">
        {text.sections.map((section) => (
          <Promised key={section.name} section={section} />
        ))}
      </ul>
      {text.existing !== null && <Existing lead={text.existing} session={session} />}
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

/** The server stores what these facts say in the language of the page, so the page must not add text of its own. */
function toFacts({ client, tenant, scopes, shares_email, grant_expires_at, existing }: ConnectSession): ConsentFacts {
  return {
    app: client.name,
    tenant: tenant.name,
    scopes,
    sharesEmail: shares_email,
    expiresAt: grant_expires_at,
    existing: existing.map(({ name, display_label }) => toAccountName(name, display_label)),
  }
}

function Promised({ section: { name, title, lines } }: { section: ConsentSection }): JSX.Element {
  return (
    <li>
      <Icon name={icons[name]} />
      <div>
        <strong>{title}</strong>
        {lines.map((line) => (
          <p key={line}>{line}</p>
        ))}
      </div>
    </li>
  )
}

function Existing({ lead, session }: { lead: string; session: ConnectSession }): JSX.Element {
  return (
    <section class="existing">
      <p>{lead}</p>
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
