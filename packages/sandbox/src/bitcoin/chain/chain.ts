/**
 * The blocks of the simulated network. Every header is a real one: 80 bytes that name the block before, whose double
 * SHA-256 is the block's hash and lies below the (very easy) target that the header states.
 *
 * Blocks come by the sandbox's clock, one about every ten minutes since October 2024, at times that follow from the
 * seed. So the blocks of two sandboxes with one seed are the same, whatever wallets each of them holds. For the same
 * reason the Merkle roots are drawn from the seed: a wallet opened today has history in blocks of last year, and a root
 * over its transactions would change every hash since. Nothing that is served here lets a reader check a root, because
 * that takes the thousands of other transactions of a block.
 */
import { createCipheriv, hash } from 'node:crypto'
import { hash256, reversed, sha256 } from './transaction.ts'

export interface Block {
  height: number
  hash: string
  /** Undefined for the first block that this network keeps. */
  previousHash: string | undefined
  version: number
  merkleRoot: string
  /** Seconds since 1970. */
  time: number
  medianTime: number
  bits: number
  nonce: number
  /** The number of transactions in the whole block. Nearly all of them are not kept here. */
  txCount: number
  size: number
  weight: number
}

export interface Chain {
  firstHeight: number
  tipHeight(): number
  /** Appends the blocks whose time has come. */
  advance(nowMs: number): void
  /** Appends one block now, in addition to those that the clock brings. Returns its height. */
  mine(nowMs: number): number
  /** Replaces this block. Every block above it then names another predecessor. */
  replace(height: number): void
  hashAt(height: number): string | undefined
  timeAt(height: number): number
  /** Also finds a block that was replaced. */
  find(hash: string): Block | undefined
  /** The first block at or after this time; undefined when it has not come yet. */
  heightAtOrAfter(seconds: number): number | undefined
}

const firstHeight = 863_600
const firstSeconds = Date.UTC(2024, 9, 1) / 1_000
const spacingSeconds = 600
/** How late a block may be, in seconds: less than the spacing, so that times only rise. */
const latenessMax = 540
const version = 0x20000000
/** The target is 0xffff × 2²⁴⁰: all hashes but one in 65,536 lie below it. */
const bits = 0x2100ffff
const entropyBytes = 40
const chunkBlocks = 4_096
/** 19 years: a clock that was moved further finds no further blocks. */
const blocksMax = 1_000_000
// This is far more than a test replaces.
const staleMax = 1_000

interface BlockPlace {
  time: number
  /** Blocks of the clock count from 0; blocks mined by hand count down from −1. */
  ordinal: number
  /** How often a block at this height was replaced. */
  fork: number
}

export function createChain(seed: string): Chain {
  const entropyOf = createEntropy(seed)
  const links = createLinks(entropyOf, seed)
  const { places } = links
  const stale = new Map<string, Block>()
  let ofClock = 0
  let byHand = 0

  function nextTime(): number {
    const lateness = entropyOf(ofClock, 0).readUInt16LE(36) % latenessMax
    return firstSeconds + ofClock * spacingSeconds + lateness
  }

  function appendNext(): void {
    append(places, nextTime(), ofClock)
    ofClock += 1
  }

  function blockAt(index: number): Block {
    const { time, ordinal, fork } = getPlace(places, index)
    return describe(index, time, links.headerAt(index), places, entropyOf(ordinal, fork).readUInt16LE(38))
  }

  appendNext()
  return {
    firstHeight,
    tipHeight: () => firstHeight + places.length - 1,
    advance(nowMs) {
      while (ofClock < blocksMax && nextTime() * 1_000 <= nowMs) appendNext()
    },
    mine(nowMs) {
      byHand += 1
      links.forgetFrom(places.length)
      append(places, Math.floor(nowMs / 1_000), -byHand)
      return firstHeight + places.length - 1
    },
    replace(height) {
      const index = height - firstHeight
      const place = getPlace(places, index)
      for (let above = index; above < places.length; above += 1) {
        const block = blockAt(above)
        if (stale.size < staleMax) stale.set(block.hash, block)
      }
      place.fork += 1
      links.forgetFrom(index)
    },
    hashAt(height) {
      const index = height - firstHeight
      if (index < 0 || index >= places.length) return undefined
      return reversed(links.hashAt(index)).toString('hex')
    },
    timeAt: (height) => getPlace(places, height - firstHeight).time,
    find(id) {
      const index = links.findIndex(Buffer.from(id, 'hex').reverse())
      return index === undefined ? stale.get(id) : blockAt(index)
    },
    heightAtOrAfter(seconds) {
      const index = findFirst(places, seconds)
      return index === places.length ? undefined : index + firstHeight
    },
  }
}

type Entropy = (ordinal: number, fork: number) => Buffer

