/**
 * Leaves members out of JSON while it comes in, so that a part that is thrown away anyway takes no memory, however long
 * it is. Their values become `null`. Everything else passes unchanged, even text that is not JSON.
 *
 * A chunk is read as Latin-1, which has a character for each byte. In UTF-8 the characters that structure JSON occur
 * nowhere else, and the filter cuts only at them. It jumps over strings, because they are nearly all of the bytes:
 * looking at each byte takes ten times as long.
 */
const [quote, comma, colon, backslash] = [34, 44, 58, 92]
const [openingBracket, closingBracket, openingBrace, closingBrace] = [91, 93, 123, 125]
const nothing = Buffer.from('null')

/** Takes the chunks in their order and returns what is left of each, as a copy. A name with escapes is not recognised. */
export function omitMembers(names: readonly string[]): (chunk: Uint8Array) => Uint8Array {
  const omitted = new Set(names)
  const nameLengthMax = Math.max(...names.map((name) => name.length))
  let isInString = false
  /** The chunk before ended with a backslash that applies to the next character. */
  let isEscaped = false
  /** The beginning of the last string: all of it, or more than the longest name has. */
  let last = ''
  /** The lists and tables that are open in a value that is left out; undefined while everything is passed on. */
  let depth: number | undefined

  /** Returns the place after the string that is open at `start`, or the end of the text when the string goes on. */
  function leaveString(text: string, start: number): number {
    let from = isEscaped ? start + 1 : start
    for (;;) {
      const found = text.indexOf('"', from)
      const end = found === -1 ? text.length : found
      isEscaped = countBackslashes(text, from, end) % 2 === 1
      if (found === -1) return end
      if (!isEscaped) {
        isInString = false
        return end + 1
      }
      isEscaped = false
      from = end + 1
    }
  }

  return (chunk) => {
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString('latin1')
    const kept: Uint8Array[] = []
    let from = 0
    const passOn = (place: number): void => {
      depth = undefined
      from = place
    }
    for (let at = 0; at < text.length;) {
      if (isInString) {
        const end = leaveString(text, at)
        const place = isInString ? end : end - 1
        if (last.length <= nameLengthMax) last += text.slice(at, Math.min(place, at + nameLengthMax + 1))
        at = end
        if (!isInString && depth === 0) passOn(at)
        continue
      }
      const code = text.charCodeAt(at)
      at += 1
      if (code === quote) {
        isInString = true
        last = ''
      } else if (depth === undefined) {
        if (code !== colon || !omitted.has(last)) continue
        kept.push(chunk.subarray(from, at), nothing)
        depth = 0
      } else if (code === openingBracket || code === openingBrace) depth += 1
      else if (code === closingBracket || code === closingBrace) {
        // A number or a word ends where the list or table around it does.
        if (depth === 0) passOn(at - 1)
        else if (depth === 1) passOn(at)
        else depth -= 1
      } else if (code === comma && depth === 0) passOn(at - 1)
    }
    if (depth === undefined) kept.push(chunk.subarray(from))
    // A view would keep the whole chunk in memory.
    return Buffer.concat(kept)
  }
}

function countBackslashes(text: string, start: number, end: number): number {
  let first = end
  while (first > start && text.charCodeAt(first - 1) === backslash) first -= 1
  return end - first
}
