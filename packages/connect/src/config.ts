/**
 * config.json beside index.html: where the service is, and how the pages should look. Read once, before anything else.
 */

export interface Look {
  accent?: string
  accent_dark?: string
  /** CSS lengths and families, such as "4px" and "Inter, sans-serif". */
  radius?: string
  face?: string
  /** An image beside config.json, or an address; shown for the service. */
  logo?: string
}

export interface WidgetConfig {
  auth_url: string
  base_url: string
  look?: Look
}

export class ConfigMissing extends Error {}

export async function loadConfig(): Promise<WidgetConfig> {
  const answer = await fetch(fromRoot('config.json'), { cache: 'no-cache' }).catch(() => undefined)
  const config: unknown = answer?.ok === true ? await answer.json().catch(() => undefined) : undefined
  if (!isConfig(config)) throw new ConfigMissing('config.json must have auth_url and base_url')
  return { ...config, auth_url: trim(config.auth_url), base_url: trim(config.base_url) }
}

/** Addresses of our own files, from any of the three pages. */
export function fromRoot(name: string): URL {
  return new URL(`${document.documentElement.dataset['root'] ?? './'}${name}`, document.baseURI)
}

function isConfig(value: unknown): value is WidgetConfig {
  if (typeof value !== 'object' || value === null) return false
  const { auth_url, base_url } = value as Partial<WidgetConfig>
  return (
    typeof auth_url === 'string' && URL.canParse(auth_url) && typeof base_url === 'string' && URL.canParse(base_url)
  )
}

function trim(url: string): string {
  return url.replace(/\/+$/, '')
}
