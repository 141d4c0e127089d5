/**
 * Six boxes, one field: a real input lies over them, so that pasting, autofill from the mail, a screen reader and the
 * arrow keys all work as in any field.
 */
import type { JSX } from 'preact'
import { useFocus } from './use-focus.ts'

const length = 6

interface CodeBoxesProps {
  label: string
  value: string
  onValue: (value: string) => void
  onComplete: (code: string) => void
  disabled: boolean
  describedBy: string
  invalid: boolean
}

export function CodeBoxes(props: CodeBoxesProps): JSX.Element {
  const { label, value, onValue, onComplete, disabled, describedBy, invalid } = props
  // Focuses again after a wrong code, because a disabled field loses the focus.
  const input = useFocus<HTMLInputElement>(!disabled)
  const take = (text: string): void => {
    const digits = text.replaceAll(/\D/g, '').slice(0, length)
    onValue(digits)
    if (digits.length === length && digits !== value) onComplete(digits)
  }
  return (
    <label class="code">
      <span class="label">{label}</span>
      <span class="code-field">
        <input
          ref={input}
          class="code-input"
          inputMode="numeric"
          autocomplete="one-time-code"
          // This leaves room for a pasted "123 456".
          maxLength={12}
          value={value}
          disabled={disabled}
          aria-describedby={describedBy}
          aria-invalid={invalid}
          onInput={(event) => take(event.currentTarget.value)}
        />
        <span class="code-boxes" aria-hidden="true">
          {Array.from({ length }, (_, index) => (
            <span
              key={index}
              class={index === Math.min(value.length, length - 1) ? 'code-box code-box-next' : 'code-box'}
            >
              {value[index] ?? ''}
            </span>
          ))}
        </span>
      </span>
    </label>
  )
}
