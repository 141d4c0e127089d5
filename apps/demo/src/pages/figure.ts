/** An amount in two parts, so that a column of amounts is aligned at the decimal point. */
import { html, type Html } from '../html.ts'

/** Longer amounts are rare, and may be broken into two lines on a small screen. */
const lengthMax = 14

/** It does not break, and does not vanish where no digits come before it. */
const firmSpace = '\u00a0'

/** `symbol` follows the last digit: the two are read together, and the point stays where it is in the other rows. */
export function figure(amount: string, { sign = '', symbol = '' } = {}): Html {
  const [whole = '', fraction = ''] = amount.split('.')
  const digits = fraction === '' ? '' : `.${fraction}`
  const code = symbol === '' ? '' : html`${firmSpace}<span class="symbol">${symbol}</span>`
  const kind = amount.length > lengthMax ? 'figure long' : 'figure'
  return html`<span class="${kind}">${sign}${whole}<span class="rest-of">${digits}${code}</span></span>`
}
