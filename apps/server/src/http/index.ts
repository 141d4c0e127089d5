/** Front door of the HTTP layer, for the code that wires the program. */
export { createAdmission } from './request/admission.ts'
export { createCursors } from './paging/cursor.ts'
export type { Log } from './log.ts'
export { createServe } from './request/serve.ts'
export { createTurns, type Turns, type TurnsOptions } from './request/turns.ts'
export { createHttpServer } from './server.ts'
export {
  answerInTime,
  findUnready,
  shareChecks,
  startStatusServer,
  type Scraped,
  type StatusOptions,
  type StatusServer,
} from './system/health.ts'
