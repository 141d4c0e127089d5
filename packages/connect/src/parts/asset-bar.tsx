/** The largest assets as one bar with its legend. Shares are for the eye alone: no amount is made from them. */
import type { JSX } from 'preact'
import { useSpeech } from '../texts/index.ts'

interface AssetBarProps {
  top: readonly { asset_symbol: string; share: number }[]
  label: string
  other: string
}

/** Under this a slice is too thin to see and joins the rest. */
const shareMin = 0.015
const slicesMax = 4

export function AssetBar({ top, label, other }: AssetBarProps): JSX.Element | null {
  const { language } = useSpeech()
  const shown = top.filter(({ share }) => share >= shareMin).slice(0, slicesMax)
  if (shown.length === 0) return null
  const rest = Math.max(0, 1 - shown.reduce((sum, { share }) => sum + share, 0))
  const slices = rest >= 0.005 ? [...shown, { asset_symbol: other, share: rest }] : shown
  const percent = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 0 })
  return (
    <figure class="asset-bar">
      <figcaption class="visually-hidden">{label}</figcaption>
      <div class="bar" aria-hidden="true">
        {slices.map(({ asset_symbol, share }, index) => (
          <span key={asset_symbol} class={`slice slice-${index}`} style={{ flexGrow: share }} />
        ))}
      </div>
      <ul class="legend numbers">
        {slices.map(({ asset_symbol, share }, index) => (
          <li key={asset_symbol}>
            <span class={`dot slice-${index}`} aria-hidden="true" />
            {asset_symbol} <span class="quiet">{percent.format(share)}</span>
          </li>
        ))}
      </ul>
    </figure>
  )
}
