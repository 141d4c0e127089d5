/** Who may read or could read and since when, with which rights, what they read, and the button that ends it. */
import { consentScopes, toConsentLanguage, toConsentText, type ConsentSection } from '@assay/core/consent'
import type { JSX } from 'preact'
import type { Claim, EndedGrant, Grant, ManageApi, Me } from '../api/manage-api.ts'
import { ApplicationMark } from '../parts/icons.tsx'
import { useSpeech } from '../texts/index.ts'
import type { Question } from '../parts/confirm.tsx'
import { pickNewest, toAccessLines, type AccessLine } from './what-was-read.ts'

interface ReadersProps {
  me: Me
  tenant: string
  api: ManageApi
  ask: (question: Question) => void
}

/** The newest reads are enough to see which applications read often. */
const accessLinesMax = 20

export function Readers({ me, tenant, api, ask }: ReadersProps): JSX.Element {
  return (
    <>
      <Grants me={me} tenant={tenant} api={api} ask={ask} />
      <EndedGrants me={me} tenant={tenant} />
      <TenantReads me={me} tenant={tenant} />
    </>
  )
}

function Grants({ me, tenant, api, ask }: ReadersProps): JSX.Element {
  const { t, language } = useSpeech()
  return (
    <section class="manage-section">
      <h2>{t('manage.grants')}</h2>
      {me.grants.length === 0 && <p class="secondary">{t('manage.no_grants')}</p>}
      <ul>
        {me.grants.map((grant) => (
          <GrantItem
            key={grant.grant_id}
            grant={grant}
            rights={toRights(grant, tenant, language)}
            onRevoke={() =>
              ask({
                title: t('manage.revoke_title', { name: grant.client.name }),
                body: t('manage.revoke_body', { name: grant.client.name }),
                yes: t('manage.revoke'),
                act: () => api.revokeGrant(grant.grant_id),
              })
            }
          />
        ))}
      </ul>
    </section>
  )
}

/** In the words of the consent page. They cover older tokens too, which the newest consent does not mention. */
function toRights({ client, scopes, expires_at }: Grant, tenant: string, language: string): ConsentSection[] {
  const facts = {
    app: client.name,
    tenant,
    scopes: consentScopes.filter((scope) => scopes.includes(scope)),
    sharesEmail: true,
    expiresAt: expires_at,
    existing: [],
  }
  const { sections } = toConsentText(facts, toConsentLanguage(language))
  return sections.filter(({ name }) => name === 'see' || name === 'act')
}

