/** The consent as it was shown, in words and language: kept with the grant, as a record of what was agreed to. */
import {
  consentVersion,
  toConsentLanguage,
  toConsentRecord,
  type ConsentFacts,
  type ConsentLanguage,
} from '@assay/core/consent'
import { grantSeconds, type Consent } from '../oauth/index.ts'
import type { Client } from '../tenants/index.ts'
import type { ConnectSession } from './store.ts'

/** The same for everything that a session shows and keeps; it ends some minutes before the grant itself. */
export function toGrantEnd({ createdAt, consent }: ConnectSession): string {
  if (consent?.until !== undefined) return consent.until
  return new Date(Date.parse(createdAt) + grantSeconds * 1_000).toISOString()
}

/** A user whom a login token or the sandbox names has no e-mail address that the tenant could see. */
export function sharesEmail({ signedInBy, claimed }: ConnectSession): boolean {
  return claimed === null && (signedInBy === null || signedInBy === 'email_code')
}

export interface ConsentGiven {
  client: Client
  tenantName: string
  /** Names of the accounts that are connected already, as they are shown. */
  existing: readonly string[]
  /** The language that the page was in; that of the request if the caller does not say. */
  language: ConsentLanguage | undefined
}

export function toConsent(session: ConnectSession, given: ConsentGiven): Consent {
  const language = given.language ?? toConsentLanguage(session.lang)
  const facts: ConsentFacts = {
    app: given.client.name,
    tenant: given.tenantName,
    scopes: session.scopes,
    sharesEmail: sharesEmail(session),
    expiresAt: toGrantEnd(session),
    existing: given.existing,
  }
  return { version: consentVersion, text: toConsentRecord(facts, language), language }
}
