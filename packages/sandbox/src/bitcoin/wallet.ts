/**
 * A wallet's keys and addresses. Everything follows from the sandbox's seed and the account's id: the same account has
 * the same addresses in every process.
 * Sources: https://github.com/bitcoin/bips bip-0032 (derivation), bip-0044, bip-0049, bip-0084, bip-0086 (paths and
 * scripts), https://github.com/satoshilabs/slips/blob/master/slip-0132.md (ypub, zpub), bip-0380 and bip-0389
 * (descriptors, their checksum, and <0;1> for both chains).
 */
import { createHmac } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import { p2pkh, p2sh, p2tr, p2wpkh } from '@scure/btc-signer'

export type Standard = 'bip44' | 'bip49' | 'bip84' | 'bip86'
/** What a person pastes to have the wallet read. */
export type WalletKind = 'address' | 'extended_public_key' | 'descriptor'
export type ChainName = 'receive' | 'change'

export interface OwnAddress {
  address: string
  /** Hexadecimal. */
  script: string
  chain: ChainName
  index: number
  path: string
  publicKey: Uint8Array
  privateKey: Uint8Array
}

export interface Wallet {
  accountId: string
  kind: WalletKind
  standard: Standard
  /** Named as the fields of a connection. */
  credentials: Record<string, string>
  /** Derives it, and the addresses up to the gap limit behind it, when it is new. */
  at(chain: ChainName, index: number): OwnAddress
  /** Every address so far, with those of the gap that a reader looks through. */
  list(): readonly OwnAddress[]
  /** The counterparty of its story: an exchange that pays out of one address. */
  exchange: OwnAddress
}

/** BIP-44: a reader stops after this many unused addresses. */
export const gapLimit = 20
// A control that asks for more addresses than this is a mistake.
const indexMax = 10_000

const standards: Readonly<
  Record<Standard, { purpose: number; versions: { private: number; public: number }; wrap: (key: string) => string }>
> = {
  bip44: { purpose: 44, versions: { private: 0x0488ade4, public: 0x0488b21e }, wrap: (key) => `pkh(${key})` },
  bip49: { purpose: 49, versions: { private: 0x049d7878, public: 0x049d7cb2 }, wrap: (key) => `sh(wpkh(${key}))` },
  bip84: { purpose: 84, versions: { private: 0x04b2430c, public: 0x04b24746 }, wrap: (key) => `wpkh(${key})` },
  // SLIP-132 gives Taproot no letter of its own: such wallets are shared as a descriptor around an xpub.
  bip86: { purpose: 86, versions: { private: 0x0488ade4, public: 0x0488b21e }, wrap: (key) => `tr(${key})` },
}

/** `note` is called with every address when it is derived. */
export function createWallet(
  seed: string,
  accountId: string,
  { kind, standard }: { kind: WalletKind; standard: Standard },
  note: (own: OwnAddress) => void,
): Wallet {
  const { purpose, versions } = standards[standard]
  const secretOf = (whose: string): Buffer =>
    createHmac('sha512', seed).update(`bitcoin\n${whose}\n${accountId}`).digest()
  const root = HDKey.fromMasterSeed(secretOf('wallet'), versions)
  const account = root.derive(`m/${purpose}'/0'/0'`)
  const chains = { receive: account.deriveChild(0), change: account.deriveChild(1) }
  const derived: Record<ChainName, OwnAddress[]> = { receive: [], change: [] }

  function at(chain: ChainName, index: number): OwnAddress {
    if (kind === 'address' && (chain !== 'receive' || index !== 0)) return at('receive', 0)
    if (index > indexMax) throw new RangeError(`address ${index} is beyond ${indexMax}`)
    const known = derived[chain]
    const wanted = kind === 'address' ? 1 : index + 1 + gapLimit
    while (known.length < wanted) {
      const path = `m/${purpose}'/0'/0'/${chain === 'receive' ? 0 : 1}/${known.length}`
      const node = chains[chain].deriveChild(known.length)
      const own: OwnAddress = { ...addressOf(node, standard), chain, index: known.length, path }
      known.push(own)
      note(own)
    }
    const found = known[index]
    if (found === undefined) throw new RangeError(`address ${index} was not derived`)
    return found
  }

  const exchangeKey = HDKey.fromMasterSeed(secretOf('exchange'))
  const exchange: OwnAddress = { ...addressOf(exchangeKey, 'bip84'), chain: 'receive', index: 0, path: 'm' }
  at('receive', 0)
  if (kind !== 'address') at('change', 0)
  return {
    accountId,
    kind,
    standard,
    credentials: credentialsOf(kind, standard, root, account, at('receive', 0).address),
    at,
    list: () => [...derived.receive, ...derived.change],
    exchange,
  }
}

function credentialsOf(
  kind: WalletKind,
  standard: Standard,
  root: HDKey,
  account: HDKey,
  address: string,
): Record<string, string> {
  if (kind === 'address') return { address }
  if (kind === 'extended_public_key') return { extended_public_key: account.publicExtendedKey }
  const { purpose, wrap } = standards[standard]
  const origin = `[${root.fingerprint.toString(16).padStart(8, '0')}/${purpose}h/0h/0h]`
  const text = wrap(`${origin}${account.publicExtendedKey}/<0;1>/*`)
  return { descriptor: `${text}#${checksumOf(text)}` }
}

function addressOf(
  node: HDKey,
  standard: Standard,
): Pick<OwnAddress, 'address' | 'script' | 'publicKey' | 'privateKey'> {
  const { publicKey, privateKey } = node
  if (publicKey === null || privateKey === null) throw new Error('the wallet has its private keys')
  const payment = paymentOf(publicKey, standard)
  if (payment.address === undefined) throw new Error('every script of a wallet has an address')
  const script = Buffer.from(payment.script).toString('hex')
  return { address: payment.address, script, publicKey, privateKey }
}

function paymentOf(publicKey: Uint8Array, standard: Standard): { address?: string; script: Uint8Array } {
  switch (standard) {
    case 'bip44':
      return p2pkh(publicKey)
    case 'bip49':
      return p2sh(p2wpkh(publicKey))
    case 'bip84':
      return p2wpkh(publicKey)
    case 'bip86':
      return p2tr(publicKey.subarray(1))
  }
}

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
