/**
 * The integrator's own look. The accent is one colour of theirs and may be dark or light, so what is written on it, and
 * its tone in the dark theme, are chosen by contrast (WCAG 1.4.3).
 */
import type { Look } from './config.ts'

export type Rgb = readonly [red: number, green: number, blue: number]

const white: Rgb = [255, 255, 255]
const black: Rgb = [0, 0, 0]
/** --ground of the dark theme in tokens.css. */
const darkGround: Rgb = [15, 18, 20]
const readableFrom = 4.5

/** Set through the CSSOM, which a content policy without inline styles allows. */
export function applyLook(look: Look | undefined, theme: string | null): void {
  const { style, dataset } = document.documentElement
  const light = look?.accent
  const dark = look?.accent_dark ?? lightened(look?.accent)
  const properties = [
    ['--accent-light', light],
    ['--on-accent-light', inkFor(light)],
    ['--accent-dark', dark],
    ['--on-accent-dark', inkFor(dark)],
    ['--radius', look?.radius],
    ['--face', look?.face],
  ] as const
  for (const [name, value] of properties) if (value !== undefined) style.setProperty(name, value)
  if (theme === 'light' || theme === 'dark') dataset['theme'] = theme
}

function inkFor(accent: string | undefined): string | undefined {
  const colour = toRgb(accent)
  return colour && toText(pickInk(colour))
}

/** The accent for the dark theme of an integrator who named one accent for both. */
function lightened(accent: string | undefined): string | undefined {
  const colour = toRgb(accent)
  return colour === undefined ? accent : toText(lightenFor(darkGround, colour))
}

/** Undefined for a colour that the browser does not write as red, green and blue. */
function toRgb(text: string | undefined): Rgb | undefined {
  if (text === undefined) return undefined
  const probe = document.createElement('i')
  probe.style.color = text
  document.body.append(probe)
  const [, red, green, blue] = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(getComputedStyle(probe).color) ?? []
  probe.remove()
  return blue === undefined || probe.style.color === '' ? undefined : [Number(red), Number(green), Number(blue)]
}

function toText(colour: Rgb): string {
  return `rgb(${colour.join(' ')})`
}

/** On every colour one of the two has a contrast of 4.5 or more. */
export function pickInk(ground: Rgb): Rgb {
  return contrast(white, ground) >= contrast(black, ground) ? white : black
}

/** Mixed with as little white as makes it readable on the ground. */
export function lightenFor(ground: Rgb, colour: Rgb): Rgb {
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = mix(colour, white, share)
    if (contrast(mixed, ground) >= readableFrom) return mixed
  }
  return white
}

function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const at = (index: 0 | 1 | 2): number => Math.round(a[index] + (b[index] - a[index]) * share)
  return [at(0), at(1), at(2)]
}

/** From 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(a: Rgb, b: Rgb): number {
  const [darker, lighter] = [luminance(a), luminance(b)].toSorted((one, two) => one - two)
  return ((lighter ?? 0) + 0.05) / ((darker ?? 0) + 0.05)
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0)
}
