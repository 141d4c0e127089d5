/** How long things live, in seconds of the database's clock. Contract numbers: clients see them as expires_in. */
export const authorizationCodeSeconds = 60
export const accessTokenSeconds = 900
/** A grant, and with it the refresh tokens of the family that its code made. */
export const grantSeconds = 31_536_000
/** RFC 9700 §4.14.2 revokes on reuse; a client whose answer was lost on the way may ask again for this long. */
export const retrySeconds = 10
/** Revoked families stay visible for a while: an operator must be able to see that a token was replayed. */
export const revokedFamilySeconds = 30 * 86_400
