/**
 * The hosts in DATABASE_URL: `postgres://user:password@a:5432,b:5432/assay?target_session_attrs=read-write`. libpq
 * takes such an address, node-postgres takes one host only, so it is split here into one address for each host.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
 *
 * The messages complete the sentence "DATABASE_URL …". They quote no part of the address except `target_session_attrs`,
 * because the rest may hold a password.
 */
const example = 'such as postgres://a:5432,b:5432/assay'
const hostsMax = 16
/** For us they mean the same: the service always writes. */
const wishes = ['read-write', 'primary']

/**
 * One address for each host, in the order given. Undefined for an ordinary address, which names one host and no such
 * attribute: node-postgres takes it unchanged. Throws a RangeError when the address is wrong.
 */
export function listHostUrls(url: string): string[] | undefined {
  const [, scheme = '', authority = '', rest = ''] = /^([a-z]+:\/\/)([^/?#]*)(.*)$/s.exec(url) ?? []
  const [place = '', ...queries] = rest.split('?')
  const parameters = queries.join('?').split('&')
  const hasWish = checkWishes(parameters)
  const at = authority.lastIndexOf('@') + 1
  const [user, hosts] = [authority.slice(0, at), authority.slice(at).split(',')]
  if (/@.*,.*@/.test(user)) throw new RangeError('must name the user once, before the first host')
  if (hosts.length === 1 && !hasWish) {
    if (listValues(parameters, 'host').some((value) => value.includes(','))) throw hostsInQuery()
    return undefined
  }
  checkHosts(hosts, rest)
  if (hosts.length > 1 && ['host', 'port'].some((name) => listValues(parameters, name).length > 0)) throw hostsInQuery()
  const kept = parameters.filter((parameter) => nameOf(parameter) !== 'target_session_attrs' && parameter !== '')
  const query = kept.length === 0 ? '' : `?${kept.join('&')}`
  return hosts.map((host) => `${scheme}${user}${host}${place}${query}`)
}

function checkWishes(parameters: readonly string[]): boolean {
  const wanted = listValues(parameters, 'target_session_attrs')
  const unknown = wanted.find((value) => !wishes.includes(value))
  if (unknown === undefined) return wanted.length > 0
  throw new RangeError(`must have target_session_attrs=${wishes.join(' or ')}, got ${JSON.stringify(unknown)}`)
}

function checkHosts(hosts: readonly string[], rest: string): void {
  if (hosts.length > hostsMax) throw new RangeError(`must name at most ${hostsMax} hosts`)
  // The second scheme ends the list at its slashes: "postgres://a,postgres://b/assay" has the hosts "a" and
  // "postgres:".
  if (rest.startsWith('//')) throw new RangeError(`must name the scheme once, before the first host, ${example}`)
  for (const host of hosts) {
    const [, name, port] = /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::(\d{1,5}))?$/i.exec(host) ?? []
    if (name === '') throw new RangeError(`must name a host on each side of a comma, ${example}`)
    if (name === undefined || (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))) {
      throw new RangeError(`must name each host with a port from 1 to 65535 or none, ${example}`)
    }
  }
}

function hostsInQuery(): RangeError {
  return new RangeError(`must name several hosts before the path and not in the query, ${example}`)
}

function listValues(parameters: readonly string[], name: string): string[] {
  return parameters
    .filter((parameter) => nameOf(parameter) === name)
    .map((parameter) => parameter.slice(name.length + 1))
}

function nameOf(parameter: string): string {
  return parameter.split('=', 1)[0] ?? ''
}
