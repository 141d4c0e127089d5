/**
 * What a refusal with `not_found` says: what was not found, why that may be, and what to do next. An object of another
 * user is refused with the same text as one that does not exist, and no text repeats what was asked for.
 */
import { Refusal } from './errors.ts'

const texts = {
  path: 'This path was not found: no endpoint has it. Look it up in /docs of the API, which lists every endpoint.',
  path_part: 'This path was not found: a part of it cannot be an id or a name. Check the ids in the path.',
  connection:
    'The connection was not found: it does not exist, was removed, or belongs to another user. List the connected providers to find the ids that exist.',
  connection_to_provider:
    'A connection to this provider was not found: the user has none, or it was removed. List the connected providers to see which there are.',
  connection_of_session:
    'The connection was not found: it does not exist, or was not made in this session. Read the session to find the ids that exist.',
  connection_of_sandbox:
    'A connection of the sandbox was not found: no connection with a key or sign-in of the sandbox has this id. List the connected providers to find the ids that exist.',
  transaction:
    'The transaction was not found: it does not exist, was removed, or belongs to another user. List the transactions to find the ids that exist.',
  transaction_at_moment:
    'The transaction was not found at that moment: it was not known then, or belongs to another user. Leave out known_at to ask for what is known now.',
  refresh:
    'The refresh was not found: it does not exist, is older than a week, or belongs to another user. Start a new refresh and use its refresh_id.',
  user: 'The user was not found: this tenant has no user with this id, or no valid consent of the user covers this call. List the users to find the ids that exist, and in scopes what each user has consented to.',
  consent: 'The consent was not found: it does not exist, or has ended. List the consents to find the ids that exist.',
  session: 'The unfinished session was not found: it has ended, or cannot be continued here. Begin a new one.',
  provider:
    'The provider was not found: the catalogue has none with this id. List the catalogue to find the ids that exist.',
  asset: 'The asset was not found: no asset has this id. Use an asset_id from a list of assets or transactions.',
  icon: 'The icon was not found: every icon is an SVG. Add .svg to the name.',
  file: 'This file was not found: the widget has none with this name. Open the address that begins the connect flow instead.',
} as const

export function notFound(what: keyof typeof texts): Refusal {
  return new Refusal('not_found', texts[what])
}
