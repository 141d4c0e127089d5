/**
 * A question before something is lost. It uses the browser's own dialog, which handles focus, Escape and the rest of
 * the page.
 */
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

interface ConfirmProps {
  title: string
  body: string
  yes: string
  no: string
  onYes: () => void
  onNo: () => void
}

export function Confirm({ title, body, yes, no, onYes, onNo }: ConfirmProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="confirm-title" onCancel={onNo}>
      <h2 id="confirm-title">{title}</h2>
      <p>{body}</p>
      <div class="row">
        <button type="button" class="button button-quiet" onClick={onNo}>
          {no}
        </button>
        <button type="button" class="button button-bad" onClick={onYes}>
          {yes}
        </button>
      </div>
    </dialog>
  )
}

/** What is about to be lost, and the question about it. */
export interface Question {
  title: string
  body: string
  yes: string
  act: () => Promise<unknown>
}
