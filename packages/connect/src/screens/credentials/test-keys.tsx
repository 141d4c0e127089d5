/** Sandbox mode: one click fills the form with a fresh test key or wallet that behaves as its description says. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Scenario } from '../../api/session-api.ts'
import type { Flow } from '../../flow/use-flow.ts'
import { useSpeech } from '../../texts/index.ts'

interface TestKeysProps {
  flow: Flow
  providerId: string
  isWallet: boolean
  /** Set when a connection is repaired: then only a key of its own account works. */
  repairs: boolean
  onFields: (fields: Readonly<Record<string, string>>) => void
}

/** The contract's name for a new key of the account that is being repaired. */
const sameAccount = 'same_account'

export function TestKeys({ flow, providerId, isWallet, repairs, onFields }: TestKeysProps): JSX.Element | null {
  const { t } = useSpeech()
  const [scenarios, setScenarios] = useState<readonly Scenario[]>([])
  const [open, setOpen] = useState(false)
  const { api, handleError } = flow
  useEffect(() => {
    api.sandbox().then((answer) => setScenarios(answer.scenarios), handleError)
  }, [api])
  const own = scenarios.filter(({ provider_id }) => provider_id === providerId)
  if (own.length === 0) return null
  const fill = (scenario: string): void =>
    void api.makeTestKey(providerId, scenario).then(({ fields }) => {
      onFields(fields)
      // Out of the way of the button that comes next.
      setOpen(false)
    }, handleError)
  return (
    <details class="sandbox-keys" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t(isWallet ? 'sandbox.wallets' : 'sandbox.keys')}</summary>
      <p class="secondary">{t('sandbox.keys_lead')}</p>
      <ul>
        {repairs && (
          <li>
            <button type="button" class="scenario" data-scenario={sameAccount} onClick={() => fill(sameAccount)}>
              <strong>{t('sandbox.same_account')}</strong>
              <span class="secondary">{t('sandbox.same_account_lead')}</span>
            </button>
          </li>
        )}
        {own.map((scenario) => (
          <li key={scenario.name} lang="en">
            <button type="button" class="scenario" data-scenario={scenario.name} onClick={() => fill(scenario.name)}>
              <strong>{scenario.title}</strong>
              <span class="secondary">{scenario.description}</span>
            </button>
          </li>
        ))}
      </ul>
    </details>
  )
}
