/**
 * The sign of a provider or an application, always in the same 36 px square so that a list of a hundred is quiet: the
 * service's icon of the provider, otherwise the first letter on a colour made from the name.
 */
import { createContext, type JSX } from 'preact'
import { useContext, useState } from 'preact/hooks'

/** The base URL of the service, which has the icons. */
const IconsContext = createContext<string | null>(null)
export const IconsProvider = IconsContext.Provider

export function ProviderMark({ id, name }: { id: string; name: string }): JSX.Element {
  const baseUrl = useContext(IconsContext)
  const [broken, setBroken] = useState(false)
  if (baseUrl === null || broken) return <Monogram name={name} />
  const address = `${baseUrl}/icons/providers/${encodeURIComponent(id)}.svg`
  return (
    <span class="mark mark-image" aria-hidden="true">
      <img src={address} alt="" width="36" height="36" loading="lazy" onError={() => setBroken(true)} />
    </span>
  )
}

export function ApplicationMark({ name, logo }: { name: string; logo: string | null }): JSX.Element {
  const [broken, setBroken] = useState(false)
  if (logo === null || broken) return <Monogram name={name} />
  return (
    <span class="mark mark-image" aria-hidden="true">
      <img src={logo} alt="" width="36" height="36" referrerpolicy="no-referrer" onError={() => setBroken(true)} />
    </span>
  )
}

function Monogram({ name }: { name: string }): JSX.Element {
  return (
    <span class="mark mark-letter" aria-hidden="true" style={{ '--hue': hueOf(name) }}>
      {[...name][0]?.toUpperCase() ?? '?'}
    </span>
  )
}

function hueOf(name: string): string {
  let sum = 7
  for (const character of name) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 360
  return String(sum)
}
