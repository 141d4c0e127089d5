/**
 * JSON with chosen numbers kept as text. The service writes quantities as JSON numbers with every digit; JSON.parse would
 * round them to binary floats. The `source` argument of a reviver would do, but browsers from recent years lack it.
 */

const token = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Numbers that are the value of one of these members become text; everything else is read as by JSON.parse. */
export function parseExact(text: string, members: ReadonlySet<string>): unknown {
  let member = ''
  const quoted = text.replace(token, (found, offset: number) => {
    if (!found.startsWith('"')) return members.has(member) ? `"${found}"` : found
    // A text is a member's name when a colon follows; otherwise it is a value and ends the member before it.
    member = /^\s*:/.test(text.slice(offset + found.length, offset + found.length + 8)) ? found.slice(1, -1) : ''
    return found
  })
  return JSON.parse(quoted) as unknown
}
