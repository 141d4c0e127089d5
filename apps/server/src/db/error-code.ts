/** The `code` of an error: Node's system errors (ENOENT) and PostgreSQL's SQLSTATEs (57P01) both carry one. */
export function errorCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** For `.catch()`: ignores these errors and throws every other. */
export function ignore(...codes: string[]): (error: unknown) => void {
  return (error) => {
    const code = errorCodeOf(error)
    if (code === undefined || !codes.includes(code)) throw error
  }
}
