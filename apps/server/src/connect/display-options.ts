/**
 * How to show the connect page: the optional parameters of the connect URL that OAuth does not know
 * (docs/guides/connect.md). Errors go back to the client, because its developers wrote these parameters.
 */
import { hasIdShape } from '@assay/core'
import { OAuthError, type AuthorizationRequest } from '../oauth/index.ts'

export interface DisplayOptions {
  display: 'page' | 'popup' | 'iframe'
  /** Where the result is posted; one of the client's registered embed origins. */
  webMessageOrigin: string | null
  lang: string | null
  theme: string | null
  /** The preselected provider. */
  providerId: string | null
  /** The connection to repair. Whether it belongs to the user is checked once the user is known. */
  connectionId: string | null
}

/** RFC 5646, roughly: a language, then subtags. */
const langShape = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$/
const themeShape = /^[A-Za-z0-9_-]{1,40}$/

export function parseDisplayOptions(
  parameters: ReadonlyMap<string, string>,
  request: AuthorizationRequest,
  isProvider: (providerId: string) => boolean,
): DisplayOptions {
  const { redirectUri, state, client } = request
  const find = (name: string): string | null => parameters.get(name) ?? null
  const check = (fits: boolean, rule: string): void => {
    if (!fits) throw new OAuthError('invalid_request', rule, { redirectUri, state })
  }

  const display = find('display') ?? 'page'
  check(display === 'page' || display === 'popup' || display === 'iframe', 'display must be page, popup or iframe')
  const webMessageOrigin = find('web_message_origin')
  check(
    webMessageOrigin === null || client.embedOrigins.includes(webMessageOrigin),
    'web_message_origin must be a registered embed origin of this client: the operator adds it with --embed-origin',
  )
  // In a frame nothing is shown until the page around it has proved to be a registered one.
  check(display !== 'iframe' || webMessageOrigin !== null, 'web_message_origin is needed for display iframe')
  const lang = find('lang')
  check(lang === null || langShape.test(lang), 'lang must be a language tag such as en or pt-BR')
  const theme = find('theme')
  check(theme === null || themeShape.test(theme), 'theme must be 1 to 40 letters, digits, hyphens or underscores')
  const providerId = find('provider_id')
  check(providerId === null || isProvider(providerId), 'provider_id must be an id of the provider catalogue')
  const connectionId = find('connection_id')
  check(connectionId === null || hasIdShape('con', connectionId), 'connection_id must be the id of a connection')
  return {
    display: display as DisplayOptions['display'],
    webMessageOrigin,
    lang,
    theme,
    providerId,
    connectionId,
  }
}
