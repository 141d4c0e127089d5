/** What is about to be lost, and the question about it. */
export interface Question {
  title: string
  body: string
  yes: string
  act: () => Promise<unknown>
}
