/**
 * What a person reads when a source cannot be read. Every fault has its own words: what happened, and what to do.
 * The provider's own name is used; a right is named as the provider's page names it.
 */
import type { ConnectionType } from '@assay/connectors'
import type { Cause, ErrorItem, Fault, RefusalReason } from '@assay/core'
import { credentialTypes } from './credentials/credential-types.ts'

interface Words {
  message: string
  fix?: string
}

/** `named`: the rights, or the parts of the account, that the fault is about. */
type Write = (provider: string, named: string) => Words

const words: Record<Fault, Write> = {
  // Of a key that was accepted before; a new one is refused in the words of its type (credential-types.ts).
  invalid_credentials: (provider) => ({
    message: `${provider} no longer accepts the key.`,
    fix: `Make a new read-only key of the same account at ${provider}. If the key works only from certain IP addresses, add this service's address to its list.`,
  }),
  missing_permission: (provider, rights) => ({
    message: `This key may not read everything that is needed${rights === '' ? '' : `; missing: ${rights}`}.`,
    fix: `Edit the key at ${provider} and check ${rights === '' ? 'the rights to read' : rights}.`,
  }),
  excess_permission: (provider, rights) => ({
    message: `This key can do more than read${rights === '' ? '' : `: ${rights}`}.`,
    fix: `Create a new key at ${provider} and leave ${rights === '' ? 'trading and withdrawing' : rights} unchecked.`,
  }),
  ip_not_allowed: (provider) => ({
    message: `${provider} accepts this key only from other addresses.`,
    fix: `Add this service's address to the key's list at ${provider}, or make a key without such a list.`,
  }),
  key_expired: (provider) => ({
    message: `This key has expired at ${provider}.`,
    fix: `Make a new read-only key at ${provider}.`,
  }),
  needs_reauth: (provider) => ({
    message: `${provider} asks you to sign in again.`,
    fix: `Connect ${provider} again.`,
  }),
  rate_limited: (provider) => ({
    message: `${provider} asks us to wait before reading on.`,
    fix: 'Nothing to do: reading goes on by itself.',
  }),
  venue_down: (provider, parts) => ({
    message:
      parts === ''
        ? `${provider} cannot be reached at the moment.`
        : `${provider}: ${parts} cannot be reached at the moment. Balances and history there are not up to date.`,
    fix: 'Try again in a few minutes.',
  }),
  unreadable_answer: (provider, parts) => ({
    message:
      parts === ''
        ? `${provider} sent data in a form that we cannot read.`
        : `${provider}: data of ${parts} came in a form that we cannot read. Balances and history there are not up to date.`,
    fix: 'Nothing to do: we try again, and this service may need an update.',
  }),
  clock_skew: (provider) => ({
    message: `${provider} refused the request because of its time or its order.`,
    fix: 'Use a key that no other program uses, and try again.',
  }),
  data_hole: (provider, parts) => ({
    message:
      parts === ''
        ? `${provider} could not give a part of the history.`
        : `${provider}: ${parts} could not be read. Balances and history there are missing or not up to date.`,
    fix: 'See what was read to learn which part.',
  }),
}

export function describeFault(fault: Fault, providerName: string, named: readonly string[] = []): Words {
  return words[fault](providerName, quoteAll(named))
}

function quoteAll(names: readonly string[]): string {
  return names.map((name) => `“${name}”`).join(', ')
}

/** A refused connection gets different words: it is not retried, and a sign-in has no key. */
export function describeRefusal(
  { fault, reason, rights = [] }: { fault: Fault; reason?: RefusalReason | undefined; rights?: readonly string[] },
  { name, connectionType }: { name: string; connectionType: ConnectionType },
): Partial<Words & { cause: Cause }> {
  if (reason !== undefined) return reasons[reason]
  if (fault === 'rate_limited') return { fix: 'Try again in a few minutes.' }
  const type = credentialTypes[connectionType]
  if (fault === 'invalid_credentials') return type.describeRefused(name)
  if ((fault !== 'missing_permission' && fault !== 'excess_permission') || rights.length === 0) return {}
  return type.describeRights(fault, name, quoteAll(rights)) ?? {}
}

/** A cause of its own where that of the fault would have the person enter the key again. */
const reasons: Record<RefusalReason, Words & { cause?: Cause }> = {
  contract_address: {
    message: 'This address belongs to a contract, such as a multi-signature wallet, and contracts cannot be connected.',
    fix: 'Connect the address of a wallet that signs with a key of its own.',
  },
  unified_account: {
    cause: 'unsupported_connection_type',
    message:
      'This is a unified account of KuCoin, which has no wallet of its own at KuCoin Futures. Connect KuCoin instead.',
    fix: 'Connect KuCoin with this key: it shows the unified account.',
  },
}

/** Our or the operator's failure, such as a lost sealing key: neither the provider nor the owner can fix it. */
export function describeBreakdown(): Words {
  return {
    message: 'Something failed on our side.',
    fix: 'Nothing to do: it is tried again by itself. If this stays, connect the account again.',
  }
}

/** When a source is tried again, and since when it has been silent, as one or two sentences after the message. */
export function describeWait({
  sinceMs,
  nextTryMs,
}: {
  sinceMs?: number | undefined
  nextTryMs?: number | undefined
}): string {
  const since = sinceMs === undefined ? '' : ` It has not answered since ${toClock(sinceMs)}.`
  return since + (nextTryMs === undefined ? '' : ` It is tried again at ${toClock(nextTryMs)}.`)
}

/** 2026-11-15 14:05:30 UTC: the same for every reader. */
function toClock(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

export function toErrorItem(
  fault: Fault,
  provider: { id: string; name: string },
  rights?: readonly string[],
): ErrorItem {
  return { cause: fault, provider_id: provider.id, ...describeFault(fault, provider.name, rights) }
}
