/**
 * Icons, and the marks of providers and applications. All of them are decoration: the text beside them has the meaning.
 */
import { createContext, type JSX } from 'preact'
import { useContext, useState } from 'preact/hooks'

const paths = {
  eye: 'M2 12s3.6-6.5 10-6.5S22 12 22 12s-3.6 6.5-10 6.5S2 12 2 12Zm10 2.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6Z',
  shield: 'M12 3 4.5 6v5.4c0 4.5 3.1 8 7.5 9.6 4.4-1.6 7.5-5.1 7.5-9.6V6L12 3Zm-3.2 9.2 2.3 2.3 4.2-4.6',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-14v5.2l3.3 2',
  link: 'M9.8 14.2 14.2 9.8M8 11.5 5.6 14a3.7 3.7 0 0 0 5.2 5.2l2.5-2.5M16 12.5l2.5-2.4a3.7 3.7 0 0 0-5.3-5.2l-2.5 2.4',
  back: 'M14.5 5.5 8 12l6.5 6.5',
  check: 'm5 12.6 4.6 4.6L19 7.4',
  search: 'M10.8 17.2a6.4 6.4 0 1 0 0-12.8 6.4 6.4 0 0 0 0 12.8Zm4.7-1.7 4.6 4.6',
  warn: 'M12 4 2.8 19.5h18.4L12 4Zm0 6v4.2m0 2.6v.1',
  out: 'M13.5 5H19v5.5M19 5l-8 8M16.5 14v3.8c0 .7-.5 1.2-1.2 1.2H6.2c-.7 0-1.2-.5-1.2-1.2V8.7c0-.7.5-1.2 1.2-1.2H10',
} as const

export function Icon({ name, size = 20 }: { name: keyof typeof paths; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}

/*
 * A mark is always a square of 36 px, so that a list of a hundred looks calm. It shows the service's icon of the
 * provider, or else the first letter on a colour made from the name.
 */

/** The base URL of the service, which serves the icons. */
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
