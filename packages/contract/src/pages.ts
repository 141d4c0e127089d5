/** Lists: what a page takes and what it carries. The server decides how a cursor is read (http/paging/pages.ts). */
import { z } from 'zod'
import { successErrors } from './errors.ts'
import { parameter } from './values.ts'

export const limitDefault = 30
export const limitMax = 100

export interface Paging {
  /** Where the next page is announced: `page.next` in the body (v2) or a Link header (v1, whose answers are bare). */
  readonly style: 'page' | 'link'
  /** Without `limit`: this many, or all of them when null. */
  readonly limitDefault: number | null
  /**
   * A cursor works only for the user and client it was given to; the cursor of a public list works for every caller.
   */
  readonly bound: 'caller' | 'filters'
}

export const pagesV2 = { style: 'page', limitDefault, bound: 'caller' } as const satisfies Paging
export const linksV1 = { style: 'link', limitDefault, bound: 'caller' } as const satisfies Paging

export const limitRule = `must be a whole number from 1 to ${limitMax}`

const limit = parameter(
  { type: 'integer', minimum: 1, maximum: limitMax, description: 'How many items a page has.' },
  limitRule,
  // A count of rows is not money.
  (given) => (/^[1-9]\d{0,2}$/.test(given) && Number(given) <= limitMax ? Number(given) : undefined),
)

/** The longest text that a request line has room for. */
const uriLengthMax = 16_000

function place(description: string) {
  return parameter({ type: 'string', description }, `must have at most ${uriLengthMax} characters`, (given) =>
    given.length <= uriLengthMax ? given : undefined,
  )
}

const linkParameters = {
  limit: limit.optional(),
  cursor: place(
    'Where the page begins: the cursor of the last answer, or its whole next value, URI-encoded.',
  ).optional(),
}

export const pageParameters = {
  link: linkParameters,
  page: {
    ...linkParameters,
    next_uri: place('The whole next value, URI-encoded; another name for cursor.').optional(),
  },
}

const Page = z
  .object({
    next: z.string().meta({
      description: 'Relative URI of the next page with filters, limit and cursor; empty on the last page.',
      examples: ['/accounts/v2/transactions?limit=30&cursor=kJ0…', ''],
    }),
  })
  .meta({ id: 'Page' })

/** The answer of a v2 list. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ page: Page, data: z.array(item), errors: successErrors })
}
