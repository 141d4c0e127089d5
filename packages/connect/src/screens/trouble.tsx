/** Each cause has its own words: what happened, why, what to do, and one button for it. */
import type { JSX } from 'preact'
import type { ErrorItem } from '../api/http.ts'
import type { View } from '../flow/view.ts'
import { Card } from '../parts/card.tsx'
import { Icon } from '../parts/icons.tsx'
import { useSpeech } from '../texts/index.ts'
import type { ScreenProps } from './screen-props.ts'

type TroubleView = Extract<View, { name: 'trouble' }>

const causes = [
  'invalid_credentials',
  'missing_permission',
  'excess_permission',
  'ip_not_allowed',
  'key_expired',
  'needs_reauth',
  'venue_down',
  'unreadable_answer',
  'rate_limited',
  'clock_skew',
  'already_connected',
  'account_mismatch',
  'invalid_state',
  'invalid_address',
] as const
type KnownCause = (typeof causes)[number]

/** The same causes for a provider without keys: the user signs in again. */
const signInWords = {
  missing_permission: 'sign_in_declined',
  excess_permission: 'sign_in_excess',
  account_mismatch: 'sign_in_mismatch',
  invalid_credentials: 'sign_in_refused',
  key_expired: 'sign_in_refused',
  needs_reauth: 'sign_in_refused',
} as const

function findSignInWords(
  cause: KnownCause | 'other',
  types: readonly string[],
  byKey: boolean,
): (typeof signInWords)[keyof typeof signInWords] | undefined {
  if (byKey || !types.includes('oauth2')) return undefined
  return cause in signInWords ? signInWords[cause as keyof typeof signInWords] : undefined
}

export function Trouble({ flow, catalog, onLeave, view }: ScreenProps & { view: TroubleView }): JSX.Element {
  const { t } = useSpeech()
  const { item, providerId, connectionId, byKey = false } = view
  const listed = catalog.find(providerId)
  const provider = listed?.name ?? providerId
  const cause: KnownCause | 'other' = causes.find((known) => known === item.cause) ?? 'other'
  const signIn = findSignInWords(cause, listed?.connection_types ?? [], byKey)
  const rights = signIn === undefined ? rightsIn(item) : []
  const values = { provider, message: item.message }
  const harmless = cause === 'already_connected'
  // Without a way to the summary, "Not now" would be the only way on, and it removes all that was connected here.
  const isOfSession = flow.session.connections.some(({ connection_id }) => connection_id === connectionId)

  function proceed(): void {
    if (harmless) flow.go({ name: flow.session.connections.length > 0 ? 'summary' : 'choose' })
    else flow.go({ name: 'credentials', providerId, connectionId, byKey })
  }
  return (
    <Card
      screen={`trouble ${cause}`}
      title={t(`trouble.${signIn ?? cause}.title`, values)}
      lead={t(`trouble.${signIn ?? cause}.why`, values)}
      sandbox={flow.session.sandbox}
      onLeave={onLeave}
      mark={
        <span class={harmless ? 'mark mark-good' : 'mark mark-bad'} aria-hidden="true">
          <Icon name={harmless ? 'check' : 'warn'} />
        </span>
      }
    >
      {(cause === 'excess_permission' || cause === 'missing_permission') && rights.length > 0 && (
        <section class={`rights rights-${cause}`}>
          <p>{t(`trouble.${cause}.list`)}</p>
          <ul class="ticks">
            {rights.map((right) => (
              <li key={right} lang="en">
                <span class="box">{cause === 'missing_permission' && <Icon name="check" size={14} />}</span>
                {right}
              </li>
            ))}
          </ul>
        </section>
      )}
      <div class="actions">
        <button type="button" class="button" onClick={proceed}>
          {signIn === undefined ? t(`trouble.${cause}.do`, values) : t('trouble.sign_in.do')}
        </button>
        {!harmless && connectionId === null && (
          <button type="button" class="button button-quiet" onClick={() => flow.go({ name: 'choose' })}>
            {t('trouble.elsewhere')}
          </button>
        )}
        {isOfSession && (
          <button type="button" class="button button-quiet" onClick={() => flow.go({ name: 'summary' })}>
            {t('trouble.later')}
          </button>
        )}
      </div>
    </Card>
  )
}

/** The service writes the names of rights in “ ”, in the provider's own words. */
function rightsIn({ message, fix }: ErrorItem): string[] {
  return [...new Set([...`${message} ${fix ?? ''}`.matchAll(/“([^”]+)”/g)].map(([, right = '']) => right))]
}
