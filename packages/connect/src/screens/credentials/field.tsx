/** One field of a key, with the doctor's remark under it the moment there is one. */
import { cleanField, type Remark } from '@assay/core/credentials'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { CredentialField } from '../../api/catalog.ts'
import { Icon } from '../../parts/icons.tsx'
import { useAfterPress } from '../../parts/use-after-press.ts'
import { useFocus } from '../../parts/use-focus.ts'
import { findHint, findLabel } from '../../texts/hints.ts'
import { useSpeech } from '../../texts/index.ts'

interface FieldProps {
  field: CredentialField
  /** Its name, for the remarks. */
  provider: string
  value: string
  remark: Remark | undefined
  focus: boolean
  onValue: (value: string) => void
}

/** While the person is still typing, "too short" would appear after the first letter. */
const patient = new Set<Remark['code']>(['too_short', 'no_wallet', 'wrong_checksum', 'broken_pem'])

export function Field({ field, provider, value, remark, focus, onValue }: FieldProps): JSX.Element {
  const { t } = useSpeech()
  const [shown, setShown] = useState(false)
  const [settled, setSettled] = useState(false)
  const afterPress = useAfterPress()
  const input = useFocus<HTMLInputElement>(focus)
  const id = `field-${field.name}`
  const visible = remark !== undefined && (settled || !patient.has(remark.code)) ? remark : undefined
  return (
    <div class="field">
      <label class="label" for={id}>
        <Label label={field.label} />
        {!field.required && <span class="secondary"> {t('credentials.optional')}</span>}
      </label>
      <span class="input-row">
        <input
          ref={input}
          id={id}
          class="input input-key"
          {...(field.secret && !shown ? { type: 'password' } : { type: 'text' })}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          data-1p-ignore
          data-lpignore="true"
          value={value}
          aria-describedby={`${id}-hint ${id}-remark`}
          aria-invalid={visible?.level === 'stop'}
          onInput={(event) => onValue(event.currentTarget.value)}
          onPaste={(event) => {
            // Line ends of a PEM block would be lost in a one-line field; spaces and invisible characters should be.
            const pasted = event.clipboardData?.getData('text')
            if (pasted === undefined || pasted === '') return
            event.preventDefault()
            onValue(cleanField(field.name, pasted))
            setSettled(true)
          }}
          onBlur={() => afterPress(() => setSettled(value !== ''))}
        />
        {field.secret && (
          <button
            type="button"
            class="text-button"
            aria-pressed={shown}
            aria-controls={id}
            onClick={() => setShown(!shown)}
          >
            {t(shown ? 'credentials.hide' : 'credentials.show')}
          </button>
        )}
      </span>
      <RemarkLine id={`${id}-remark`} remark={visible} provider={provider} />
      <Hint id={`${id}-hint`} hint={field.hint} provider={provider} />
    </div>
  )
}

/** The words of the provider's page, or those for a wallet, which exist in every language. */
function Label({ label }: { label: string }): JSX.Element {
  const { t } = useSpeech()
  const key = findLabel(label)
  return key === undefined ? <span lang="en">{label}</span> : <span>{t(key)}</span>
}

function Hint({ id, hint, provider }: { id: string; hint: string; provider: string }): JSX.Element {
  const { t } = useSpeech()
  const key = findHint(hint, provider)
  return (
    <span id={id} class="secondary" {...(key === undefined ? { lang: 'en' } : {})}>
      {key === undefined ? hint : t(key, { provider })}
    </span>
  )
}

function RemarkLine({
  id,
  remark,
  provider,
}: {
  id: string
  remark: Remark | undefined
  provider: string
}): JSX.Element {
  const { t } = useSpeech()
  const text =
    remark === undefined || remark.code === 'missing' || remark.code === 'filled_in'
      ? ''
      : t(`doctor.${remark.code}`, { provider, got: remark.got ?? '', expected: remark.expected ?? '' })
  return (
    <span id={id} class={`remark remark-${remark?.level ?? 'quiet'}`} role="status">
      {text !== '' && (
        <>
          <Icon name={remark?.level === 'good' ? 'check' : 'warn'} size={16} />
          {text}
        </>
      )}
    </span>
  )
}