/** What was read stays here, so that ending a consent hides nothing. */
function EndedGrants({ me, tenant }: { me: Me; tenant: string }): JSX.Element | null {
  const { t, date } = useSpeech()
  if (me.ended_grants.length === 0) return null
  const sayEnder = ({ ended_by }: EndedGrant): string => {
    if (ended_by === 'user') return t('manage.ended_by_you')
    return ended_by === 'tenant' ? t('manage.ended_by_tenant', { tenant }) : t('manage.ended_by_time')
  }
  return (
    <section class="manage-section">
      <h2>{t('manage.ended_grants')}</h2>
      <ul>
        {me.ended_grants.map((grant) => (
          <li key={grant.grant_id} class="account">
            <ApplicationMark name={grant.client.name} logo={null} />
            <div class="account-text">
              <h3>{grant.client.name}</h3>
              <p class="secondary">
                {t('manage.was_granted', { from: date(grant.granted_at), until: date(grant.ended_at) })}
              </p>
              <p class="secondary">{sayEnder(grant)}</p>
              <Learned grant={grant} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** What the tenant itself read, beside its applications: back office, support, reports. */
function TenantReads({ me, tenant }: { me: Me; tenant: string }): JSX.Element | null {
  const { t } = useSpeech()
  if (me.tenant_reads.length === 0) return null
  return (
    <section class="manage-section">
      <h2>{t('manage.tenant_reads', { tenant })}</h2>
      <p class="secondary">{t('manage.tenant_reads_why', { tenant })}</p>
      <ul>
        {me.tenant_reads.map(({ client, accesses }) => (
          <li key={client.client_id} class="account">
            <ApplicationMark name={client.name} logo={null} />
            <div class="account-text">
              <h3>{client.name}</h3>
              <AccessLines accessLines={pickNewest(toAccessLines(accesses), accessLinesMax)} />
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface GrantItemProps {
  grant: Grant
  rights: ConsentSection[]
  onRevoke: () => void
}

function GrantItem({ grant, rights, onRevoke }: GrantItemProps): JSX.Element {
  const { t, date } = useSpeech()
  const { client, granted_at, expires_at } = grant
  return (
    <li class="account">
      <ApplicationMark name={client.name} logo={null} />
      <div class="account-text">
        <h3>{client.name}</h3>
        <p class="secondary">{t('manage.granted', { from: date(granted_at), until: date(expires_at) })}</p>
        {rights.map(({ name, title, lines }) => (
          <div key={name} class="granted-rights secondary">
            <strong>{title}</strong>
            {lines.map((line) => (
              <p key={line}>{line}</p>
            ))}
          </div>
        ))}
        {grant.accesses.length === 0 && <p class="secondary">{t('manage.read_never')}</p>}
        <Learned grant={grant} />
      </div>
      <button type="button" class="text-button" aria-label={`${t('manage.revoke')} ${client.name}`} onClick={onRevoke}>
        {t('manage.revoke')}
      </button>
    </li>
  )
}

function Learned({ grant }: { grant: Pick<Grant, 'client' | 'accesses' | 'claims'> }): JSX.Element {
  const { t, moment } = useSpeech()
  const accessLines = pickNewest(toAccessLines(grant.accesses), accessLinesMax)
  const last = accessLines[0]
  return (
    <>
      {last !== undefined && (
        <p class="secondary">{t('manage.read_last', { what: t(last.what), date: moment(last.lastAt) })}</p>
      )}
      {last !== undefined && <AccessLines accessLines={accessLines} />}
      {grant.claims.length > 0 && <Claims claims={grant.claims} client={grant.client} />}
    </>
  )
}

function AccessLines({ accessLines }: { accessLines: readonly AccessLine[] }): JSX.Element {
  const { t, moment } = useSpeech()
  return (
    <details class="accesses">
      <summary>{t('manage.accesses')}</summary>
      <ul class="numbers">
        {accessLines.map(({ key, what, count, lastAt }) => (
          <li key={key}>
            <span>{moment(lastAt)}</span>
            <span>
              {t(what)} · {t('manage.times', { count })}
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}

/** What the application asked, the answer it got, and for whom; by default that is the application itself. */
function Claims({ claims, client }: { claims: readonly Claim[]; client: Grant['client'] }): JSX.Element {
  const { t, moment } = useSpeech()
  return (
    <details class="accesses">
      <summary>{t('manage.claims')}</summary>
      <ul class="numbers">
        {claims.map((one) => (
          <li key={`${one.made_at} ${one.claim} ${one.amount} ${one.audience}`}>
            <span>{moment(one.made_at)}</span>
            <span>
              {one.asset_id === null
                ? t('manage.claim_value', { amount: one.amount })
                : t('manage.claim_holds', { amount: one.amount, asset: toSymbol(one.asset_id) })}{' '}
              {one.holds === null
                ? t('manage.claim_unanswered')
                : t(one.holds ? 'manage.claim_yes' : 'manage.claim_no')}
            </span>
            <span class="recipient">
              {t('manage.claim_for', { audience: one.audience === client.client_id ? client.name : one.audience })}
            </span>
            <span>{t('manage.claim_as_of', { date: moment(one.as_of) })}</span>
          </li>
        ))}
      </ul>
    </details>
  )
}

/** The id of an asset ends with its name. */
function toSymbol(assetId: string): string {
  return assetId.slice(assetId.indexOf(':') + 1)
}
