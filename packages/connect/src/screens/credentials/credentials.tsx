/**
 * The key: three steps to make it at the provider, and fields that say at once what is wrong. Nothing that was typed
 * leaves the page before "Connect". Then the form is emptied, and filled again only if the provider could not be asked
 * (flow/use-flow.ts).
 */
import { cleanField, examineFields, isReady, recognizeWallet } from '@assay/core/credentials'
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { CredentialField, Provider } from '../../api/catalog.ts'
import type { AddRequest } from '../../api/session-api.ts'
import type { View } from '../../flow/view.ts'
import { Card } from '../../parts/card.tsx'
import { Icon, ProviderMark } from '../../parts/icons.tsx'
import { useSpeech } from '../../texts/index.ts'
import type { ScreenProps } from '../screen-props.ts'
import { Field } from './field.tsx'
import { KeySteps, WhereToFind } from './key-steps.tsx'
import { TestKeys } from './test-keys.tsx'

type CredentialsView = Extract<View, { name: 'credentials' }>

export function Credentials({ flow, catalog, onLeave, view }: ScreenProps & { view: CredentialsView }): JSX.Element {
  const { t } = useSpeech()
  const provider = catalog.find(view.providerId)
  const repair = view.connectionId !== null
  const name = provider?.name ?? view.providerId
  const card = {
    screen: `credentials ${view.providerId}`,
    title: t(repair ? 'credentials.repair' : 'credentials.title', { provider: name }),
    sandbox: flow.session.sandbox,
    onBack: () => flow.back(),
    onLeave,
    mark: <ProviderMark id={view.providerId} name={name} />,
    ...(repair ? { lead: t('credentials.repair_lead') } : {}),
  }
  if (provider === undefined) {
    const missing = catalog.providers !== undefined
    return (
      <Card {...card}>
        <p role="status">{t(catalog.failed ? 'choose.failed' : missing ? 'choose.unavailable' : 'common.loading')}</p>
        {(catalog.failed || missing) && (
          <div class="actions">
            <button
              type="button"
              class="button"
              onClick={() => (missing ? flow.go({ name: 'choose' }) : catalog.retry())}
            >
              {t(missing ? 'trouble.elsewhere' : 'common.try_again')}
            </button>
          </div>
        )}
      </Card>
    )
  }
  const types = provider.connection_types
  const hasKeys = types.includes('api_key')
  // If a provider has both, signing in comes first: the user does not have to create a key or copy a secret.
  if (types.includes('oauth2') && !(hasKeys && view.byKey === true)) {
    return (
      <Card {...card} lead={t('credentials.sign_in_lead', { provider: name })}>
        <SignInActions flow={flow} view={view} name={name} hasKeys={hasKeys} />
      </Card>
    )
  }
  const isWallet = !hasKeys
  return (
    <Card {...card} wide={!isWallet} ownFocus={isWallet}>
      <div class={isWallet ? '' : 'columns'}>
        {!isWallet && <KeySteps provider={provider} />}
        <CredentialsForm flow={flow} provider={provider} view={view} isWallet={isWallet} />
      </div>
    </Card>
  )
}

interface SignInProps {
  flow: ScreenProps['flow']
  view: CredentialsView
  /** The provider's. */
  name: string
  hasKeys: boolean
}

function SignInActions({ flow, view, name, hasKeys }: SignInProps): JSX.Element {
  const { t } = useSpeech()
  return (
    <div class="actions">
      <button
        type="button"
        class="button"
        disabled={flow.busy}
        onClick={() => flow.add(toRequest(view, { type: 'oauth2' }))}
      >
        {t('credentials.sign_in_at', { provider: name })}
        <Icon name="out" />
      </button>
      {hasKeys && (
        <button
          type="button"
          class="button button-quiet"
          disabled={flow.busy}
          onClick={() => flow.go({ ...view, byKey: true })}
        >
          {t('credentials.use_key')}
        </button>
      )}
    </div>
  )
}

interface FormProps {
  flow: ScreenProps['flow']
  provider: Provider
  view: CredentialsView
  isWallet: boolean
}

