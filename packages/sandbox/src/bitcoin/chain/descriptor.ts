/** The checksum of a descriptor: https://github.com/bitcoin/bips/blob/master/bip-0380.mediawiki#checksum. */
const inputs = '0123456789()[],\'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#"\\ '
const outputs = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const generator = [0xf5dee51989n, 0xa9fdca3312n, 0x1bab10e32dn, 0x3706b1677an, 0x644d626ffdn]

/** Eight characters. Throws a RangeError for a character that no descriptor has. */
export function checksumOf(descriptor: string): string {
  const rest = [...symbolsOf(descriptor), 0, 0, 0, 0, 0, 0, 0, 0].reduce(advance, 1n) ^ 1n
  return Array.from({ length: 8 }, (_, index) => outputs[Number((rest >> BigInt(5 * (7 - index))) & 31n)]).join('')
}

/** Each character gives its low five bits; three characters together give one more symbol of their high bits. */
function symbolsOf(text: string): number[] {
  const symbols: number[] = []
  let high: number[] = []
  for (const character of text) {
    const place = inputs.indexOf(character)
    if (place === -1) throw new RangeError(`${character} does not occur in descriptors`)
    symbols.push(place & 31)
    high.push(place >> 5)
    if (high.length === 3) {
      symbols.push(high.reduce((sum, bits) => sum * 3 + bits, 0))
      high = []
    }
  }
  if (high.length > 0) symbols.push(high.reduce((sum, bits) => sum * 3 + bits, 0))
  return symbols
}

function advance(sum: bigint, symbol: number): bigint {
  const top = sum >> 35n
  const shifted = ((sum & 0x7ffffffffn) << 5n) ^ BigInt(symbol)
  return generator.reduce((value, term, bit) => ((top >> BigInt(bit)) & 1n ? value ^ term : value), shifted)
}
