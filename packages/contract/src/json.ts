/** JSON, as a document is made of it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [member: string]: Json }
export interface JsonObject {
  [member: string]: Json
}