function CredentialsForm({ flow, provider, view, isWallet }: FormProps): JSX.Element {
  const { t } = useSpeech()
  const fields = fieldsOf(provider)
  const [values, setValues] = useState<Readonly<Record<string, string>>>(
    () => flow.draft.find(provider.provider_id) ?? {},
  )
  const remarks = useMemo(() => examineValues(provider, fields, values, isWallet), [provider, values])
  // The provider does not report the rights of a key, so the user confirms them.
  const asksToConfirm = !isWallet && provider.permission_check === 'none'
  const [confirmed, setConfirmed] = useState(false)
  const ready = isReady(remarks) && (confirmed || !asksToConfirm)
  const swapped = remarks.filter(({ code }) => code === 'swapped').length === 2
  const set = (changes: Readonly<Record<string, string>>): void => setValues((before) => ({ ...before, ...changes }))

  function submit(event: Event): void {
    event.preventDefault()
    if (!ready || flow.busy) return
    const clean = (name: string): string => cleanField(name, values[name] ?? '')
    flow.draft.keep(provider.provider_id, values)
    setValues({})
    flow.add(toRequest(view, toCredentials(isWallet, clean, asksToConfirm)))
  }
  return (
    <form class="stack" onSubmit={submit} autocomplete="off">
      {fields.map((field, index) => (
        <Field
          key={field.name}
          field={field}
          provider={provider.name}
          value={values[field.name] ?? ''}
          remark={remarks.find((remark) => remark.field === field.name)}
          focus={index === 0 && isWallet}
          onValue={(value) => set({ [field.name]: value })}
        />
      ))}
      {isWallet && <WhereToFind apps={provider.wallet_apps} chosen={view.walletApp} />}
      {swapped && (
        <button
          type="button"
          class="text-button"
          onClick={() => set({ api_key: values['secret_key'] ?? '', secret_key: values['api_key'] ?? '' })}
        >
          {t('doctor.swap')}
        </button>
      )}
      {asksToConfirm && <ConfirmReadOnly provider={provider.name} confirmed={confirmed} onConfirm={setConfirmed} />}
      <button type="submit" class="button" disabled={!ready || flow.busy}>
        {t(view.connectionId === null ? 'credentials.connect' : 'credentials.connect_repair')}
      </button>
      <p class="secondary">
        {isWallet
          ? t('credentials.promise_wallet')
          : t(asksToConfirm ? 'credentials.promise_unchecked' : 'credentials.promise', { provider: provider.name })}
      </p>
      {flow.session.sandbox && (
        <TestKeys
          flow={flow}
          providerId={provider.provider_id}
          isWallet={isWallet}
          repairs={view.connectionId !== null && !isWallet}
          // A wallet goes into the one field that there is, whichever kind it is.
          onFields={(given) => set(isWallet ? toWalletValues(fields, Object.values(given)[0]) : given)}
        />
      )}
    </form>
  )
}

function examineValues(
  provider: Provider,
  fields: readonly CredentialField[],
  values: Readonly<Record<string, string>>,
  isWallet: boolean,
): ReturnType<typeof examineFields> {
  return examineFields(
    fields.map(({ name, required, shape }) => ({
      name,
      required,
      shape,
      value: cleanField(name, values[name] ?? ''),
      ...(isWallet ? { accepts: provider.credential_fields } : {}),
    })),
  )
}

interface ConfirmProps {
  provider: string
  confirmed: boolean
  onConfirm(confirmed: boolean): void
}

function ConfirmReadOnly({ provider, confirmed, onConfirm }: ConfirmProps): JSX.Element {
  const { t } = useSpeech()
  return (
    <label class="confirm-read-only">
      <input type="checkbox" checked={confirmed} onChange={(event) => onConfirm(event.currentTarget.checked)} />
      <span>{t('credentials.confirm', { provider })}</span>
    </label>
  )
}

/** A wallet is one field: whatever of the possible ones it turns out to be. */
function fieldsOf({ credential_fields, connection_types }: Provider): CredentialField[] {
  if (connection_types.includes('api_key')) return credential_fields
  const first = credential_fields.find(({ name }) => name === 'address') ?? credential_fields[0]
  return first === undefined ? [] : [{ ...first, required: true }]
}

function toWalletValues(fields: readonly CredentialField[], address: string | undefined): Record<string, string> {
  const first = fields[0]
  return first === undefined || address === undefined ? {} : { [first.name]: address }
}

function toCredentials(
  isWallet: boolean,
  clean: (name: string) => string,
  isConfirmed: boolean,
): AddRequest['connection'] {
  if (!isWallet) {
    const passphrase = clean('passphrase')
    return {
      type: 'api_key',
      api_key: clean('api_key'),
      secret_key: clean('secret_key'),
      ...(passphrase === '' ? {} : { passphrase }),
      ...(isConfirmed ? { confirmed_read_only: true } : {}),
    }
  }
  // The form is sent only when the text was recognised.
  const text = clean('address') || clean('extended_public_key') || clean('descriptor')
  const found = recognizeWallet(text)
  const { kind, value } = found !== undefined && 'wallet' in found ? found.wallet : { kind: 'address', value: text }
  if (kind === 'descriptor') return { type: 'wallet', descriptor: value }
  return kind === 'address' ? { type: 'wallet', address: value } : { type: 'wallet', extended_public_key: value }
}

function toRequest(view: CredentialsView, connection: AddRequest['connection']): AddRequest {
  return {
    provider_id: view.providerId,
    connection,
    ...(view.connectionId === null ? {} : { connection_id: view.connectionId }),
  }
}
