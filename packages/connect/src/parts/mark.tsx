/**
 * The sign of a provider or an application, always in the same 36 px square so that a list of a hundred is quiet: its
 * own where a free icon set has it, otherwise its first letter on a colour made from the name.
 */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

type Brands = Readonly<Record<string, { path: string; hex: string }>>

let brands: Brands | undefined

/** Loaded beside the list of providers and not before: the icons weigh more than the page. */
function useBrands(): Brands | undefined {
  const [loaded, setLoaded] = useState(brands)
  useEffect(() => {
    if (loaded !== undefined) return
    void import('./brands.ts').then((module) => setLoaded((brands = module.brands)))
  }, [loaded])
  return loaded
}

export function ProviderMark({ id, name }: { id: string; name: string }): JSX.Element {
  const all = useBrands()
  const brand = all !== undefined && Object.hasOwn(all, id) ? all[id] : undefined
  if (brand === undefined) return <Monogram name={name} />
  return (
    <span class="mark" aria-hidden="true">
      <svg width="20" height="20" viewBox="0 0 24 24">
        <path d={brand.path} fill="currentColor" />
      </svg>
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
