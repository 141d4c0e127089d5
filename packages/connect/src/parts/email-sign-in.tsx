/** Sign-in by a one-time code, for the connect flow and for manage: one field, then six boxes. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Problem } from '../api/http.ts'
import { useSpeech, type Speech } from '../texts/index.ts'
import { CodeBoxes } from './code-boxes.tsx'
import { useFocus } from './use-focus.ts'

export interface SignInCalls {
  /** Undefined when the person is signed in already, and this form is done. */
  requestSignInCode: (email: string) => Promise<{ sent_to: string; resend_after_seconds: number } | undefined>
  /** Resolves when the code was right. */
  enterSignInCode: (code: string) => Promise<void>
  /** In sandbox mode, what the mail says. */
  readMail: (() => Promise<{ mail: { code: string } | null }>) | undefined
  /** Errors that are not about what was typed. */
  onError: (error: unknown) => void
}

interface SignInProps {
  calls: SignInCalls
  sentTo: string | null
  onSentTo: (email: string | null) => void
}

export function EmailSignIn({ calls, sentTo, onSentTo }: SignInProps): JSX.Element {
  const [resendIn, setResendIn] = useState(0)
  const [sendings, setSendings] = useState(0)
  useEffect(() => {
    if (resendIn <= 0) return
    const timer = setTimeout(() => setResendIn(resendIn - 1), 1_000)
    return () => clearTimeout(timer)
  }, [resendIn])

  async function sendTo(email: string): Promise<void> {
    const answer = await calls.requestSignInCode(email)
    if (answer === undefined) return
    setResendIn(answer.resend_after_seconds)
    setSendings((count) => count + 1)
    onSentTo(answer.sent_to)
  }
  if (sentTo === null) return <EmailForm sendTo={sendTo} onError={calls.onError} />
  return (
    <CodeForm
      key={sendings}
      calls={calls}
      sentTo={sentTo}
      resendIn={resendIn}
      sendTo={sendTo}
      onOther={() => onSentTo(null)}
    />
  )
}

interface EmailFormProps {
  sendTo: (email: string) => Promise<void>
  onError: (error: unknown) => void
}

function EmailForm({ sendTo, onError }: EmailFormProps): JSX.Element {
  const { t } = useSpeech()
  const field = useFocus<HTMLInputElement>()
  const [email, setEmail] = useState('')
  const [fault, setFault] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)

  function submit(event: Event): void {
    event.preventDefault()
    const address = email.trim()
    if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(address)) return setFault(t('sign_in.email_wrong'))
    setBusy(true)
    sendTo(address)
      .catch((error: unknown) => {
        if (error instanceof Problem && error.status === 400) return setFault(t('sign_in.email_wrong'))
        if (error instanceof Problem && error.status === 429)
          return setFault(t('sign_in.too_many', { count: minutesOf(error) }))
        onError(error)
      })
      .finally(() => setBusy(false))
  }
  return (
    <form class="stack" onSubmit={submit} noValidate>
      <label class="field">
        <span class="label">{t('sign_in.email')}</span>
        <input
          ref={field}
          class="input"
          type="email"
          name="email"
          autocomplete="email"
          inputMode="email"
          value={email}
          aria-invalid={fault !== null}
          aria-describedby="email-fault"
          onInput={(event) => (setEmail(event.currentTarget.value), setFault(null))}
        />
        <span id="email-fault" class="remark remark-stop" role="alert">
          {fault}
        </span>
      </label>
      <button type="submit" class="button" disabled={busy || email.trim() === ''}>
        {t('sign_in.send')}
      </button>
    </form>
  )
}

interface CodeFormProps {
  calls: SignInCalls
  sentTo: string
  resendIn: number
  sendTo: (email: string) => Promise<void>
  onOther: () => void
}

function CodeForm({ calls, sentTo, resendIn, sendTo, onOther }: CodeFormProps): JSX.Element {
  const { t } = useSpeech()
  const [code, setCode] = useState('')
  const [fault, setFault] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const mail = useMail(calls)

  function check(digits: string): void {
    setBusy(true)
    setFault(null)
    calls
      .enterSignInCode(digits)
      .catch((error: unknown) => {
        if (!(error instanceof Problem) || (error.status !== 400 && error.status !== 429)) return calls.onError(error)
        setCode('')
        setFault(error.status === 429 ? t('sign_in.too_many', { count: minutesOf(error) }) : toCodeFault(error, t))
      })
      .finally(() => setBusy(false))
  }
  function resend(): void {
    sendTo(sentTo).catch((error: unknown) => {
      if (error instanceof Problem && error.status === 429) setFault(t('sign_in.too_many', { count: minutesOf(error) }))
      else calls.onError(error)
    })
  }
  return (
    <div class="stack">
      <CodeBoxes
        label={t('sign_in.code')}
        value={code}
        onValue={setCode}
        onComplete={check}
        disabled={busy}
        describedBy="code-fault"
        invalid={fault !== null}
      />
      <p id="code-fault" class="remark remark-stop" role="alert">
        {fault}
      </p>
      {mail !== null && (
        <p class="sandbox-strip">
          <span>{t('sandbox.mail', { code: mail })}</span>
          <button type="button" class="text-button" disabled={busy} onClick={() => (setCode(mail), check(mail))}>
            {t('sandbox.fill')}
          </button>
        </p>
      )}
      <div class="row row-spread">
        <button type="button" class="text-button" disabled={resendIn > 0} onClick={resend}>
          {resendIn > 0 ? t('sign_in.resend_in', { count: resendIn }) : t('sign_in.resend')}
        </button>
        <button type="button" class="text-button" onClick={onOther}>
          {t('sign_in.other_email')}
        </button>
      </div>
    </div>
  )
}

/** The mail is written by a worker and may be on its way for a while. It is looked for as long as its form is shown. */
const mailCheckMs = 400

function useMail({ readMail, onError }: SignInCalls): string | null {
  const [code, setCode] = useState<string | null>(null)
  const [checks, setChecks] = useState(0)
  useEffect(() => {
    if (readMail === undefined || code !== null) return
    const timer = setTimeout(
      () => {
        readMail().then(({ mail }) => (setCode(mail?.code ?? null), setChecks(checks + 1)), onError)
      },
      checks === 0 ? 0 : mailCheckMs,
    )
    return () => clearTimeout(timer)
  }, [checks, code])
  return code
}

function minutesOf(problem: Problem): number {
  return Math.max(1, Math.ceil((problem.retryAfterSeconds ?? 60) / 60))
}

/** How many tries are left stands in the item's `fix`, as the only number. */
function toCodeFault({ items: [item] }: Problem, t: Speech['t']): string {
  // The code has expired, or its tries are used up: the digits themselves may be right.
  if (item?.cause === 'invalid_state') return t('sign_in.code_spent')
  if (item?.cause === 'account_mismatch') return t('sign_in.address_mismatch')
  const left = /\d+/.exec(item?.fix ?? '')?.[0]
  if (left === undefined) return t('sign_in.code_wrong_plain')
  return t('sign_in.code_wrong', { count: Number.parseInt(left, 10) })
}