/** Merkle root (32), nonce (4), lateness (2), counts (2): drawn in chunks, because two years have 100,000 blocks. */
function createEntropy(seed: string): Entropy {
  const key = sha256(Buffer.from(`bitcoin blocks\n${seed}`))
  const chunks = new Map<number, Buffer>()
  return (ordinal, fork) => {
    if (ordinal < 0 || fork > 0) {
      const wide = hash('sha512', Buffer.concat([key, Buffer.from(`\n${ordinal}\n${fork}`)]), 'buffer')
      return wide.subarray(0, entropyBytes)
    }
    const number = Math.floor(ordinal / chunkBlocks)
    let chunk = chunks.get(number)
    if (chunk === undefined) {
      const counter = Buffer.alloc(16)
      counter.writeUInt32BE(number)
      chunk = createCipheriv('aes-256-ctr', key, counter).update(Buffer.alloc(chunkBlocks * entropyBytes))
      chunks.set(number, chunk)
    }
    const at = (ordinal % chunkBlocks) * entropyBytes
    return chunk.subarray(at, at + entropyBytes)
  }
}

interface Links {
  /** Oldest first. */
  places: BlockPlace[]
  hashAt(index: number): Buffer
  headerAt(index: number): Buffer
  findIndex(id: Buffer): number | undefined
  /** The block at this index is not the clock's, or no longer the one that it was, and neither are those above it. */
  forgetFrom(index: number): void
}

interface Hashes {
  bytes: Buffer
  count: number
}

// Hashing two years of blocks takes half a second, and a test process opens dozens of sandboxes with one seed.
const seedsMax = 8
const ofClockBySeed = new Map<string, Hashes>()

/** Those of the blocks that the clock alone brings. */
function hashesOfClock(seed: string): Hashes {
  const known = ofClockBySeed.get(seed)
  if (known !== undefined) return known
  if (ofClockBySeed.size >= seedsMax) ofClockBySeed.clear()
  const none = { bytes: Buffer.alloc(32 * chunkBlocks), count: 0 }
  ofClockBySeed.set(seed, none)
  return none
}

/** Hashes are computed when one is requested, up to that block: a clock that is never asked about costs nothing. */
function createLinks(entropyOf: Entropy, seed: string): Links {
  const places: BlockPlace[] = []
  const header = Buffer.alloc(80)
  header.writeUInt32LE(version)
  header.writeUInt32LE(bits, 72)
  let hashes = hashesOfClock(seed)
  let isShared = true

  /** Writes the header and returns its hash. The nonce is the first that fits. */
  function link(index: number): Buffer {
    const { time, ordinal, fork } = getPlace(places, index)
    const entropy = entropyOf(ordinal, fork)
    if (index === 0) header.fill(0, 4, 36)
    else hashes.bytes.copy(header, 4, (index - 1) * 32, index * 32)
    entropy.copy(header, 36, 0, 32)
    header.writeUInt32LE(time, 68)
    for (let nonce = entropy.readUInt32LE(32); ; nonce = (nonce + 1) >>> 0) {
      header.writeUInt32LE(nonce, 76)
      const id = hash256(header)
      if (id.readUInt16LE(30) < 0xffff) return id
    }
  }

  function hashThrough(index: number): void {
    for (; hashes.count <= index; hashes.count += 1) {
      const { bytes, count } = hashes
      if (count * 32 >= bytes.length) hashes.bytes = Buffer.concat([bytes, Buffer.alloc(bytes.length)])
      link(count).copy(hashes.bytes, count * 32)
    }
  }

  return {
    places,
    hashAt(index) {
      hashThrough(index)
      return hashes.bytes.subarray(index * 32, index * 32 + 32)
    },
    headerAt(index) {
      hashThrough(index)
      link(index)
      return Buffer.from(header)
    },
    findIndex(id) {
      hashThrough(places.length - 1)
      const known = hashes.bytes.subarray(0, places.length * 32)
      for (let at = known.indexOf(id); at !== -1; at = known.indexOf(id, at + 1)) if (at % 32 === 0) return at / 32
      return undefined
    },
    forgetFrom(index) {
      const { bytes, count } = hashes
      hashes = { bytes: isShared ? Buffer.from(bytes) : bytes, count: Math.min(count, index) }
      isShared = false
    },
  }
}

function append(places: BlockPlace[], time: number, ordinal: number): void {
  places.push({ time: Math.max(time, (places.at(-1)?.time ?? 0) + 1), ordinal, fork: 0 })
}

function getPlace(places: readonly BlockPlace[], index: number): BlockPlace {
  const place = places[index]
  if (place === undefined) throw new RangeError(`there is no block ${index + firstHeight}`)
  return place
}

/** The first index at or after that time, or the number of places. */
function findFirst(places: readonly BlockPlace[], seconds: number): number {
  let [low, high] = [0, places.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (getPlace(places, middle).time >= seconds) high = middle
    else low = middle + 1
  }
  return low
}

function describe(index: number, time: number, header: Buffer, places: readonly BlockPlace[], share: number): Block {
  const recent = places.slice(Math.max(0, index - 10), index + 1).map((place) => place.time)
  return {
    height: index + firstHeight,
    hash: reversed(hash256(header)).toString('hex'),
    previousHash: index === 0 ? undefined : reversed(header.subarray(4, 36)).toString('hex'),
    version,
    merkleRoot: reversed(header.subarray(36, 68)).toString('hex'),
    time,
    medianTime: recent[Math.floor(recent.length / 2)] ?? time,
    bits,
    nonce: header.readUInt32LE(76),
    txCount: 1_800 + (share % 2_400),
    size: 1_450_000 + share * 6,
    weight: 3_992_000 - (share % 900),
  }
}
