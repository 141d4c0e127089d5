/**
 * API keys that carry their account. The service keeps its database across restarts, while the sandbox keeps nothing.
 * So a key that one process minted must be valid in the next one with the same seed. The key holds which scenario and
 * which account it belongs to, under a MAC; the secret is derived from seed and key.
 *
 * 42 bytes, 56 base64 characters without padding, which is what Kraken's keys look like: 26 of MAC, and 16 (scenario 4,
 * account 12) hidden under a keystream made from that MAC, so that two keys share no visible part.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

const accountBytes = 12
const scenarioBytes = 4
const headBytes = scenarioBytes + accountBytes
const macBytes = 26

export interface Credentials {
  apiKey: string
  /** Base64 of 64 bytes. */
  secret: string
}

export interface KeyMaker {
  credentialsOf(scenario: string, accountNumber: string): Credentials
  /** Undefined for anything that was not minted with this seed. */
  read(apiKey: string): { scenarioTag: string; accountNumber: string } | undefined
}

/** Any text names an account: the same text gives the same account. 24 hexadecimal digits. */
export function accountNumberOf(text: string): string {
  return createHash('sha256')
    .update('account\n')
    .update(text)
    .digest('hex')
    .slice(0, accountBytes * 2)
}

/**
 * By name rather than by place in a list, so that adding a scenario does not turn old keys into keys of another one.
 */
export function scenarioTagOf(scenario: string): string {
  return createHash('sha256')
    .update('scenario\n')
    .update(scenario)
    .digest('hex')
    .slice(0, scenarioBytes * 2)
}

export function createKeyMaker(seed: string, provider: string): KeyMaker {
  const derive = (algorithm: string, purpose: string, data: string | Buffer): Buffer =>
    createHmac(algorithm, seed).update(`${provider}\n${purpose}\n`).update(data).digest()
  const macOf = (head: Buffer): Buffer => derive('sha256', 'mac', head).subarray(0, macBytes)
  const hide = (head: Buffer, mac: Buffer): Buffer => {
    const stream = derive('sha256', 'mask', mac)
    return head.map((byte, index) => byte ^ (stream[index] ?? 0)) as Buffer
  }

  return {
    credentialsOf(scenario, accountNumber) {
      const head = Buffer.from(scenarioTagOf(scenario) + accountNumber, 'hex')
      const mac = macOf(head)
      const apiKey = Buffer.concat([hide(head, mac), mac]).toString('base64')
      return { apiKey, secret: derive('sha512', 'secret', apiKey).toString('base64') }
    },
    read(apiKey) {
      const bytes = Buffer.from(apiKey, 'base64')
      if (bytes.length !== headBytes + macBytes || bytes.toString('base64') !== apiKey) return undefined
      const mac = bytes.subarray(headBytes)
      const head = Buffer.from(hide(bytes.subarray(0, headBytes), mac))
      if (!timingSafeEqual(macOf(head), mac)) return undefined
      const text = head.toString('hex')
      return { scenarioTag: text.slice(0, scenarioBytes * 2), accountNumber: text.slice(scenarioBytes * 2) }
    },
  }
}
