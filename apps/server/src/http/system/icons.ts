/**
 * Icons of providers and assets. They need no token and hold nothing of a user, so that a browser, a proxy and a page
 * of any origin may keep them.
 *
 * Drawings come from a free icon set (tools/generators/build-icons.ts). What it lacks has a monogram of one or two
 * letters, drawn here. Both fill a square, so that a page can round the corners of all of them alike.
 */
import { findProvider } from '@assay/connectors/catalog'
import { getAsset, notFound } from '@assay/core'
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { hasCopy, toTaggedBody, type TaggedBody } from '../request/conditional.ts'
import drawings from './icon-drawings.json' with { type: 'json' }

/** Relative to the base URL, as `page.next` is. */
export function toProviderIconUrl(providerId: string): string {
  return `/icons/providers/${encodeURIComponent(providerId)}.svg`
}

/** The same as SQL writes it (portfolio/positions-store.ts): only what would end a segment of a path is encoded. */
export function toAssetIconUrl(assetId: string): string {
  return `/icons/assets/${assetId.replace(/[%?#/\\]/g, (character) => encodeURIComponent(character))}.svg`
}

const maxAgeSeconds = 86_400

// These are maps, because a request chooses the key: every object has a `constructor`.
const providerDrawings = new Map(Object.entries(drawings.providers))
const assetDrawings = new Map(Object.entries(drawings.assets))

export function registerIcons(app: FastifyInstance): void {
  app.get<{ Params: { file: string } }>('/icons/providers/:file', async ({ params }, reply) => {
    const providerId = toId(params.file)
    const provider = findProvider(providerId)
    if (provider === undefined) throw notFound('provider')
    const { short_name: letters, color } = provider.brand
    return sendIcon(reply, toTaggedBody(providerDrawings.get(providerId) ?? drawMonogram(letters, color)))
  })

  app.get<{ Params: { file: string } }>('/icons/assets/:file', async ({ params }, reply) => {
    const assetId = toId(params.file)
    const symbol = findSymbol(assetId)
    const letters = assetId.startsWith('fiat:') ? toCurrencySign(symbol) : toLetters(symbol)
    return sendIcon(reply, toTaggedBody(assetDrawings.get(assetId) ?? drawMonogram(letters, toColor(assetId))))
  })
}

function toId(file: string): string {
  if (!file.endsWith('.svg')) throw notFound('icon')
  return file.slice(0, -'.svg'.length)
}

function findSymbol(assetId: string): string {
  try {
    return getAsset(assetId).symbol
  } catch (error) {
    if (error instanceof RangeError) throw notFound('asset')
    throw error
  }
}

/**
 * The first two letters or digits. Symbols of tokens are chosen by strangers, so anything may be among them. A token on
 * a chain that is not known by its contract has the digits of its address.
 */
function toLetters(symbol: string): string {
  const name = symbol.replace(/^\d+:(?:0x)?/, '')
  const letters = [...name.replace(/[^\p{L}\p{N}]/gu, '')].slice(0, 2).join('')
  return letters === '' ? '?' : letters.toUpperCase()
}

/** € or kr; for a currency without a sign of its own, the first letters of its code. */
function toCurrencySign(code: string): string {
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: code, currencyDisplay: 'narrowSymbol' })
  const sign = format.formatToParts(0).find(({ type }) => type === 'currency')?.value ?? code
  return [...sign].slice(0, 2).join('')
}

/** Always the same for an id, dark enough for white letters (contrast of at least 4.5). */
function toColor(assetId: string): string {
  const hue = createHash('sha256').update(assetId).digest().readUInt16BE(0) % 360
  return `hsl(${hue} 45% 32%)`
}

function drawMonogram(letters: string, color: string): string {
  const size = [...letters].length > 1 ? 26 : 32
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64" viewBox="0 0 64 64">` +
    `<rect width="64" height="64" fill="${escapeXml(color)}"/>` +
    `<text x="32" y="33" fill="#fff" font-family="system-ui, sans-serif" font-size="${size}" font-weight="600" ` +
    `text-anchor="middle" dominant-baseline="central">${escapeXml(letters)}</text></svg>\n`
  )
}

function escapeXml(text: string): string {
  return text.replace(/[<>&"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** Opened by itself an SVG is a page: it may load and run nothing. */
const policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"

function sendIcon(reply: FastifyReply, { bytes, etag }: TaggedBody): FastifyReply {
  void reply
    .header('ETag', etag)
    .header('Cache-Control', `public, max-age=${maxAgeSeconds}`)
    .header('Content-Security-Policy', policy)
    .header('Cross-Origin-Resource-Policy', 'cross-origin')
  if (hasCopy(reply.request, etag)) return reply.code(304).send()
  return reply.type('image/svg+xml').send(bytes)
}
