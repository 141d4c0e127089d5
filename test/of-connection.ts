/**
 * A condition on any table of the ledger: the row belongs to the connection whose id is `$1`. For tests that inspect
 * rows.
 */
export const ofConnection =
  '(user_key, connection_key) = (select user_key, connection_key from connections where id = $1)'
