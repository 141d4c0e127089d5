/** Makes hashes and addresses from hexadecimal digits. They have their network's shape and exist on no chain. */
const bech32 = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

const likeEthereum = new Set(['ethereum', 'base', 'arbitrum', 'optimism', 'avacchain', 'ethereum_classic', 'flare'])

/** From 64 digits. */
export function toHash(network: string, digits: string): string {
  if (likeEthereum.has(network)) return `0x${digits}`
  if (network === 'solana') return spell(digits + digits, base58, 88)
  return digits
}

/** From 64 digits. */
export function toAddress(network: string, digits: string): string {
  if (likeEthereum.has(network)) return `0x${digits.slice(0, 40)}`
  if (network === 'bitcoin') return `bc1q${spell(digits + digits, bech32, 38)}`
  return spell(digits + digits, base58, 44)
}

/** Each character from two digits; the second half of a doubled text is read from one place further on. */
function spell(digits: string, alphabet: string, length: number): string {
  let text = ''
  for (let index = 0; text.length < length; index += 1) {
    const at = (index * 3) % (digits.length - 1)
    text += alphabet.charAt(parseInt(digits.slice(at, at + 2), 16) % alphabet.length)
  }
  return text
}
