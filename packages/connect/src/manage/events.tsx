/** What happened to the person's consents and accounts: the audit log, as far as it concerns them. */
import type { JSX } from 'preact'
import type { AuditEvent, Me } from '../api/manage-api.ts'
import { useSpeech, type TextKey } from '../texts/index.ts'

/** The newest; the service keeps more. */
const eventsMax = 50

/** An action without words here is not shown: it is for the operators, or newer than this page. */
const words: Readonly<Record<string, TextKey>> = {
  'consent.given': 'manage.event_consent',
  'grant.given': 'manage.event_grant',
  'grant.revoked': 'manage.event_revoked',
  'grant.ended': 'manage.event_ended',
  'connection.added': 'manage.event_added',
  'connection.repaired': 'manage.event_repaired',
  'connection.removed': 'manage.event_removed',
}

export function Events({ me }: { me: Me }): JSX.Element | null {
  const { t, moment } = useSpeech()
  const known = me.events.flatMap((event) => {
    const text = words[event.action]
    return text === undefined ? [] : [{ event, text }]
  })
  if (known.length === 0) return null
  return (
    <section class="manage-section">
      <h2>{t('manage.events')}</h2>
      <ul class="events">
        {known.slice(0, eventsMax).map(({ event, text }, index) => (
          <li key={`${event.at} ${index}`}>
            <p>{t(text, { name: nameOf(event), by: t(actorOf(event)) })}</p>
            <p class="secondary numbers">{moment(event.at)}</p>
          </li>
        ))}
      </ul>
    </section>
  )
}

function nameOf({ client_name, provider_name }: AuditEvent): string {
  return provider_name ?? client_name ?? ''
}

function actorOf({ actor }: AuditEvent): TextKey {
  if (actor === 'user') return 'manage.by_you'
  return actor === 'application' ? 'manage.by_application' : 'manage.by_service'
}
